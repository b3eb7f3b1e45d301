package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// A PortBinding is a row of Port_Binding, ovn-sb(5).
type PortBindingBrief struct {
	UUID                       ovsdb.UUID            `ovsdb:"_uuid"`
	LogicalPort                string                `ovsdb:"logical_port"`
	Type                       string                `ovsdb:"type"`
	Datapath                   ovsdb.UUID            `ovsdb:"datapath"`                     // Datapath_Binding
	TunnelKey                  int                   `ovsdb:"tunnel_key"`                   // 1 to 32767
	AdditionalChassis          ovsdb.Set[ovsdb.UUID] `ovsdb:"additional_chassis"`           // Chassis
	Chassis                    ovsdb.Set[ovsdb.UUID] `ovsdb:"chassis"`                      // Chassis that holds the port
	GatewayChassis             ovsdb.Set[ovsdb.UUID] `ovsdb:"gateway_chassis"`              // Gateway_Chassis
	HAChassisGroup             ovsdb.Set[ovsdb.UUID] `ovsdb:"ha_chassis_group"`             // HA_Chassis_Group
	MAC                        ovsdb.Set[string]     `ovsdb:"mac"`                          // "MAC IP…"
	RequestedAdditionalChassis ovsdb.Set[ovsdb.UUID] `ovsdb:"requested_additional_chassis"` // Chassis
	RequestedChassis           ovsdb.Set[ovsdb.UUID] `ovsdb:"requested_chassis"`            // Chassis
	Tag                        ovsdb.Set[int]        `ovsdb:"tag"`
	Up                         ovsdb.Set[bool]       `ovsdb:"up"` // absent if the chassis cannot tell
	Options                    map[string]string     `ovsdb:"options"`
}

// Table returns Port_Binding.
func (PortBindingBrief) Table() string { return "Port_Binding" }

// A LogicalFlow is a row of Logical_Flow, as far as a node's flows are held against it.
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
