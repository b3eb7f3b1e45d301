// Package journey holds the answer of a trace as values: the way of a packet over nodes, datapaths
// and tables, and what became of it. It is the JSON contract of kind Trace (docs/json.md); whoever
// computes a way fills it and whoever shows a way reads it.
package journey

// Outcome says what became of a packet.
type Outcome string

// The outcomes, from the best to the worst: see [Worst].
const (
	Delivered Outcome = "delivered" // it left on the interface of its destination
	Rejected  Outcome = "rejected"  // it was answered by a reset or an unreachable
	Consumed  Outcome = "consumed"  // a controller action takes the packet
	Dropped   Outcome = "dropped"
	Unknown   Outcome = "unknown" // something on the way could not be read
)

// Worst returns the outcome that stands for both. A way that is known to fail is worse than one that
// is not known.
func Worst(a, b Outcome) Outcome {
	rank := map[Outcome]int{Delivered: 0, Unknown: 1, Consumed: 2, Rejected: 3, Dropped: 4}
	if rank[a] >= rank[b] {
		return a
	}
	return b
}

// Trace is the way of a packet and of its reply.
type Trace struct {
	Request Request `json:"request"`
	// Verdict is that of the round trip; with several backends, the worst of them.
	Verdict Verdict `json:"verdict"`
	// Forward and Reply are null when Branches is not empty: each branch has its own. Reply is null
	// too when the packet did not arrive, so that nothing answers.
	Forward *Direction `json:"forward"`
	Reply   *Direction `json:"reply"`
	// Branches holds one way for each backend when a load balancer chooses between several.
	Branches []Branch `json:"branches"`
	// Next is the command to run next, filled in; empty on success.
	Next []string `json:"next"`
	// Commands are the classic commands that show the same; only when asked for.
	Commands []string `json:"commands,omitempty"`
}

// Request is the question: which packet was followed.
type Request struct {
	From       Endpoint `json:"from"`
	To         Endpoint `json:"to"`
	Protocol   string   `json:"protocol"` // icmp, tcp, udp
	Port       int      `json:"port"`     // destination port; 0 for icmp
	SourcePort int      `json:"sourcePort"`
	Family     int      `json:"family"` // 4 or 6
	State      string   `json:"state"`  // what conntrack was taken to say of the forward packet: "new"
}

// Endpoint is one end of a trace as the question's name was understood.
type Endpoint struct {
	Text     string `json:"text"` // as it was asked
	Kind     string `json:"kind"` // pod, port, node, service, external
	Name     string `json:"name"`
	Port     string `json:"port"` // logical port, empty if it has none
	MAC      string `json:"mac"`
	Address  string `json:"address"`
	Datapath string `json:"datapath"` // logical switch
	Node     string `json:"node"`
}

// Branch is the way through one backend of a load balancer.
type Branch struct {
	Backend string     `json:"backend"` // address and port
	Verdict Verdict    `json:"verdict"` // of the round trip through this backend
	Forward *Direction `json:"forward"`
	Reply   *Direction `json:"reply"`
}

// Direction is the way of one packet, from where it starts to where it ends.
type Direction struct {
	Verdict Verdict `json:"verdict"`
	State   string  `json:"state"` // connection state the way was followed with: "new", "est,rpl"
	Packet  string  `json:"packet"`
	Hops    []Hop   `json:"hops"`
}

// Verdict says what became of a packet and where.
type Verdict struct {
	Outcome  Outcome `json:"outcome"`
	Sentence string  `json:"sentence"` // the verdict in words
	Node     string  `json:"node"`
	Datapath string  `json:"datapath"`
	Port     string  `json:"port"`
	Stage    string  `json:"stage"`
	Cause    string  `json:"cause"`  // what stopped it, in words; empty when delivered
	Object   *Object `json:"object"` // the row that decided, null when none did
}

// Hop is one datapath, bridge, tunnel or host that the packet crosses.
type Hop struct {
	Node     string         `json:"node"`
	Datapath string         `json:"datapath"` // logical switch or router, bridge, or the host's name
	Kind     string         `json:"kind"`     // switch, router, bridge, tunnel, host
	From     string         `json:"from"`     // the port it enters by, where known
	To       string         `json:"to"`       // the port it leaves by, where known
	Tunnel   *Encapsulation `json:"tunnel"`   // null unless Kind is tunnel
	Steps    []Step         `json:"steps"`
}

// Encapsulation is what a packet in a tunnel carries from node to node.
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
	Pipeline string   `json:"pipeline"` // ingress, egress, physical, host
	Stage    string   `json:"stage"`    // of the logical flow, or the table's part in OVN's OpenFlow
	Table    int      `json:"table"`    // OpenFlow table; -1 outside of OpenFlow
	Priority int      `json:"priority"`
	Match    string   `json:"match"` // as OpenFlow
	Actions  []string `json:"actions"`
	Cookie   string   `json:"cookie"`  // 0x and eight digits; empty for 0
	Logical  *Logical `json:"logical"` // the logical flow behind it, null when unknown
	Object   *Object  `json:"object"`  // the Northbound object behind it, null when there is none
	Decoded  []string `json:"decoded"` // the numbers of match and actions that have names
	Notes    []string `json:"notes"`   // what the step did to the packet
}

// Logical is the logical flow that a step was made from.
type Logical struct {
	UUID     string `json:"uuid"`
	Table    int    `json:"table"` // logical table
	Match    string `json:"match"`
	Actions  string `json:"actions"`
	Priority int    `json:"priority"`
}

// Object is a row of the Northbound (or Southbound) database that a step came from.
type Object struct {
	Kind  string `json:"kind"` // ACL, load balancer, NAT, route, policy, port, …
	Name  string `json:"name"`
	UUID  string `json:"uuid"`
	Owner string `json:"owner"` // what the CMS calls it: "NetworkPolicy shop/web"
	Text  string `json:"text"`  // in words
}
