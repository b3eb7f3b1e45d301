package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// ECMPNexthop is a row of ECMP_Nexthop, ovn-sb(5): a next hop of symmetric replies. Newer than OVN 23.03.
type ECMPNexthop struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Datapath    ovsdb.UUID        `ovsdb:"datapath"` // Datapath_Binding
	MAC         string            `ovsdb:"mac"`
	Nexthop     string            `ovsdb:"nexthop"`
	Port        ovsdb.UUID        `ovsdb:"port"` // Port_Binding
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns ECMP_Nexthop.
func (ECMPNexthop) Table() string { return "ECMP_Nexthop" }
