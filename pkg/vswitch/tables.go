package vswitch

// The table of each row. Projections that embed shared columns also share this method.

func (BridgeBrief) Table() string            { return "Bridge" }
func (BridgeName) Table() string             { return "Bridge" }
func (CTZone) Table() string                 { return "CT_Zone" }
func (Controller) Table() string             { return "Controller" }
func (Datapath) Table() string               { return "Datapath" }
func (FlowTable) Table() string              { return "Flow_Table" }
func (FlowSampleCollectorSet) Table() string { return "Flow_Sample_Collector_Set" }
func (InterfaceBrief) Table() string         { return "Interface" }
func (Manager) Table() string                { return "Manager" }
func (Mirror) Table() string                 { return "Mirror" }
func (OpenvSwitch) Table() string            { return "Open_vSwitch" }
func (OpenvSwitchIDs) Table() string         { return "Open_vSwitch" }
func (Versions) Table() string               { return "Open_vSwitch" }
func (PortBrief) Table() string              { return "Port" }
func (QoS) Table() string                    { return "QoS" }
func (Queue) Table() string                  { return "Queue" }
func (SSLFiles) Table() string               { return "SSL" }
