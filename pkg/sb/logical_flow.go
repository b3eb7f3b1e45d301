package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// LogicalFlow is a row of Logical_Flow, ovn-sb(5): a flow of a logical datapath or of
// a group of them. There may be hundreds of thousands: ask by datapath or group.
type LogicalFlow struct {
	LogicalFlowMatch
	Actions         string                `ovsdb:"actions"`
	LogicalDatapath ovsdb.Set[ovsdb.UUID] `ovsdb:"logical_datapath"` // Datapath_Binding
	LogicalDPGroup  ovsdb.Set[ovsdb.UUID] `ovsdb:"logical_dp_group"` // Logical_DP_Group
	ControllerMeter ovsdb.Set[string]     `ovsdb:"controller_meter"`
	FlowDesc        ovsdb.Set[string]     `ovsdb:"flow_desc"` // newer than OVN 23.03
	Tags            map[string]string     `ovsdb:"tags"`
	ExternalIDs     map[string]string     `ovsdb:"external_ids"`
}

// LogicalFlowBrief is a row of Logical_Flow with what checks compare the flows of a node with.
type LogicalFlowBrief struct {
	LogicalFlowMatch
	Actions string     `ovsdb:"actions"`
	Owner   ovsdb.UUID // the datapath or the group of datapaths that it is for
}

// LogicalFlowRule is a row of Logical_Flow with what it does and where: compare joins the flows of two states by it.
type LogicalFlowRule struct {
	LogicalFlowOwned
	Actions string `ovsdb:"actions"`
}

// LogicalFlowHints is a row of Logical_Flow with what it was made for: compare asks it of the flows that differ.
type LogicalFlowHints struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// LogicalFlowMatch is a row of Logical_Flow with what decides whether the flow is hit, but for the prerequisites of its actions.
type LogicalFlowMatch struct {
	UUID     ovsdb.UUID `ovsdb:"_uuid"`
	Pipeline string     `ovsdb:"pipeline"` // ingress or egress
	TableID  int        `ovsdb:"table_id"` // 0 is the first of its pipeline
	Priority int        `ovsdb:"priority"`
	Match    string     `ovsdb:"match"`
}

// LogicalFlowOwned is a LogicalFlowMatch with what the flow belongs to: logicalflow asks for several datapaths at once.
type LogicalFlowOwned struct {
	LogicalFlowMatch
	LogicalDatapath ovsdb.Set[ovsdb.UUID] `ovsdb:"logical_datapath"` // Datapath_Binding
	LogicalDPGroup  ovsdb.Set[ovsdb.UUID] `ovsdb:"logical_dp_group"` // Logical_DP_Group
}

// LogicalFlowNames is a row of Logical_Flow without what decode does not ask for: the other
// columns cost the server half of the time. It is part of the JSON of decoded flows and of traces: docs/json.md.
type LogicalFlowNames struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid" json:"uuid"`
	Pipeline    string            `ovsdb:"pipeline" json:"-"`     // ingress or egress
	TableID     int               `ovsdb:"table_id" json:"table"` // 0 is the first of its pipeline
	Match       string            `ovsdb:"match" json:"match"`
	Actions     string            `ovsdb:"actions" json:"actions"`
	Priority    int               `ovsdb:"priority" json:"priority"`
	FlowDesc    ovsdb.Set[string] `ovsdb:"flow_desc" json:"-"` // newer than OVN 23.03
	ExternalIDs map[string]string `ovsdb:"external_ids" json:"-"`
}

// LogicalDPGroup is a row of Logical_DP_Group, ovn-sb(5): datapaths that share flows.
type LogicalDPGroup struct {
	UUID      ovsdb.UUID            `ovsdb:"_uuid"`
	Datapaths ovsdb.Set[ovsdb.UUID] `ovsdb:"datapaths"` // Datapath_Binding
}
