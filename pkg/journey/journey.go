// Package journey holds a trace as values: the path of a packet over nodes, datapaths and tables, and what became of
// it. It is the JSON contract of kind Trace (docs/json.md): tracers fill it, and everything that shows a path reads it.
package journey

import (
	"cmp"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Outcome is what became of a packet.
type Outcome string

// Values of Outcome, from the best to the worst: see [Worst].
const (
	Delivered Outcome = "delivered" // it left on the interface of its destination
	Rejected  Outcome = "rejected"  // a reset or an unreachable came back
	Consumed  Outcome = "consumed"  // a controller action consumed the packet
	Dropped   Outcome = "dropped"
	Unknown   Outcome = "unknown" // something on the path could not be read
)

// Worst returns the outcome that stands for both. A path known to fail is worse than an unknown one.
func Worst(a, b Outcome) Outcome {
	rank := map[Outcome]int{Delivered: 0, Unknown: 1, Consumed: 2, Rejected: 3, Dropped: 4}
	if rank[a] >= rank[b] {
		return a
	}
	return b
}

// Trace is the path of a packet and of its reply.
type Trace struct {
	Request Request `json:"request"`
	// Verdict is the verdict of the round trip; with several backends, the worst of them.
	Verdict Verdict `json:"verdict"`
	// Forward and Reply are null if Branches is not empty: each branch has its own. Reply is also null if the packet
	// did not arrive, so that nothing replies.
	Forward *Direction `json:"forward"`
	Reply   *Direction `json:"reply"`
	// Branches holds one path for each backend if a load balancer chooses among several, and for each next hop if a
	// router does.
	Branches []Branch `json:"branches"`
	// Logical is the path that the logical flows expect, if the one above follows the nodes' OpenFlow flows; null if
	// the one above follows the logical flows itself, or if they could not be followed.
	Logical *Walk `json:"logical"`
	// Disagreements are where the nodes' state differs from the databases.
	Disagreements []Disagreement `json:"disagreements"`
	// Names are what users call the ports and datapaths above, by their names in OVN, where these say little: Neutron's
	// UUIDs, OVN-Kubernetes' user-defined networks.
	Names map[string]string `json:"names"`
	// Next is the command to run next, filled in; empty on success.
	Next []string `json:"next"`
	// Commands are the classic commands that show the same; only on request.
	Commands []string `json:"commands,omitempty"`
	// Ingress is where the sender's frame enters its node's bridge; nil if it does not enter one by a port, or was not looked at.
	Ingress *Ingress `json:"-"`
	// TTL is what the packet's TTL or hop limit begins with; 0 if its sender was not looked at.
	TTL int `json:"-"`
	// Simulated are the nodes whose ovs-vswitchd was unreachable: they are simulated from saved flows. Documents name
	// them in their source.
	Simulated []string `json:"-"`
	// Observed is what became of real packets while the paths were watched; only on request.
	Observed *Observation `json:"observed,omitempty"`
	// Sent is what became of real packets that were sent; only on request.
	Sent *Sent `json:"sent,omitempty"`
}

// Ingress is a port of a bridge and the Ethernet header of the frame that enters there.
type Ingress struct {
	Node, Bridge   string
	Port           int    // of OpenFlow
	SrcMAC, DstMAC uint64 // 48 bits
	VLAN           int    // of a subport's frame; 0 if untagged
}

// Walk is a second path of a packet and of its reply in a Trace, with the same fields.
type Walk struct {
	Verdict  Verdict    `json:"verdict"`
	Forward  *Direction `json:"forward"`
	Reply    *Direction `json:"reply"`
	Branches []Branch   `json:"branches"`
}

// Take sets a trace's path to a walk.
func (t *Trace) Take(w *Walk) {
	t.Verdict, t.Forward, t.Reply, t.Branches = w.Verdict, w.Forward, w.Reply, w.Branches
}

// Directions returns the paths of all packets of a walk.
func (w *Walk) Directions() []*Direction {
	all := []*Direction{w.Forward, w.Reply}
	for _, b := range w.Branches {
		all = append(all, b.Forward, b.Reply)
	}
	return slices.DeleteFunc(all, func(d *Direction) bool { return d == nil })
}

// Complete replaces nil lists with empty ones, as the contract requires.
func (t *Trace) Complete() {
	if t.Names == nil {
		t.Names = map[string]string{}
	}
	complete(&t.Next)
	complete(&t.Disagreements)
	complete(&t.Branches)
	t.Verdict.complete()
	walks := []*Walk{{Forward: t.Forward, Reply: t.Reply, Branches: t.Branches}}
	if t.Logical != nil {
		t.Logical.Verdict.complete()
		complete(&t.Logical.Branches)
		walks = append(walks, t.Logical)
	}
	for _, w := range walks {
		for i := range w.Branches {
			complete(&w.Branches[i].Through)
			w.Branches[i].Verdict.complete()
		}
		for _, d := range w.Directions() {
			d.complete()
		}
	}
}

func complete[T any](list *[]T) {
	if *list == nil {
		*list = []T{}
	}
}

func (v *Verdict) complete() {
	complete(&v.Near)
	complete(&v.Allowed)
	complete(&v.Assumptions)
	if v.Rule != nil {
		complete(&v.Rule.Decided)
	}
	for i := range v.Near {
		complete(&v.Near[i].Decided)
	}
}

func (d *Direction) complete() {
	d.Verdict.complete()
	complete(&d.Hops)
	for i := range d.Hops {
		complete(&d.Hops[i].Steps)
		for j := range d.Hops[i].Steps {
			s := &d.Hops[i].Steps[j]
			complete(&s.Actions)
			complete(&s.Decoded)
			complete(&s.Decided)
			complete(&s.Changes)
			complete(&s.Notes)
		}
	}
}

// Request is the question: which packet was followed.
type Request struct {
	From       Endpoint `json:"from"`
	To         Endpoint `json:"to"`
	Protocol   string   `json:"protocol"` // icmp, tcp, udp
	Port       int      `json:"port"`     // destination port; 0 for icmp
	SourcePort int      `json:"sourcePort"`
	Family     int      `json:"family"`            // 4 or 6
	State      string   `json:"state"`             // assumed conntrack state of the forward packet: "new"
	Length     int      `json:"length,omitempty"`  // of the packet in bytes, if given
	DSCP       int      `json:"dscp,omitempty"`    // of the packet, if given
	Backend    string   `json:"backend,omitempty"` // the only one to follow, if given
}

// Endpoint is one end of a trace, as its name was resolved.
type Endpoint struct {
	Text     string `json:"text"` // as given
	Kind     string `json:"kind"` // pod, vm, port, router port, node, service, nat, external
	Name     string `json:"name"`
	Port     string `json:"port"` // logical port, empty if it has none
	MAC      string `json:"mac"`
	Address  string `json:"address"`
	Datapath string `json:"datapath"` // logical switch
	Node     string `json:"node"`
}

// Branch is the path through one of several backends or next hops.
type Branch struct {
	Backend string     `json:"backend"` // address and port; empty if no load balancer chose
	Through []string   `json:"through"` // what else was chosen, in words: "next hop 2 of 3 of router r1"
	Verdict Verdict    `json:"verdict"` // of the round trip through this backend
	Forward *Direction `json:"forward"`
	Reply   *Direction `json:"reply"`
}

// Direction is the path of one packet, from where it starts to where it ends.
type Direction struct {
	Verdict  Verdict `json:"verdict"`
	Producer string  `json:"producer"` // OpenFlow or LogicalFlows
	State    string  `json:"state"`    // assumed connection state: "new", "est,rpl"
	Packet   string  `json:"packet"`
	Hops     []Hop   `json:"hops"`
	// Learned is where OVN drops the first packet of a client that it does not know, to learn the client's backend from it:
	// the hops are those of the client's next packet. Usually null.
	Learned *Learned `json:"learned,omitempty"`
}

// Learned is a stage of session affinity that drops a client's first packet.
type Learned struct {
	Node     string `json:"node"`
	Datapath string `json:"datapath"`
	Stage    string `json:"stage"`
	// Userspace is set if the node's datapath is known to be the userspace one: conntrack there translates what the client
	// sends again, so that OVN does not recognize it and drops it, too.
	Userspace bool `json:"userspace"`
}

// Producers of a Direction.
const (
	OpenFlow     = "openflow" // what each node's ovs-vswitchd does
	LogicalFlows = "logical"  // what the Southbound's logical flows expect
)

// Verdict is what became of a packet, and where.
type Verdict struct {
	Outcome  Outcome        `json:"outcome"`
	Sentence string         `json:"sentence"` // the verdict in words
	Node     string         `json:"node"`
	Datapath string         `json:"datapath"`
	Port     string         `json:"port"`
	Stage    string         `json:"stage"`
	Cause    string         `json:"cause"`  // what stopped it, in words; empty when delivered
	Object   *decode.Object `json:"object"` // the deciding row, null if none
	// Because is the cause as a value; Cause and the stage of a [Place] are derived from it last.
	Because Cause `json:"-"`
	// Rule is the logical flow that stopped the packet, and why it matched; null if it was delivered, or if none did.
	Rule *Rule `json:"rule"`
	// Near are the flows that come nearest to letting it pass, nearest first, with what of their matches failed.
	Near    []Rule          `json:"near"`
	Allowed []decode.Object `json:"allowed"` // for a delivered packet: what let it pass
	// Assumptions, for a delivered packet, are what could not be looked at on its path.
	Assumptions []Assumption `json:"assumptions"`
	// Partial is set if some of several backends or next hops work and others do not.
	Partial bool `json:"partial"`
	// WhyNot are the changes that would let it pass, smallest first; only on request.
	WhyNot []Remedy `json:"whyNot,omitempty"`
}

// Decided is a part of a match that decided.
type Decided struct {
	Start int    `json:"start"` // byte offset in the match, for underlining
	End   int    `json:"end"`
	Text  string `json:"text"` // that part of the match
	Holds bool   `json:"holds"`
	Words string `json:"words"` // what was found: "ip4.src is 10.244.1.6, which is not in $a123 (Namespace shop)"
}

// Rule is a logical flow with the object that it was made for.
type Rule struct {
	Object   *decode.Object `json:"object"`
	Stage    string         `json:"stage"`
	Priority int            `json:"priority"`
	Match    string         `json:"match"`
	Decided  []Decided      `json:"decided"`
}

// Remedy is a change that would let the packet pass.
type Remedy struct {
	Text     string         `json:"text"`     // in the terms of the CMS that manages the object
	Command  string         `json:"command"`  // filled in; empty if there is none
	Object   *decode.Object `json:"object"`   // what is changed, null for something new
	Verified bool           `json:"verified"` // the walk was repeated with the change and the packet passed
}

// Hop is one datapath, bridge, tunnel or host that the packet crosses.
type Hop struct {
	Node     string         `json:"node"`
	Datapath string         `json:"datapath"` // logical switch or router, bridge, or the host's name
	Kind     string         `json:"kind"`     // switch, router, bridge, tunnel, host
	From     string         `json:"from"`     // the port it enters by, if known
	To       string         `json:"to"`       // the port it leaves by, if known
	Tunnel   *Encapsulation `json:"tunnel"`   // null unless Kind is tunnel
	Steps    []Step         `json:"steps"`
	// Row is the Northbound row of a switch or router; empty for other kinds and if unknown. Unlike Datapath it is the same
	// in both paths of a trace. It is not printed.
	Row string `json:"-"`
}

// Place identifies where a hop is, in either path of a trace: by the datapath's row, else by its name.
func (h *Hop) Place() string { return cmp.Or(h.Row, h.Datapath) }

// Encapsulation is what a packet carries in a tunnel between nodes.
type Encapsulation struct {
	Type     string `json:"type"` // geneve, vxlan
	Source   string `json:"source"`
	Remote   string `json:"remote"` // address it is sent to
	Chassis  string `json:"chassis"`
	Key      uint64 `json:"key"`      // VNI
	Datapath string `json:"datapath"` // what the key means
	Inport   string `json:"inport"`   // what the option carries, empty for VXLAN
	Outport  string `json:"outport"`
}

// Step is one table that decided something about the packet.
type Step struct {
	Pipeline string              `json:"pipeline"` // ingress, egress, physical, host
	Stage    string              `json:"stage"`    // of the logical flow, or the table's role in OVN's OpenFlow
	Table    int                 `json:"table"`    // OpenFlow table; -1 outside of OpenFlow
	Priority int                 `json:"priority"`
	Match    string              `json:"match"` // in OpenFlow syntax
	Actions  []string            `json:"actions"`
	Cookie   string              `json:"cookie"`  // 0x and eight digits; empty for 0
	Logical  *decode.LogicalFlow `json:"logical"` // the logical flow behind it, null when unknown
	Object   *decode.Object      `json:"object"`  // the Northbound object behind it, null if there is none
	Decoded  []string            `json:"decoded"` // the numbers in match and actions that have names
	Decided  []Decided           `json:"decided"` // the parts of Logical.Match that the hit rests on
	Changes  []string            `json:"changes"` // the fields that a logical flow wrote: "reg0 = 0x1"
	Notes    []string            `json:"notes"`   // what the step did to the packet, in words
	// Counter is what the flow counted while the path was watched; only on request, and if there is a flow.
	Counter *Counter `json:"counter,omitempty"`
	// Before is the packet as it came to the table; nil if unknown. It is not printed.
	Before *packet.Flow `json:"-"`
}

// A Document is a trace in JSON and YAML.
type Document struct {
	document.Envelope
	*Trace
}
