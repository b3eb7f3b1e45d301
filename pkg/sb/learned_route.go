package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// LearnedRoute is a row of Learned_Route, ovn-sb(5): a route learned from the fabric. Newer than OVN 23.03.
type LearnedRoute struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	LogicalPort ovsdb.UUID        `ovsdb:"logical_port"` // Port_Binding
	Datapath    ovsdb.UUID        `ovsdb:"datapath"`     // Datapath_Binding
	IPPrefix    string            `ovsdb:"ip_prefix"`
	Nexthop     string            `ovsdb:"nexthop"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns Learned_Route.
func (LearnedRoute) Table() string { return "Learned_Route" }
