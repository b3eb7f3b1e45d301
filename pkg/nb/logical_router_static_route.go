package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

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
