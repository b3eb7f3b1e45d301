package nb

// The table of each row. Projections that embed shared columns also share this method.

func (ACLBrief) Table() string                { return "ACL" }
func (AddressSet) Table() string              { return "Address_Set" }
func (BFD) Table() string                     { return "BFD" }
func (ChassisTemplateVar) Table() string      { return "Chassis_Template_Var" }
func (Connection) Table() string              { return "Connection" }
func (Copp) Table() string                    { return "Copp" }
func (DHCPOptions) Table() string             { return "DHCP_Options" }
func (DHCPRelay) Table() string               { return "DHCP_Relay" }
func (DNS) Table() string                     { return "DNS" }
func (ForwardingGroup) Table() string         { return "Forwarding_Group" }
func (GatewayChassis) Table() string          { return "Gateway_Chassis" }
func (HAChassis) Table() string               { return "HA_Chassis" }
func (HAChassisGroup) Table() string          { return "HA_Chassis_Group" }
func (LoadBalancer) Table() string            { return "Load_Balancer" }
func (LoadBalancerName) Table() string        { return "Load_Balancer" }
func (LoadBalancerOwner) Table() string       { return "Load_Balancer" }
func (LoadBalancerVIPs) Table() string        { return "Load_Balancer" }
func (LoadBalancerGroup) Table() string       { return "Load_Balancer_Group" }
func (LoadBalancerHealthCheck) Table() string { return "Load_Balancer_Health_Check" }
func (LogicalRouterContents) Table() string   { return "Logical_Router" }
func (Policy) Table() string                  { return "Logical_Router_Policy" }
func (LogicalRouterPort) Table() string       { return "Logical_Router_Port" }
func (StaticRouteListed) Table() string       { return "Logical_Router_Static_Route" }
func (LogicalSwitchBare) Table() string       { return "Logical_Switch" }
func (LogicalSwitchContents) Table() string   { return "Logical_Switch" }
func (LogicalSwitchPortBare) Table() string   { return "Logical_Switch_Port" }
func (Meter) Table() string                   { return "Meter" }
func (MeterBand) Table() string               { return "Meter_Band" }
func (Mirror) Table() string                  { return "Mirror" }
func (NAT) Table() string                     { return "NAT" }
func (Global) Table() string                  { return "NB_Global" }
func (GlobalName) Table() string              { return "NB_Global" }
func (NetworkFunction) Table() string         { return "Network_Function" }
func (NetworkFunctionGroup) Table() string    { return "Network_Function_Group" }
func (PortGroupContents) Table() string       { return "Port_Group" }
func (QoS) Table() string                     { return "QoS" }
func (SSL) Table() string                     { return "SSL" }
func (Sample) Table() string                  { return "Sample" }
func (SampleCollector) Table() string         { return "Sample_Collector" }
func (StaticMACBinding) Table() string        { return "Static_MAC_Binding" }
