package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// StaticMACBinding is a row of Static_MAC_Binding, ovn-nb(5): a static neighbour.
type StaticMACBinding struct {
	UUID               ovsdb.UUID `ovsdb:"_uuid"`
	LogicalPort        string     `ovsdb:"logical_port"`
	IP                 string     `ovsdb:"ip"`
	MAC                string     `ovsdb:"mac"`
	OverrideDynamicMAC bool       `ovsdb:"override_dynamic_mac"`
}
