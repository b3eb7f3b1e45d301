package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// LogicalRouter is a row of Logical_Router, ovn-nb(5): a router.
type LogicalRouter struct {
	UUID              ovsdb.UUID            `ovsdb:"_uuid"`
	Name              string                `ovsdb:"name"`
	Copp              ovsdb.Set[ovsdb.UUID] `ovsdb:"copp"`                // Copp
	Enabled           ovsdb.Set[bool]       `ovsdb:"enabled"`             // absent means enabled
	LoadBalancer      ovsdb.Set[ovsdb.UUID] `ovsdb:"load_balancer"`       // Load_Balancer
	LoadBalancerGroup ovsdb.Set[ovsdb.UUID] `ovsdb:"load_balancer_group"` // Load_Balancer_Group
	NAT               ovsdb.Set[ovsdb.UUID] `ovsdb:"nat"`                 // NAT
	Policies          ovsdb.Set[ovsdb.UUID] `ovsdb:"policies"`            // Logical_Router_Policy
	Ports             ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"`               // Logical_Router_Port
	StaticRoutes      ovsdb.Set[ovsdb.UUID] `ovsdb:"static_routes"`       // Logical_Router_Static_Route
	Options           map[string]string     `ovsdb:"options"`
	ExternalIDs       map[string]string     `ovsdb:"external_ids"`
}

// Table returns Logical_Router.
func (LogicalRouter) Table() string { return "Logical_Router" }

// LogicalRouterPort is a row of Logical_Router_Port, ovn-nb(5): a port of a router.
type LogicalRouterPort struct {
	UUID           ovsdb.UUID            `ovsdb:"_uuid"`
	Name           string                `ovsdb:"name"`
	DHCPRelay      ovsdb.Set[ovsdb.UUID] `ovsdb:"dhcp_relay"`       // DHCP_Relay
	Enabled        ovsdb.Set[bool]       `ovsdb:"enabled"`          // absent means enabled
	GatewayChassis ovsdb.Set[ovsdb.UUID] `ovsdb:"gateway_chassis"`  // Gateway_Chassis
	HAChassisGroup ovsdb.Set[ovsdb.UUID] `ovsdb:"ha_chassis_group"` // HA_Chassis_Group
	IPv6Prefix     ovsdb.Set[string]     `ovsdb:"ipv6_prefix"`
	IPv6RAConfigs  map[string]string     `ovsdb:"ipv6_ra_configs"`
	MAC            string                `ovsdb:"mac"`
	Networks       ovsdb.Set[string]     `ovsdb:"networks"` // addresses with prefix length
	Peer           ovsdb.Set[string]     `ovsdb:"peer"`     // the router port at the other end, not a switch port
	Status         map[string]string     `ovsdb:"status"`
	Options        map[string]string     `ovsdb:"options"`
	ExternalIDs    map[string]string     `ovsdb:"external_ids"`
}

// Table returns Logical_Router_Port.
func (LogicalRouterPort) Table() string { return "Logical_Router_Port" }

// StaticRoute is a row of Logical_Router_Static_Route, ovn-nb(5): a route.
type StaticRoute struct {
	UUID            ovsdb.UUID            `ovsdb:"_uuid"`
	BFD             ovsdb.Set[ovsdb.UUID] `ovsdb:"bfd"` // BFD
	IPPrefix        string                `ovsdb:"ip_prefix"`
	Nexthop         string                `ovsdb:"nexthop"` // an address or "discard"
	OutputPort      ovsdb.Set[string]     `ovsdb:"output_port"`
	Policy          ovsdb.Set[string]     `ovsdb:"policy"` // dst-ip if absent, or src-ip
	RouteTable      string                `ovsdb:"route_table"`
	SelectionFields ovsdb.Set[string]     `ovsdb:"selection_fields"`
	Options         map[string]string     `ovsdb:"options"`
	ExternalIDs     map[string]string     `ovsdb:"external_ids"`
}

// Table returns Logical_Router_Static_Route.
func (StaticRoute) Table() string { return "Logical_Router_Static_Route" }

// Policy is a row of Logical_Router_Policy, ovn-nb(5): a rule that overrides the routes.
type Policy struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Action      string                `ovsdb:"action"`       // allow, drop, reroute or jump
	BFDSessions ovsdb.Set[ovsdb.UUID] `ovsdb:"bfd_sessions"` // BFD
	Chain       ovsdb.Set[string]     `ovsdb:"chain"`
	JumpChain   ovsdb.Set[string]     `ovsdb:"jump_chain"`
	Match       string                `ovsdb:"match"`
	Nexthop     ovsdb.Set[string]     `ovsdb:"nexthop"` // of before 21.03, see nexthops
	Nexthops    ovsdb.Set[string]     `ovsdb:"nexthops"`
	OutputPort  ovsdb.Set[ovsdb.UUID] `ovsdb:"output_port"` // Logical_Router_Port
	Priority    int                   `ovsdb:"priority"`
	Options     map[string]string     `ovsdb:"options"`
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// Table returns Logical_Router_Policy.
func (Policy) Table() string { return "Logical_Router_Policy" }

// NAT is a row of NAT, ovn-nb(5): a translation on a router.
type NAT struct {
	UUID              ovsdb.UUID            `ovsdb:"_uuid"`
	LogicalPort       ovsdb.Set[string]     `ovsdb:"logical_port"`
	Type              string                `ovsdb:"type"`             // dnat, snat or dnat_and_snat
	AllowedExtIPs     ovsdb.Set[ovsdb.UUID] `ovsdb:"allowed_ext_ips"`  // Address_Set
	ExemptedExtIPs    ovsdb.Set[ovsdb.UUID] `ovsdb:"exempted_ext_ips"` // Address_Set
	ExternalIP        string                `ovsdb:"external_ip"`
	ExternalMAC       ovsdb.Set[string]     `ovsdb:"external_mac"` // with logical_port: distributed NAT
	ExternalPortRange string                `ovsdb:"external_port_range"`
	GatewayPort       ovsdb.Set[ovsdb.UUID] `ovsdb:"gateway_port"` // Logical_Router_Port
	LogicalIP         string                `ovsdb:"logical_ip"`
	Match             string                `ovsdb:"match"`
	Priority          int                   `ovsdb:"priority"`
	Options           map[string]string     `ovsdb:"options"`
	ExternalIDs       map[string]string     `ovsdb:"external_ids"`
}

// Table returns NAT.
func (NAT) Table() string { return "NAT" }

// StaticMACBinding is a row of Static_MAC_Binding, ovn-nb(5): a neighbour known in advance.
type StaticMACBinding struct {
	UUID               ovsdb.UUID `ovsdb:"_uuid"`
	LogicalPort        string     `ovsdb:"logical_port"`
	IP                 string     `ovsdb:"ip"`
	MAC                string     `ovsdb:"mac"`
	OverrideDynamicMAC bool       `ovsdb:"override_dynamic_mac"`
}

// Table returns Static_MAC_Binding.
func (StaticMACBinding) Table() string { return "Static_MAC_Binding" }

// BFD is a row of BFD, ovn-nb(5): a session that watches a next hop.
type BFD struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	LogicalPort string            `ovsdb:"logical_port"`
	DetectMult  ovsdb.Set[int]    `ovsdb:"detect_mult"`
	DstIP       string            `ovsdb:"dst_ip"`
	MinRx       ovsdb.Set[int]    `ovsdb:"min_rx"`
	MinTx       ovsdb.Set[int]    `ovsdb:"min_tx"`
	Status      ovsdb.Set[string] `ovsdb:"status"`
	Options     map[string]string `ovsdb:"options"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns BFD.
func (BFD) Table() string { return "BFD" }

// Copp is a row of Copp, ovn-nb(5): meters on packets for the controller.
type Copp struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	Meters      map[string]string `ovsdb:"meters"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns Copp.
func (Copp) Table() string { return "Copp" }
