package journey

import (
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/decode"
)

// A Cause is what decided a verdict, as a value: decisions are taken on it. Package trace/cause words it. Which fields are
// set depends on the kind.
type Cause struct {
	Kind  CauseKind
	Place Place // empty within OVN and the bridges

	Object   *decode.Object // that decided
	Node     string
	Datapath string // logical switch or router, as OVN writes it: switch "node1"
	Port     string // logical port; of a bridge, its name there
	Link     string // interface, uplink or link of the kernel
	Bridge   string
	Chassis  string
	Table    string // "table 65", "ingress table 3"
	MAC      string
	Address  netip.Addr // that is asked for, sent to or missing
	Other    netip.Addr // that it has, sends from or was asked
	Service  string     // "tcp 8080", "icmp"
	Traffic  *Traffic   // that no rule allows
	Workload Workload   // with Place InWorkload
	Inbound  bool       // with PortSecurity: the port receives
	Reply    Refusal    // what the sender is told
	Detail   string     // what else was found: an error, the match of a flow, the type of a route
}

// A Traffic is what a connection is known by.
type Traffic struct {
	Service  string // "tcp 8080", "icmp"
	Src, Dst netip.Addr
	From, To string // whose the addresses are; empty where that is not known
}

// A Place is where a packet ends beyond OVN and the bridges. Verdicts have it as their stage.
type Place string

// The places.
const (
	InWorkload Place = "pod" // or VM
	OnHost     Place = "host"
	Outside    Place = "outside"
)

// A Workload is what is attached to a logical port.
type Workload string

// The workloads.
const (
	Pod   Workload = "pod"
	VM    Workload = "VM"
	Other Workload = "workload" // neither OVN nor the CMS says what
)

// A Refusal is what the sender of a packet is told.
type Refusal uint8

// The refusals.
const (
	Silent Refusal = iota
	TCPReset
	Unreachable
)

// A CauseKind is what sort of thing decided.
type CauseKind string

// What the logical flows and the objects behind them decide.
const (
	Denied           CauseKind = "denied"      // by an ACL
	NotAllowed       CauseKind = "not-allowed" // by NB_Global options:default_acl_drop
	PortSecurity     CauseKind = "port-security"
	PortDisabled     CauseKind = "port-disabled"
	RouterDisabled   CauseKind = "router-disabled"
	NextHopDisabled  CauseKind = "next-hop-disabled"
	UnknownMAC       CauseKind = "unknown-mac" // no port of the switch has it
	WrongMAC         CauseKind = "wrong-mac"   // the router port has another one
	NoRoute          CauseKind = "no-route"
	Discarded        CauseKind = "discarded" // by a routing policy or a route that says so
	NoBackends       CauseKind = "no-backends"
	TTLExpired       CauseKind = "ttl-expired"
	TooLarge         CauseKind = "too-large"
	NextHopUnknown   CauseKind = "next-hop-unknown" // its MAC address
	Unbound          CauseKind = "unbound"
	SameOutport      CauseKind = "same-outport"
	NoPeer           CauseKind = "no-peer"
	NoTunnel         CauseKind = "no-tunnel"
	Controller       CauseKind = "controller" // ovn-controller takes the packet
	ByObject         CauseKind = "by-object"  // of another kind
	FlowDrops        CauseKind = "flow-drops"
	FlowEnds         CauseKind = "flow-ends"
	NoLogicalFlow    CauseKind = "no-logical-flow"
	NothingSendsItOn CauseKind = "nothing-sends-it-on"
)

// What the flows of a node decide, and ovs-vswitchd.
const (
	MACNotInstalled CauseKind = "mac-not-installed"
	OpenFlowDrops   CauseKind = "openflow-drops"
	NoOpenFlow      CauseKind = "no-openflow"
	NoOutputFlow    CauseKind = "no-output-flow"
	OVSDrops        CauseKind = "ovs-drops"
	OVSGivesUp      CauseKind = "ovs-gives-up"
	ActionUnknown   CauseKind = "action-unknown"
	NotInDatabase   CauseKind = "not-in-database"
	NoEnd           CauseKind = "no-end"
	Loop            CauseKind = "loop"
	NoSuchBackend   CauseKind = "no-such-backend"
)

// What keeps a packet from being sent, or taken.
const (
	NoInterface     CauseKind = "no-interface"
	NoPortBinding   CauseKind = "no-port-binding"
	NoGateway       CauseKind = "no-gateway"
	NoOverlayPort   CauseKind = "no-overlay-port"
	NotInOVN        CauseKind = "not-in-ovn"
	WrongPort       CauseKind = "wrong-port" // it does not have the address
	LinkDown        CauseKind = "link-down"
	WrongSource     CauseKind = "wrong-source" // of a reply
	AddressMissing  CauseKind = "address-missing"
	OtherInterface  CauseKind = "other-interface"
	RouteRefuses    CauseKind = "route-refuses"
	NotForwarding   CauseKind = "not-forwarding"
	NotForHost      CauseKind = "not-for-host"
	NotIP           CauseKind = "not-ip"
	NeighbourFailed CauseKind = "neighbour-failed"
	NeighbourUnread CauseKind = "neighbour-unread"
)

// What lies between nodes, and outside.
const (
	NoTunnelNode    CauseKind = "no-tunnel-node"
	NoTunnelPort    CauseKind = "no-tunnel-port"
	NoTunnelRoute   CauseKind = "no-tunnel-route"
	NoUplink        CauseKind = "no-uplink"
	UplinkDown      CauseKind = "uplink-down"
	UplinkNotFound  CauseKind = "uplink-not-found"
	UplinkUnknown   CauseKind = "uplink-unknown"
	NotBalanced     CauseKind = "not-balanced" // a virtual IP leaves untranslated
	Isolated        CauseKind = "isolated"     // a pod's address leaves: its network is another
	ReplyStrays     CauseKind = "reply-strays" // it leaves for the network outside
	NoRouteBack     CauseKind = "no-route-back"
	RouteBackUnsure CauseKind = "route-back-unknown"
	NobodyAnswers   CauseKind = "nobody-answers"
	NoRouteIn       CauseKind = "no-route-in"
)

// What could not be read.
const (
	NodeUnread         CauseKind = "node-unread"
	NodeNotFound       CauseKind = "node-not-found"
	ChassisUnreachable CauseKind = "chassis-unreachable"
	VswitchdSilent     CauseKind = "vswitchd-silent"
	NotRecorded        CauseKind = "not-recorded"
	HostUnread         CauseKind = "host-unread"
	SourceUnread       CauseKind = "source-unread"
	LogicalUnread      CauseKind = "logical-unread"
	FlowsUnread        CauseKind = "flows-unread"
	ZoneUnread         CauseKind = "zone-unread"
	ChassisUnread      CauseKind = "chassis-unread"
	ChassisUnknown     CauseKind = "chassis-unknown"
	ParentNotFound     CauseKind = "parent-not-found"
	MACUnread          CauseKind = "mac-unread"
)

// SaysOutcome reports whether the sentence of a cause says what became of the packet: "dropped by …".
func (k CauseKind) SaysOutcome() bool { return k == Denied || k == Discarded || k == ByObject }
