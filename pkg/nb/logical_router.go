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

// LogicalRouterBare is a row of Logical_Router without the load balancers that it refers to: what topology needs to know where
// an address is.
type LogicalRouterBare struct {
	UUID         ovsdb.UUID            `ovsdb:"_uuid"`
	Name         string                `ovsdb:"name"`
	Enabled      ovsdb.Set[bool]       `ovsdb:"enabled"`
	NAT          ovsdb.Set[ovsdb.UUID] `ovsdb:"nat"`
	Policies     ovsdb.Set[ovsdb.UUID] `ovsdb:"policies"`
	Ports        ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"`
	StaticRoutes ovsdb.Set[ovsdb.UUID] `ovsdb:"static_routes"`
	Options      map[string]string     `ovsdb:"options"`
	ExternalIDs  map[string]string     `ovsdb:"external_ids"`
}

// Table returns Logical_Router.
func (LogicalRouterBare) Table() string { return "Logical_Router" }

// LogicalRouterContents is a row of Logical_Router with the rows that it holds: decode looks up whose a row is.
type LogicalRouterContents struct {
	Name         string                `ovsdb:"name"`
	ExternalIDs  map[string]string     `ovsdb:"external_ids"`
	NAT          ovsdb.Set[ovsdb.UUID] `ovsdb:"nat"`
	Policies     ovsdb.Set[ovsdb.UUID] `ovsdb:"policies"`
	StaticRoutes ovsdb.Set[ovsdb.UUID] `ovsdb:"static_routes"`
	Ports        ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"`
}

// Table returns Logical_Router.
func (LogicalRouterContents) Table() string { return "Logical_Router" }
