package ovs

import (
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A Walk is what one node's bridges do with a packet: every place where a copy of it ends or leaves.
type Walk struct {
	Leaves []Leaf
	// Requests are the traces requested from ovs-vswitchd, each a command and its arguments.
	Requests [][]string
}

// LeafKind is how a copy of the packet ends on a node.
type LeafKind string

// Kinds of leaves.
const (
	ToPort       LeafKind = "port"        // it leaves on a port
	ToTunnel     LeafKind = "tunnel"      // it leaves encapsulated
	FromTunnel   LeafKind = "from-tunnel" // Open vSwitch takes it for its tunnels, instead of passing it to the host
	ToController LeafKind = "controller"  // a controller action consumes it
	Dropped      LeafKind = "drop"        // no action sends it anywhere
	Failed       LeafKind = "failed"      // Open vSwitch gives up on it
	Unknown      LeafKind = "unknown"     // an action that is not understood may send it anywhere
)

// A Leaf is one place where the packet, or a copy of it, leaves the bridges of a node.
type Leaf struct {
	Kind   LeafKind
	Bridge string
	Port   packet.PortID // with ToPort and ToTunnel
	Remote netip.Addr    // with ToTunnel: the destination, if the reply has it
	// Unresolved, with ToTunnel: ovs-vswitchd does not know the MAC address on the path to Remote. It asks for it and
	// drops the packet; the next one passes.
	Unresolved bool
	// Via and Outer, with ToTunnel where Open vSwitch itself encapsulates: the port that the outer packet comes from, and
	// the packet as far as the reply has it.
	Via   string
	Outer packet.Flow
	// Packet is the packet as it leaves; with ToTunnel, tun_id and tun_metadata are what the tunnel carries.
	Packet packet.Flow
	// Userdata is the data of controller actions on the path. With ToController, the last one consumes the packet; with
	// Dropped, one of them may be the packet's only effect.
	Userdata [][]byte
	Reason   string // with Failed, and with Dropped if Open vSwitch gives one
	// Remarks, with Dropped, are what Open vSwitch says of the outputs that led nowhere.
	Remarks []string
	Steps   []Step // from where the walk began
}

// A Step is one table lookup on the path of the packet, and what its actions did.
type Step struct {
	*openflow.Step
	Bridge  string
	Aside   bool // a lookup that only sets fields and returns, as in OVN's helper tables
	Actions []string
	Parsed  openflow.Actions // those of Actions that could be parsed
	// Resubmits are the tables that the actions look up, in order.
	Resubmits []int
	Before    packet.Flow // the packet as it came to the table
	// Tracked is what conntrack did with the packet in this step.
	Tracked []Tracking
}

// Tracking is one ct action as conntrack executes it.
type Tracking struct {
	Zone     Zone
	State    uint32       // ct_state
	From, To packet.Tuple // differ if the packet is translated
	Commit   bool
	Full     bool // the connection would have been committed, but the zone takes none
}
