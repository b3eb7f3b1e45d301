package openflow

import (
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// An EventKind says what happened to a packet.
type EventKind uint8

// What can happen to a packet.
const (
	EventStep           EventKind = iota // it was looked up in a table
	EventDrop                            // the flow it matched has no actions; a lookup without match is a step with a Miss
	EventOutput                          // it was sent to a port, or was meant to be
	EventController                      // it was sent to the controller
	EventRecirculate                     // connection tracking took a copy, which comes back
	EventCommit                          // connection tracking took it; nothing comes back
	EventGroup                           // it was sent to a group
	EventCheckPktLarger                  // its length was asked; what follows supposes one result
	EventError                           // the switch reported an error, in Text
	EventWarning                         // the switch reported a warning, in Text
	EventUnknown                         // an action that Replay cannot execute
)

// An Event is something that happened to the packet during a pass, in the order in which it happened.
type Event struct {
	Kind   EventKind
	Node   *Node       // the line that says so
	Bridge string      // where
	Parent int         // index of the step whose actions caused it; -1: none
	Clone  int         // how many clones, buckets and patch ports deep; 0: the packet itself
	Flow   packet.Flow // the packet just before: what a step matched, what was sent

	// What there is to say about the kind; nil for the others.
	Step       *Step
	Output     *OutputEvent
	Controller *ControllerEvent
	Conntrack  *ConntrackEvent
	Group      *GroupEvent
	Larger     *LargerEvent
	Text       string // of errors, warnings and unknown actions
}

// An OutputKind is the kind of place that a packet was sent to.
type OutputKind uint8

// Where packets are sent.
const (
	ToPort         OutputKind = iota // a port of the bridge
	ToLocal                          // the bridge's own interface
	ToPatch                          // another bridge, in Peer
	ToNativeTunnel                   // a tunnel made by Open vSwitch, through Peer
	ToKernelTunnel                   // a tunnel made by the datapath
	ToNormal                         // wherever a learning switch would send it
	ToFlood                          // FLOOD or ALL
	ToTable                          // back to the tables (packet-out)
)

// An OutputEvent is a packet sent to a port. For a tunnel the event's Flow has the tunnel fields that it is sent with.
type OutputEvent struct {
	Kind   OutputKind
	Port   packet.PortID // zero where NORMAL or FLOOD chose a patch port; of a bundle its first member
	InPort bool          // sent back by the port it came in by
	Peer   string        // ToPatch: the bridge entered; ToNativeTunnel: the one it leaves by

	// ToNativeTunnel: the outer header, as far as it is known.
	TunnelDst, TunnelSrc       netip.Addr
	TunnelEthDst, TunnelEthSrc string

	Reason  string   // why it was not sent after all; "" if it was
	Details []string // what the switch says about it
}

// A ControllerEvent is a packet sent to the controller. For OVN, which receives
// it in ovn-controller, Userdata begins with an opcode.
type ControllerEvent struct {
	Userdata []byte
	Pause    bool   // the packet's trip ends here until the controller resumes it
	Reason   string // "", "invalid_ttl", "no_match"
	MeterID  uint32
}

// A ConntrackEvent is a packet sent to connection tracking. The event's Flow is
// the packet as it is sent there, before any translation.
type ConntrackEvent struct {
	Action CT
	Zone   uint16 // as the action's zone evaluates
	// What the connection's mark and label are set to, and which bits of them.
	Mark, MarkMask   uint32
	Label, LabelMask packet.Value
	Fork             int // index of the pass in which the copy comes back; -1: none
}

// A GroupEvent is a packet sent to a group.
type GroupEvent struct {
	ID      uint32
	Buckets []int // those that were executed, by bucket id
	// NoBucket: none was chosen. For a group with selection method dp_hash that
	// only means that the flow of the trace had no dp_hash.
	NoBucket bool
}

// A LargerEvent is a check_pkt_larger action: the switch explores both results, first that the packet is larger. The
// events up to the next one with the same node, or to the end of that step, suppose Larger.
type LargerEvent struct {
	Size   uint16 // bytes, Ethernet header included
	Larger bool
}
