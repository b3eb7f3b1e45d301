package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// AdvertisedRoute is a row of Advertised_Route, ovn-sb(5): a route advertised to the fabric. Newer than OVN
// 23.03.
type AdvertisedRoute struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	LogicalPort ovsdb.UUID            `ovsdb:"logical_port"` // Port_Binding
	Datapath    ovsdb.UUID            `ovsdb:"datapath"`     // Datapath_Binding
	IPPrefix    string                `ovsdb:"ip_prefix"`
	TrackedPort ovsdb.Set[ovsdb.UUID] `ovsdb:"tracked_port"` // Port_Binding
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// LearnedRoute is a row of Learned_Route, ovn-sb(5): a route learned from the fabric. Newer than OVN 23.03.
type LearnedRoute struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	LogicalPort ovsdb.UUID        `ovsdb:"logical_port"` // Port_Binding
	Datapath    ovsdb.UUID        `ovsdb:"datapath"`     // Datapath_Binding
	IPPrefix    string            `ovsdb:"ip_prefix"`
	Nexthop     string            `ovsdb:"nexthop"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// ECMPNexthop is a row of ECMP_Nexthop, ovn-sb(5): a next hop of symmetric replies. Newer than OVN 23.03.
type ECMPNexthop struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Datapath    ovsdb.UUID        `ovsdb:"datapath"` // Datapath_Binding
	MAC         string            `ovsdb:"mac"`
	Nexthop     string            `ovsdb:"nexthop"`
	Port        ovsdb.UUID        `ovsdb:"port"` // Port_Binding
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}
