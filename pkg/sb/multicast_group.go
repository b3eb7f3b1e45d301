package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// MulticastGroup is a row of Multicast_Group, ovn-sb(5): ports that get a copy each.
type MulticastGroup struct {
	UUID      ovsdb.UUID            `ovsdb:"_uuid"`
	Name      string                `ovsdb:"name"`
	Datapath  ovsdb.UUID            `ovsdb:"datapath"`   // Datapath_Binding
	TunnelKey int                   `ovsdb:"tunnel_key"` // 32768 to 65535
	Ports     ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"`      // Port_Binding
}

// Table returns Multicast_Group.
func (MulticastGroup) Table() string { return "Multicast_Group" }
