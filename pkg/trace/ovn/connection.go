package ovn

import (
	"maps"
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A Zone is one conntrack table of a chassis (ovn-architecture(7)): a router has two, a switch one for each port.
type Zone struct {
	Chassis  *logicalflow.Chassis
	Datapath *logicalflow.Datapath
	Port     *logicalflow.Port // of a switch
	SNAT     bool              // of a router: the zone for source addresses, else for destination addresses
}

// Connections is conntrack: the entries of all zones, plus the other state of switches, routers and load balancers. The
// zero value is empty. It is not safe for concurrent use.
type Connections struct {
	zones      packet.Conntrack[Zone]
	fdb        map[station]int             // key of the port where a MAC address was learned
	neighbours map[neighbour]packet.Value  // MAC address that a router learned
	hops       map[hop]packet.Value        // MAC address that a connection came from (commit_ecmp_nh)
	affinities map[affinity]netip.AddrPort // backend that a client keeps
	hairpins   map[hairpin]bool
}

type station struct {
	datapath *logicalflow.Datapath
	mac      packet.Value
}

type neighbour struct {
	port    *logicalflow.Port
	address netip.Addr
}

// A hop identifies a connection through a router by its packet in the original direction.
type hop struct {
	datapath *logicalflow.Datapath
	tuple    packet.Tuple
}

type affinity struct {
	datapath *logicalflow.Datapath
	client   netip.Addr
	proto    uint8
	vip      netip.AddrPort
}

// A hairpin is a backend's reply to itself: to the address that the load balancer used instead of its own.
type hairpin struct {
	datapath *logicalflow.Datapath
	proto    uint8
	backend  netip.AddrPort
	to       netip.Addr
}

// Clone returns an independent copy.
func (c *Connections) Clone() *Connections {
	if c == nil {
		return &Connections{}
	}
	return &Connections{
		zones: c.zones.Clone(), fdb: maps.Clone(c.fdb), neighbours: maps.Clone(c.neighbours), hops: maps.Clone(c.hops),
		affinities: maps.Clone(c.affinities), hairpins: maps.Clone(c.hairpins),
	}
}

// remember adds a value to a map, which it creates if needed.
func remember[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}
