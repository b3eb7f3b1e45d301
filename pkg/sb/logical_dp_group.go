package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// LogicalDPGroup is a row of Logical_DP_Group, ovn-sb(5): datapaths that share flows.
type LogicalDPGroup struct {
	UUID      ovsdb.UUID            `ovsdb:"_uuid"`
	Datapaths ovsdb.Set[ovsdb.UUID] `ovsdb:"datapaths"` // Datapath_Binding
}

// Table returns Logical_DP_Group.
func (LogicalDPGroup) Table() string { return "Logical_DP_Group" }
