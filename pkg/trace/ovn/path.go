package ovn

import (
	"context"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A Start is where a packet enters the logical network.
type Start struct {
	Port    *logicalflow.Port    // whose owner sends the packet; for a localnet port, the physical network does
	Chassis *logicalflow.Chassis // on which it does; nil: the one that the port is bound to
	// Packet is the packet as sent: Ethernet header and above. The engine sets logical ports and registers.
	Packet packet.Flow
	// Outport is set if the packet comes out of a tunnel on Chassis, as from another zone: the logical port that the
	// tunnel names, in a datapath where the packet came in by Port, nil if unknown.
	Outport *logicalflow.Port
}

// A Path is what became of a packet.
type Path struct {
	Start   Start
	Root    *Visit
	Visits  []*Visit // all of them, parents before children
	Choices []Choice // in the order made
	// First is the path of the same packet before, if OVN dropped it to learn from it (see [Learning]) and its sender
	// sent it again; usually nil.
	First *Path
}

// An Origin is where a visit came from.
type Origin uint8

// Origins of visits.
const (
	Entered    Origin = iota // the packet enters the logical network, by its sender's port
	Output                   // output of an ingress pipeline
	Copied                   // output to a multicast group, one visit for each port
	Crossed                  // a patch port, from datapath to datapath
	Cloned                   // clone
	Replied                  // OVN makes a packet from this one: arp, nd_na, icmp4, tcp_reset, reject, put_dhcp_opts; see Visit.Name
	Mirrored                 // mirror: a copy for another receiver
	Arrived                  // over a physical network, from localnet port to localnet port
	Redirected               // next with another pipeline
)

// A Visit is one run through a pipeline of a datapath on a chassis, or the part of one that a copy makes.
type Visit struct {
	Origin Origin
	Name   string // of the nested action that made the packet: "reject"; else ""
	Parent *Visit
	At     int // the step of Parent that sent the packet here; -1 if Parent has none

	Datapath *logicalflow.Datapath
	Chassis  *logicalflow.Chassis // nil if the packet's port is not bound
	Pipeline string               // [logicalflow.Ingress] or [logicalflow.Egress]
	Inport   *logicalflow.Port    // nil if there is none
	Outport  *logicalflow.Port    // of an egress pipeline; nil for a multicast group
	Tunnel   *Tunnel              // by which the packet came to Chassis; nil if it was there
	Packet   packet.Flow          // as it enters, inport and outport included

	Steps    []Step
	Children []*Visit
	End      *End // nil if only children continue
}

// A Tunnel is the path between two chassis.
type Tunnel struct {
	From, To *logicalflow.Chassis
	Type     string // geneve, vxlan, stt
	Local    string // address of From, empty if unknown
	Remote   string // address of To
}

// A Step is one table.
type Step struct {
	Table   int
	Flow    *logicalflow.Flow // that was hit; nil if none was, which drops the packet
	Changes []Change          // made by its actions, in order
	Notes   []Note
	Ties    []*logicalflow.Flow // of the same priority that match too
	Unknown []*logicalflow.Flow // not understood, so that they may be the ones hit
}

// A Change is a field that an action gave a new value.
type Change struct {
	Field    ovnexpr.Ref
	From, To packet.Value
}

// A NoteKind is the kind of a note.
type NoteKind uint8

// Kinds of notes.
const (
	Tracked    NoteKind = iota // conntrack was consulted: Zone, State, Connection (nil if unknown)
	Translated                 // it translated the packet: Connection
	Committed                  // the connection was committed: Zone, Connection
	Chosen                     // a choice was made: Choice
	Resolved                   // get_arp, get_nd found a neighbour: Row
	Unresolved                 // get_arp, get_nd found none
	Assumed                    // get_arp, get_nd found none; its owner is assumed to reply: Port, nil if outside OVN
	Tested                     // a function was evaluated: Action, Result, Row
	Learned                    // put_arp, put_fdb and the like: OVN would learn something
	Observed                   // log, sample
	Limited                    // set_meter, set_queue
	Ignored                    // an action with no effect on the path
)

// A Note is what an action did besides changing the packet. Its kind determines which fields are set.
type Note struct {
	Kind       NoteKind
	Action     ovnexpr.Action
	Zone       Zone
	State      uint32 // ct_state
	Connection *packet.Connection
	Choice     int // index in Path.Choices
	Result     bool
	Table      string // of Row, as MAC_Binding
	Row        ovsdb.UUID
	Port       *logicalflow.Port
}

// An End is what became of a packet.
type End struct {
	Outcome journey.Outcome
	Reason  Reason
	Port    *logicalflow.Port // that got the packet, or that it could not leave by; nil if there is none
	Network string            // name of the physical network, for [ToNetwork]
	Detail  string            // for [NotUnderstood], [Tie], [Limit] and [Controller]: which; else ""
}

// A Reason is why a packet ended where it did.
type Reason uint8

// Reasons, by outcome.
const (
	// Delivered.
	ToPort    Reason = iota // the port's owner got it
	ToNetwork               // it left by a localnet or l2gateway port, and nothing of OVN is known to accept it there
	ToZone                  // it went to another zone's chassis (OVN interconnect), for a port of type remote
	ToVTEP                  // it went to a hardware gateway

	// Dropped.
	NoFlow      // no flow of the table matches
	DropAction  // the flow drops
	NoOutport   // output without an outport
	SameOutport // out of the port that it came in by, without flags.loopback
	NotBound    // the port is on no chassis
	NoTunnel    // the port's chassis has no tunnel endpoint of the sender's types
	NotCarried  // VXLAN's key is too small for the datapath's or port's
	NotHere     // the port is only on a chassis that it is bound to: localport, localnet without the network
	NoPeer      // a patch port without a peer
	EmptyGroup  // a multicast group without eligible ports
	TTLExceeded // ip.ttl-- of a packet with 1 or 0, where no flow replies
	Finished    // the flow's actions end without sending the packet on
	// NoLocalBackend: a distributed load balancer has no backend on this chassis.
	NoLocalBackend
	Learning // the flow learns a client's backend from the packet, and drops it

	// Rejected.
	Refused // OVN sends an error or a reset; that is a child

	// Consumed.
	Replying   // OVN replies for the receiver (ARP, neighbour discovery, DHCP, DNS); the reply is a child
	Resolving  // OVN asks for the next hop's MAC address; the packet waits for the reply
	Controller // ovn-controller consumes the packet

	// Unknown.
	NotUnderstood // a flow that may be hit is not understood
	Tie           // flows of one priority match, and the outcome depends on which is hit
	Limit         // the path is longer than the engine follows
)

// String returns the reason in a few words.
func (r Reason) String() string {
	return [...]string{
		ToPort: "to a port", ToNetwork: "to a physical network", ToZone: "to another zone", ToVTEP: "to a hardware gateway",
		NoFlow: "no flow matches", DropAction: "the flow drops", NoOutport: "no outport", SameOutport: "back to where it came from",
		NotBound: "the port is on no chassis", NoTunnel: "no tunnel", NotCarried: "no room in the tunnel's key",
		NotHere: "the port is not on this chassis", NoPeer: "no peer", EmptyGroup: "no port in the group", NoLocalBackend: "no backend on this chassis",
		TTLExceeded: "time to live exceeded", Finished: "nothing more is done", Learning: "what is learned from is dropped", Refused: "refused", Replying: "OVN replies",
		Resolving: "the next hop is asked for", Controller: "taken by ovn-controller", NotUnderstood: "a flow is not understood",
		Tie: "flows of one priority", Limit: "too long",
	}[r]
}

// End returns the visit in which a path's packet ended: the only end for one receiver; of copies the best, the first
// among equals. Replies of OVN and mirrored copies do not count.
func (w *Path) End() *Visit {
	var best *Visit
	for _, v := range w.Visits {
		if v.End == nil || v.aside() {
			continue
		}
		if best == nil || rank(v.End) < rank(best.End) {
			best = v
		}
	}
	return best
}

// rank orders ends from the best to the worst: an unknown one may be better than known ones.
func rank(e *End) int {
	return slices.Index([]journey.Outcome{journey.Delivered, journey.Unknown, journey.Rejected, journey.Consumed, journey.Dropped}, e.Outcome)
}

// aside reports whether the visit is of OVN's own reply or a mirrored copy.
func (v *Visit) aside() bool {
	for ; v != nil; v = v.Parent {
		if v.Origin == Replied || v.Origin == Mirrored {
			return true
		}
	}
	return false
}

// Ends returns all visits in which the packet, a copy of it or a reply of OVN ended, in path order.
func (w *Path) Ends() []*Visit {
	return slices.DeleteFunc(slices.Clone(w.Visits), func(v *Visit) bool { return v.End == nil })
}

// Visits returns the visits from the root to v.
func (v *Visit) Visits() []*Visit {
	var path []*Visit
	for ; v != nil; v = v.Parent {
		path = append(path, v)
	}
	slices.Reverse(path)
	return path
}

// Before returns the packet as it met a step; if i is the number of steps, as it left the last one.
func (v *Visit) Before(i int) packet.Flow {
	p := v.Packet
	for _, s := range v.Steps[:min(i, len(v.Steps))] {
		for _, c := range s.Changes {
			c.Field.Set(&p, c.To)
		}
	}
	return p
}

// Lookups gives a visit's lookups, with the flow that was hit, nil for none, and the packet as it was then. It returns false if one
// left open which flow was hit, or if what a next hop outside replies was assumed.
func (v *Visit) Lookups(each func(logicalflow.Table, *logicalflow.Flow, *packet.Flow)) bool {
	p := v.Packet
	for i := range v.Steps {
		s := &v.Steps[i]
		if len(s.Ties)+len(s.Unknown) > 0 || slices.ContainsFunc(s.Notes, func(n Note) bool { return n.Kind == Assumed && n.Port == nil }) {
			return false
		}
		each(v.Table(s), s.Flow, &p)
		for _, c := range s.Changes {
			c.Field.Set(&p, c.To)
		}
	}
	return true
}

// Table returns a step's table.
func (v *Visit) Table(s *Step) logicalflow.Table {
	return logicalflow.Table{Datapath: v.Datapath, Pipeline: v.Pipeline, ID: s.Table, Chassis: v.Chassis}
}

// Resident returns which ports reside on a visit's chassis, for [logicalflow.Flow.Explain]. A port that cannot be read
// resides nowhere.
func (e *Engine) Resident(v *Visit) logicalflow.Resident {
	return func(name string) bool {
		p, err := e.net.Port(context.Background(), name)
		return err == nil && resides(p, v.Chassis)
	}
}

// Reply returns the receiver's reply to a delivered packet, and where it enters; false if there is none: the packet was
// not delivered, went to another zone, or is one that no host replies to.
func (e *Engine) Reply(v *Visit) (Start, bool) {
	if v == nil || v.End == nil || v.End.Outcome != journey.Delivered || v.End.Reason == ToZone || v.End.Reason == ToVTEP {
		return Start{}, false
	}
	s := Start{Port: v.End.Port, Chassis: v.Chassis, Packet: v.Before(len(v.Steps))}
	return s, reply(e.fields, &s.Packet)
}
