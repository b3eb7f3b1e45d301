package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// LogicalFlow is a row of Logical_Flow, ovn-sb(5): a flow of a logical datapath or of
// a group of them. There may be hundreds of thousands: ask by datapath or group.
type LogicalFlow struct {
	UUID            ovsdb.UUID            `ovsdb:"_uuid"`
	Actions         string                `ovsdb:"actions"`
	ControllerMeter ovsdb.Set[string]     `ovsdb:"controller_meter"`
	FlowDesc        ovsdb.Set[string]     `ovsdb:"flow_desc"`        // newer than OVN 23.03
	LogicalDatapath ovsdb.Set[ovsdb.UUID] `ovsdb:"logical_datapath"` // Datapath_Binding
	LogicalDPGroup  ovsdb.Set[ovsdb.UUID] `ovsdb:"logical_dp_group"` // Logical_DP_Group
	Match           string                `ovsdb:"match"`
	Pipeline        string                `ovsdb:"pipeline"` // ingress or egress
	Priority        int                   `ovsdb:"priority"`
	TableID         int                   `ovsdb:"table_id"` // 0 is the first of its pipeline
	Tags            map[string]string     `ovsdb:"tags"`
	ExternalIDs     map[string]string     `ovsdb:"external_ids"`
}

// Table returns Logical_Flow.
func (LogicalFlow) Table() string { return "Logical_Flow" }

// LogicalDPGroup is a row of Logical_DP_Group, ovn-sb(5): datapaths that share flows.
type LogicalDPGroup struct {
	UUID      ovsdb.UUID            `ovsdb:"_uuid"`
	Datapaths ovsdb.Set[ovsdb.UUID] `ovsdb:"datapaths"` // Datapath_Binding
}

// Table returns Logical_DP_Group.
func (LogicalDPGroup) Table() string { return "Logical_DP_Group" }
