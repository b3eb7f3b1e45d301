package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// IGMPGroup is a row of IGMP_Group, ovn-sb(5): ports that have joined a group.
type IGMPGroup struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	ChassisName string                `ovsdb:"chassis_name"`
	Datapath    ovsdb.Set[ovsdb.UUID] `ovsdb:"datapath"` // Datapath_Binding
	Address     string                `ovsdb:"address"`
	Chassis     ovsdb.Set[ovsdb.UUID] `ovsdb:"chassis"` // Chassis
	Ports       ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"`   // Port_Binding
	Protocol    string                `ovsdb:"protocol"`
}

// Table returns IGMP_Group.
func (IGMPGroup) Table() string { return "IGMP_Group" }
