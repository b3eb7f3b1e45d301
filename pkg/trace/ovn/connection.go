package ovn

import (
	"maps"
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A Zone is one conntrack table of a chassis (ovn-architecture(7)): of a router two, of a switch one for each port.
type Zone struct {
	Chassis  *logicalflow.Chassis
	Datapath *logicalflow.Datapath
	Port     *logicalflow.Port // of a switch
	SNAT     bool              // of a router: the zone for source addresses, else that for destination addresses
}

// State is ct_state, with the bits where ovs-fields(7) has them.
type State uint8

// The bits of ct_state.
const (
	StateNew State = 1 << iota
	StateEstablished
	StateRelated
	StateReply
	StateInvalid
	StateTracked
	StateSNAT
	StateDNAT
)

// A Tuple is what conntrack knows a packet by, for one direction. An ICMP echo has no ports here: a trace follows one
// echo, so that its identifier makes no difference.
type Tuple struct {
	Proto    uint8
	Src, Dst netip.AddrPort
}

// Reverse returns the tuple of the reply.
func (t Tuple) Reverse() Tuple { return Tuple{t.Proto, t.Dst, t.Src} }

// A Connection is one entry of a zone. Original is the packet that made it, as it came into the zone; Answer is the
// packet that answers it, as it comes into the zone. They mirror each other unless the connection is translated.
type Connection struct {
	Original, Answer Tuple
	Mark             uint32
	Label            packet.Value
	replied          bool
}

// Connections is conntrack: the entries of all zones, with what switches, routers and load balancers remember beside
// it. The zero value is empty. It is used by one goroutine at a time.
type Connections struct {
	zones      map[Zone][]*Connection
	fdb        map[station]int             // key of the port that a MAC address was learned at
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

// A hop is a connection through a router, by the packet in its first direction.
type hop struct {
	datapath *logicalflow.Datapath
	tuple    Tuple
}

type affinity struct {
	datapath *logicalflow.Datapath
	client   netip.Addr
	proto    uint8
	vip      netip.AddrPort
}

// A hairpin is the reply of a backend to itself: to the address that the load balancer put in the place of its own.
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
	d := &Connections{
		fdb: maps.Clone(c.fdb), neighbours: maps.Clone(c.neighbours), hops: maps.Clone(c.hops),
		affinities: maps.Clone(c.affinities), hairpins: maps.Clone(c.hairpins),
	}
	if len(c.zones) > 0 {
		d.zones = make(map[Zone][]*Connection, len(c.zones))
	}
	for zone, connections := range c.zones {
		for _, one := range connections {
			copied := *one
			d.zones[zone] = append(d.zones[zone], &copied)
		}
	}
	return d
}

// find returns the connection that a packet belongs to, nil if there is none, and whether it is a reply.
func (c *Connections) find(z Zone, t Tuple) (found *Connection, reply bool) {
	for _, one := range c.zones[z] {
		switch t {
		case one.Original:
			return one, false
		case one.Answer:
			return one, true
		}
	}
	return nil, false
}

// enter makes a connection of a packet that is translated to now.
func (c *Connections) enter(z Zone, t, now Tuple) *Connection {
	one := &Connection{Original: t, Answer: now.Reverse()}
	if c.zones == nil {
		c.zones = map[Zone][]*Connection{}
	}
	c.zones[z] = append(c.zones[z], one)
	return one
}

// translated returns what a packet of a connection becomes.
func (one *Connection) translated(reply bool) Tuple {
	if reply {
		return one.Original.Reverse()
	}
	return one.Answer.Reverse()
}

// remember enters a value into a map that may not exist yet.
func remember[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}
