package openflow

import (
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// An EventKind is what happened to a packet.
type EventKind uint8

// The kinds of events.
const (
	EventStep           EventKind = iota // it was looked up in a table
	EventDrop                            // the flow it matched has no actions; a lookup without match is a step with a Miss
	EventOutput                          // it was sent to a port, or was meant to be
	EventController                      // it was sent to the controller
	EventRecirculate                     // conntrack took a copy, which comes back
	EventCommit                          // conntrack took it; nothing comes back
	EventGroup                           // it was sent to a group
	EventCheckPktLarger                  // its length was checked; the rest assumes one result
	EventError                           // the switch reported an error, in Text
	EventWarning                         // the switch reported a warning, in Text
	EventUnknown                         // an action that Replay cannot execute
)

// An Event is something that happened to the packet during a pass. Events are in order.
type Event struct {
	Kind   EventKind
	Node   *Node       // its line
	Bridge string      // where
	Parent int         // index of the step whose actions caused it; -1: none
	Clone  int         // depth in clones, buckets and patch ports; 0: the packet itself
	Flow   packet.Flow // the packet just before: what a step matched, what was sent

	// The details, by kind; nil for other kinds.
	Step       *Step
	Output     *OutputEvent
	Controller *ControllerEvent
	Conntrack  *ConntrackEvent
	Group      *GroupEvent
	Larger     *LargerEvent
	Text       string // of errors, warnings and unknown actions
}

// An OutputKind is the kind of an output's destination.
type OutputKind uint8

// The kinds of outputs.
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

// An OutputEvent is a packet sent to a port. For a tunnel the event's Flow has the tunnel fields it is sent with.
type OutputEvent struct {
	Kind   OutputKind
	Port   packet.PortID // zero if NORMAL or FLOOD chose a patch port; a bundle's first member
	InPort bool          // sent back out of its input port
	Peer   string        // ToPatch: the bridge entered; ToNativeTunnel: the one it leaves by

	// ToNativeTunnel: the outer header, as far as known.
	TunnelDst, TunnelSrc       netip.Addr
	TunnelEthDst, TunnelEthSrc string

	Reason  string   // why it was not sent; "" if it was
	Details []string // the switch's remarks on it
}

// A ControllerEvent is a packet sent to the controller. For OVN, where ovn-controller receives it, Userdata starts with
// an opcode.
type ControllerEvent struct {
	Userdata []byte
	Pause    bool   // the packet stops here until the controller resumes it
	Reason   string // "", "invalid_ttl", "no_match"
	MeterID  uint32
}

// A ConntrackEvent is a packet sent to conntrack. The event's Flow is the packet as sent, before any translation.
type ConntrackEvent struct {
	Action CT
	Zone   uint16 // as the action's zone evaluates
	// The new mark and label of the connection, and which bits are written.
	Mark, MarkMask   uint32
	Label, LabelMask packet.Value
	Fork             int // index of the pass in which the copy comes back; -1: none
}

// A GroupEvent is a packet sent to a group.
type GroupEvent struct {
	ID      uint32
	Buckets []int // ids of the buckets that were executed
	// NoBucket: none was chosen. For selection method dp_hash that only means that the trace's flow had no dp_hash.
	NoBucket bool
}

// A LargerEvent is a check_pkt_larger action: the switch explores both results, larger first. The events up to the next
// one with the same node, or to the end of that step, assume Larger.
type LargerEvent struct {
	Size   uint16 // bytes, Ethernet header included
	Larger bool
}
