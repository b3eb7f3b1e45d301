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

// LogicalFlowBrief is a row of Logical_Flow with what checks compare the flows of a node with.
type LogicalFlowBrief struct {
	UUID     ovsdb.UUID `ovsdb:"_uuid"`
	Pipeline string     `ovsdb:"pipeline"`
	TableID  int        `ovsdb:"table_id"`
	Priority int        `ovsdb:"priority"`
	Match    string     `ovsdb:"match"`
	Actions  string     `ovsdb:"actions"`

	Owner ovsdb.UUID // the datapath or the group of datapaths that it is for
}

// Table returns Logical_Flow.
func (LogicalFlowBrief) Table() string { return "Logical_Flow" }

// LogicalFlowRule is a row of Logical_Flow with what it does and where: compare joins the flows of two states by it.
type LogicalFlowRule struct {
	UUID      ovsdb.UUID            `ovsdb:"_uuid"`
	Pipeline  string                `ovsdb:"pipeline"`
	TableID   int                   `ovsdb:"table_id"`
	Priority  int                   `ovsdb:"priority"`
	Match     string                `ovsdb:"match"`
	Actions   string                `ovsdb:"actions"`
	Datapaths ovsdb.Set[ovsdb.UUID] `ovsdb:"logical_datapath"`
	Groups    ovsdb.Set[ovsdb.UUID] `ovsdb:"logical_dp_group"`
}

// Table returns Logical_Flow.
func (LogicalFlowRule) Table() string { return "Logical_Flow" }

// LogicalFlowHints is a row of Logical_Flow with what it was made for: compare asks it of the flows that differ.
type LogicalFlowHints struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns Logical_Flow.
func (LogicalFlowHints) Table() string { return "Logical_Flow" }

// LogicalFlowMatch is a row of Logical_Flow with what decides whether the flow is hit, but for the prerequisites of its actions.
type LogicalFlowMatch struct {
	UUID     ovsdb.UUID `ovsdb:"_uuid"`
	Pipeline string     `ovsdb:"pipeline"`
	TableID  int        `ovsdb:"table_id"`
	Priority int        `ovsdb:"priority"`
	Match    string     `ovsdb:"match"`
}

// Table returns Logical_Flow.
func (LogicalFlowMatch) Table() string { return "Logical_Flow" }

// LogicalFlowOwned is a LogicalFlowMatch with what the flow belongs to: logicalflow asks for several datapaths at once.
type LogicalFlowOwned struct {
	UUID            ovsdb.UUID            `ovsdb:"_uuid"`
	Pipeline        string                `ovsdb:"pipeline"`
	TableID         int                   `ovsdb:"table_id"`
	Priority        int                   `ovsdb:"priority"`
	Match           string                `ovsdb:"match"`
	LogicalDatapath ovsdb.Set[ovsdb.UUID] `ovsdb:"logical_datapath"`
	LogicalDPGroup  ovsdb.Set[ovsdb.UUID] `ovsdb:"logical_dp_group"`
}

// Table returns Logical_Flow.
func (LogicalFlowOwned) Table() string { return "Logical_Flow" }

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

// Table returns Logical_Flow.
func (LogicalFlowNames) Table() string { return "Logical_Flow" }
