package journey

import (
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/decode"
)

// A Cause is what decided a verdict, as a value that decisions can rest on. Package trace/cause words it. Which fields
// are set depends on the kind.
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
	Address  netip.Addr // requested, sent to or missing
	Other    netip.Addr // that it has, sends from or was asked for
	Service  string     // "tcp 8080", "icmp"
	Traffic  *Traffic   // that no rule allows
	Workload Workload   // with Place InWorkload
	Inbound  bool       // with PortSecurity: the port receives
	Reply    Refusal    // what the sender is told
	Groups   string     // with Denied: the security groups that Port has, in words
	Detail   string     // other findings: an error, a flow's match, a route's type
}

// A Traffic identifies a connection.
type Traffic struct {
	Service  string // "tcp 8080", "icmp"
	Src, Dst netip.Addr
	From, To string // who has the addresses; empty if unknown
}

// A Place is where a packet ends beyond OVN and the bridges. Verdicts use it as their stage.
type Place string

// Values of Place.
const (
	InWorkload Place = "pod" // or VM
	OnHost     Place = "host"
	Outside    Place = "outside"
)

// A Workload is what is attached to a logical port.
type Workload string

// Values of Workload.
const (
	Pod   Workload = "pod"
	VM    Workload = "VM"
	Other Workload = "workload" // neither OVN nor the CMS knows what
)

// A Refusal is what the sender of a packet is told.
type Refusal uint8

// Values of Refusal.
const (
	Silent Refusal = iota
	TCPReset
	Unreachable
)

// A CauseKind is the kind of a cause.
type CauseKind string

// Causes from logical flows and the objects behind them.
const (
	Denied           CauseKind = "denied"      // by an ACL
	NotAllowed       CauseKind = "not-allowed" // by NB_Global options:default_acl_drop
	PortSecurity     CauseKind = "port-security"
	PortDisabled     CauseKind = "port-disabled"
	RouterDisabled   CauseKind = "router-disabled"
	NextHopDisabled  CauseKind = "next-hop-disabled"
	UnknownMAC       CauseKind = "unknown-mac" // no port of the switch has it
	WrongMAC         CauseKind = "wrong-mac"   // the router port has a different one
	NoRoute          CauseKind = "no-route"
	Discarded        CauseKind = "discarded" // by a routing policy or a discard route
	NoBackends       CauseKind = "no-backends"
	NoLocalBackends  CauseKind = "no-local-backends" // of a distributed load balancer, on the packet's chassis
	TTLExpired       CauseKind = "ttl-expired"
	TooLarge         CauseKind = "too-large"
	NextHopUnknown   CauseKind = "next-hop-unknown" // its MAC address
	Unbound          CauseKind = "unbound"
	SameOutport      CauseKind = "same-outport"
	NoPeer           CauseKind = "no-peer"
	NoTunnel         CauseKind = "no-tunnel"
	Controller       CauseKind = "controller"    // ovn-controller consumes the packet
	ByObject         CauseKind = "by-object"     // of another kind
	FlowUnread       CauseKind = "flow-unread"   // the packet may hit it
	ActionUnread     CauseKind = "action-unread" // of the flow that it hits
	FlowsTie         CauseKind = "flows-tie"     // and do different things
	PathTooLong      CauseKind = "path-too-long" // for the engine
	FlowDrops        CauseKind = "flow-drops"
	ConnectionUnseen CauseKind = "connection-unseen" // conntrack finds the packet invalid: it saw no packet that began the connection
	FlowEnds         CauseKind = "flow-ends"
	NoLogicalFlow    CauseKind = "no-logical-flow"
	NothingSendsItOn CauseKind = "nothing-sends-it-on"
)

// Causes from a node's flows and ovs-vswitchd.
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

// Causes that keep a packet from being sent or accepted.
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

// Causes beneath OVN: on the bridges, links and hosts that carry packets between nodes, and in workloads.
const (
	VLANMismatch   CauseKind = "vlan-mismatch"    // Link of Bridge is in VLAN Detail, and the packet is not
	VLANUnknown    CauseKind = "vlan-unknown"     // nothing on the host takes packets of VLAN Detail
	LeavesInVLAN   CauseKind = "leaves-in-vlan"   // VLAN Detail by Link, but the host has Address at MAC in VLAN Service
	RoutedOutside  CauseKind = "routed-outside"   // router Datapath sends Address of a pod out
	NoMapping      CauseKind = "no-mapping"       // Node has no bridge for network Detail of Port
	BondDown       CauseKind = "bond-down"        // no member of bond Link is enabled
	PortBlocked    CauseKind = "port-blocked"     // port Link of Bridge does not forward: Detail
	MirrorOutput   CauseKind = "mirror-output"    // port Link of Bridge is the output of mirror Detail
	ZoneFull       CauseKind = "zone-full"        // ct zone Detail on Node has reached its limit
	TableFull      CauseKind = "table-full"       // the conntrack table on Node has reached its limit
	TunnelNotTaken CauseKind = "tunnel-not-taken" // Open vSwitch takes no tunnel packets for Address on Bridge
	WrongNeighbour CauseKind = "wrong-neighbour"  // Address is sent to at MAC, but is at Detail
	SameMAC        CauseKind = "same-mac"         // Node and Chassis both have MAC
	Filtered       CauseKind = "filtered"         // by the packet filter: Detail
	IPsecBlocks    CauseKind = "ipsec-blocks"     // the kernel's policy Detail
	IPsecLacks     CauseKind = "ipsec-lacks"      // the association that the kernel's policy Detail needs
	NoARP          CauseKind = "no-arp"           // interface Link of the workload asks for no MAC addresses
	EchoIgnored    CauseKind = "echo-ignored"     // the workload or host answers no ping: sysctl Detail
	TTLRanOut      CauseKind = "ttl-ran-out"      // the packet's TTL; Detail is what it began with and why, if that is known
	NoChecksum     CauseKind = "no-checksum"      // what Port sends has no checksum of Detail: its kernel leaves that to Link, which adds none
	NobodyListens  CauseKind = "nobody-listens"   // on Service
	NobodyBehind   CauseKind = "nobody-behind"    // on Service, where the packet filter of the workload leads the packet: Detail
	SentElsewhere  CauseKind = "sent-elsewhere"   // by the packet filter of the workload, to Service: Detail
	OtherSource    CauseKind = "other-source"     // by its route to Address the workload sends from Other, which its port does not let pass
	OtherSourceNAT CauseKind = "other-source-nat" // the packet filter of the workload has it send from Other, which its port does not let pass: Detail
	NobodyAccepts  CauseKind = "nobody-accepts"   // what listens on Service has as many connections waiting as it has room for
	NotOnLink      CauseKind = "not-on-link"      // the workload takes Address for a neighbour, with Detail
	NoSuchGateway  CauseKind = "no-such-gateway"  // the workload has a route by Address, which nothing on its switch has
	OtherWorkload  CauseKind = "other-workload"   // Link carries Port, but behind it is the workload of Detail
	OtherMAC       CauseKind = "other-mac"        // the workload has MAC, not Detail
	SourceHeld     CauseKind = "source-held"      // the workload itself has Address, from which the packet comes
	OverRate       CauseKind = "over-rate"        // the packet is larger than the burst of Object
	QueueDrops     CauseKind = "queue-drops"      // the traffic control of Link: Detail
	LinkTooSmall   CauseKind = "link-too-small"   // the packet needs more than the MTU of Link: Detail
	ManagementDown CauseKind = "management-down"  // Link, the host's port on the overlay
)

// Causes between nodes, and outside.
const (
	OwnAddress      CauseKind = "own-address"    // Node itself has the tunnel address of another one, Address
	GatewaySilent   CauseKind = "gateway-silent" // Address, by which Node sends to Other, does not answer
	NoAnswer        CauseKind = "no-answer"      // Chassis asks for the MAC address of Address, and Node stops that, or does not answer: Detail
	TunnelOptions   CauseKind = "tunnel-options" // interface Link on Node has an option that the peer's does not: Detail
	NoTunnelNode    CauseKind = "no-tunnel-node"
	NoTunnelPort    CauseKind = "no-tunnel-port"
	NoTunnelRoute   CauseKind = "no-tunnel-route"
	NoUplink        CauseKind = "no-uplink"
	UplinkDown      CauseKind = "uplink-down"
	UplinkNotFound  CauseKind = "uplink-not-found"
	UplinkUnknown   CauseKind = "uplink-unknown"
	NotBalanced     CauseKind = "not-balanced" // a virtual IP leaves untranslated
	Isolated        CauseKind = "isolated"     // a pod's address leaves from an isolated network
	ReplyStrays     CauseKind = "reply-strays" // it leaves for the network outside
	NoRouteBack     CauseKind = "no-route-back"
	RouteBackUnsure CauseKind = "route-back-unknown"
	NobodyAnswers   CauseKind = "nobody-answers"
	NoRouteIn       CauseKind = "no-route-in"
)

// Causes for what could not be read.
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

// SaysOutcome reports whether a cause's sentence includes the packet's fate: "dropped by …".
func (k CauseKind) SaysOutcome() bool { return k == Denied || k == Discarded || k == ByObject }
