package sb

// The table of each row. Projections that embed shared columns also share this method.

func (AddressSet) Table() string           { return "Address_Set" }
func (AdvertisedRoute) Table() string      { return "Advertised_Route" }
func (BFD) Table() string                  { return "BFD" }
func (ChassisIdentity) Table() string      { return "Chassis" }
func (ChassisName) Table() string          { return "Chassis" }
func (ChassisPrivate) Table() string       { return "Chassis_Private" }
func (ChassisTemplateVar) Table() string   { return "Chassis_Template_Var" }
func (Connection) Table() string           { return "Connection" }
func (DHCPOptions) Table() string          { return "DHCP_Options" }
func (DHCPv6Options) Table() string        { return "DHCPv6_Options" }
func (DNS) Table() string                  { return "DNS" }
func (DatapathBinding) Table() string      { return "Datapath_Binding" }
func (ECMPNexthop) Table() string          { return "ECMP_Nexthop" }
func (Encap) Table() string                { return "Encap" }
func (FDB) Table() string                  { return "FDB" }
func (GatewayChassis) Table() string       { return "Gateway_Chassis" }
func (HAChassis) Table() string            { return "HA_Chassis" }
func (HAChassisGroup) Table() string       { return "HA_Chassis_Group" }
func (IGMPGroup) Table() string            { return "IGMP_Group" }
func (IPMulticast) Table() string          { return "IP_Multicast" }
func (LearnedRoute) Table() string         { return "Learned_Route" }
func (LoadBalancerName) Table() string     { return "Load_Balancer" }
func (LogicalDPGroup) Table() string       { return "Logical_DP_Group" }
func (LogicalFlowHints) Table() string     { return "Logical_Flow" }
func (LogicalFlowMatch) Table() string     { return "Logical_Flow" }
func (LogicalFlowNames) Table() string     { return "Logical_Flow" }
func (LogicalFlowRest) Table() string      { return "Logical_Flow" }
func (MACBinding) Table() string           { return "MAC_Binding" }
func (Meter) Table() string                { return "Meter" }
func (MeterBand) Table() string            { return "Meter_Band" }
func (Mirror) Table() string               { return "Mirror" }
func (MulticastGroup) Table() string       { return "Multicast_Group" }
func (PortBindingNames) Table() string     { return "Port_Binding" }
func (PortBindingResidence) Table() string { return "Port_Binding" }
func (PortBindingPlace) Table() string     { return "Port_Binding" }
func (PortBindingHome) Table() string      { return "Port_Binding" }
func (PortGroupName) Table() string        { return "Port_Group" }
func (RBACPermission) Table() string       { return "RBAC_Permission" }
func (RBACRole) Table() string             { return "RBAC_Role" }
func (Global) Table() string               { return "SB_Global" }
func (GlobalNBCfg) Table() string          { return "SB_Global" }
func (SSL) Table() string                  { return "SSL" }
func (ServiceMonitor) Table() string       { return "Service_Monitor" }
func (StaticMACBinding) Table() string     { return "Static_MAC_Binding" }
