package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// MACBinding is a row of MAC_Binding, ovn-sb(5): a neighbour that a router has learned.
type MACBinding struct {
	UUID        ovsdb.UUID `ovsdb:"_uuid"`
	LogicalPort string     `ovsdb:"logical_port"`
	Datapath    ovsdb.UUID `ovsdb:"datapath"` // Datapath_Binding
	IP          string     `ovsdb:"ip"`
	MAC         string     `ovsdb:"mac"`
	Timestamp   int        `ovsdb:"timestamp"` // milliseconds since 1970, 0 in old rows
}

// StaticMACBinding is a row of Static_MAC_Binding, ovn-sb(5): a static neighbour.
type StaticMACBinding struct {
	UUID               ovsdb.UUID `ovsdb:"_uuid"`
	LogicalPort        string     `ovsdb:"logical_port"`
	Datapath           ovsdb.UUID `ovsdb:"datapath"` // Datapath_Binding
	IP                 string     `ovsdb:"ip"`
	MAC                string     `ovsdb:"mac"`
	OverrideDynamicMAC bool       `ovsdb:"override_dynamic_mac"`
}
