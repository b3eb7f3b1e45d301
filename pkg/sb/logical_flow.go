package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// LogicalFlow is a row of Logical_Flow, ovn-sb(5): a flow of a logical datapath or datapath group. There may
// be hundreds of thousands: query by datapath or group.
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

// LogicalFlowRest is a row of Logical_Flow with what one who has read its LogicalFlowMatch, by its datapath or group, does not have.
type LogicalFlowRest struct {
	UUID            ovsdb.UUID        `ovsdb:"_uuid"`
	Actions         string            `ovsdb:"actions"`
	ControllerMeter ovsdb.Set[string] `ovsdb:"controller_meter"`
	FlowDesc        ovsdb.Set[string] `ovsdb:"flow_desc"`
	Tags            map[string]string `ovsdb:"tags"`
	ExternalIDs     map[string]string `ovsdb:"external_ids"`
}

// LogicalFlowBrief is a row of Logical_Flow with the columns that checks compare with a node's flows.
type LogicalFlowBrief struct {
	LogicalFlowMatch
	Actions         string            `ovsdb:"actions"`
	ControllerMeter ovsdb.Set[string] `ovsdb:"controller_meter"`
	Tags            map[string]string `ovsdb:"tags"`
	Owner           ovsdb.UUID        // its datapath or datapath group
}

// LogicalFlowRule is a row of Logical_Flow with its match, actions and place: the join key for comparing two
// states.
type LogicalFlowRule struct {
	LogicalFlowOwned
	Actions string `ovsdb:"actions"`
}

// LogicalFlowHints is a row of Logical_Flow with its origin: for flows that differ in a comparison.
type LogicalFlowHints struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// LogicalFlowMatch is a row of Logical_Flow with what decides whether it matches, except the prerequisites of
// its actions.
type LogicalFlowMatch struct {
	UUID     ovsdb.UUID `ovsdb:"_uuid"`
	Pipeline string     `ovsdb:"pipeline"` // ingress or egress
	TableID  int        `ovsdb:"table_id"` // 0 is the first of its pipeline
	Priority int        `ovsdb:"priority"`
	Match    string     `ovsdb:"match"`
}

// LogicalFlowOwned is a LogicalFlowMatch with its datapaths: for logicalflow, which reads several at once.
type LogicalFlowOwned struct {
	LogicalFlowMatch
	LogicalDatapath ovsdb.Set[ovsdb.UUID] `ovsdb:"logical_datapath"` // Datapath_Binding
	LogicalDPGroup  ovsdb.Set[ovsdb.UUID] `ovsdb:"logical_dp_group"` // Logical_DP_Group
}

// LogicalFlowNames is a row of Logical_Flow with only what decode needs: the other columns cost the server
// half of the time. It is part of the JSON of decoded flows and of traces: docs/json.md.
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
