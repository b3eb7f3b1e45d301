package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// LogicalRouter is a row of Logical_Router, ovn-nb(5): a router.
type LogicalRouter struct {
	LogicalRouterBare
	Copp              ovsdb.Set[ovsdb.UUID] `ovsdb:"copp"`                // Copp
	LoadBalancer      ovsdb.Set[ovsdb.UUID] `ovsdb:"load_balancer"`       // Load_Balancer
	LoadBalancerGroup ovsdb.Set[ovsdb.UUID] `ovsdb:"load_balancer_group"` // Load_Balancer_Group
}

// LogicalRouterBare is a row of Logical_Router without its load balancers: for topology, to locate an address.
type LogicalRouterBare struct {
	UUID ovsdb.UUID `ovsdb:"_uuid"`
	LogicalRouterContents
	Enabled ovsdb.Set[bool]   `ovsdb:"enabled"` // absent means enabled
	Options map[string]string `ovsdb:"options"`
}

// LogicalRouterContents is a row of Logical_Router with the rows it holds: for decode, to find a row's parent.
type LogicalRouterContents struct {
	Name         string                `ovsdb:"name"`
	ExternalIDs  map[string]string     `ovsdb:"external_ids"`
	NAT          ovsdb.Set[ovsdb.UUID] `ovsdb:"nat"`           // NAT
	Policies     ovsdb.Set[ovsdb.UUID] `ovsdb:"policies"`      // Logical_Router_Policy
	StaticRoutes ovsdb.Set[ovsdb.UUID] `ovsdb:"static_routes"` // Logical_Router_Static_Route
	Ports        ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"`         // Logical_Router_Port
}

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

// Policy is a row of Logical_Router_Policy, ovn-nb(5): a rule that overrides the routes.
type Policy struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Action      string                `ovsdb:"action"`       // allow, drop, reroute or jump
	BFDSessions ovsdb.Set[ovsdb.UUID] `ovsdb:"bfd_sessions"` // BFD
	Chain       ovsdb.Set[string]     `ovsdb:"chain"`
	JumpChain   ovsdb.Set[string]     `ovsdb:"jump_chain"`
	Match       string                `ovsdb:"match"`
	Nexthop     ovsdb.Set[string]     `ovsdb:"nexthop"` // before 21.03, see nexthops
	Nexthops    ovsdb.Set[string]     `ovsdb:"nexthops"`
	OutputPort  ovsdb.Set[ovsdb.UUID] `ovsdb:"output_port"` // Logical_Router_Port
	Priority    int                   `ovsdb:"priority"`
	Options     map[string]string     `ovsdb:"options"`
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// StaticRoute is a row of Logical_Router_Static_Route, ovn-nb(5): a route.
type StaticRoute struct {
	StaticRouteListed
	SelectionFields ovsdb.Set[string] `ovsdb:"selection_fields,sparse"`
	Options         map[string]string `ovsdb:"options"`
}

// StaticRouteListed is a row of Logical_Router_Static_Route with where it leads: for topology, to list it.
type StaticRouteListed struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	BFD         ovsdb.Set[ovsdb.UUID] `ovsdb:"bfd,sparse"` // BFD
	IPPrefix    string                `ovsdb:"ip_prefix"`
	Nexthop     string                `ovsdb:"nexthop"` // an address or "discard"
	OutputPort  ovsdb.Set[string]     `ovsdb:"output_port"`
	Policy      ovsdb.Set[string]     `ovsdb:"policy"` // dst-ip if absent, or src-ip
	RouteTable  string                `ovsdb:"route_table"`
	ExternalIDs map[string]string     `ovsdb:"external_ids,sparse"`
}
