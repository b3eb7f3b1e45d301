package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// StaticMACBinding is a row of Static_MAC_Binding, ovn-sb(5): a neighbour known in advance.
type StaticMACBinding struct {
	UUID               ovsdb.UUID `ovsdb:"_uuid"`
	LogicalPort        string     `ovsdb:"logical_port"`
	Datapath           ovsdb.UUID `ovsdb:"datapath"` // Datapath_Binding
	IP                 string     `ovsdb:"ip"`
	MAC                string     `ovsdb:"mac"`
	OverrideDynamicMAC bool       `ovsdb:"override_dynamic_mac"`
}

// Table returns Static_MAC_Binding.
func (StaticMACBinding) Table() string { return "Static_MAC_Binding" }
