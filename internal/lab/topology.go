package lab

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"slices"
)

// A Topology describes a lab. It is plain data: [Up] builds any of them.
type Topology struct {
	Name     string
	OVN      bool   // has central databases, ovn-northd, and ovn-controller on every node
	Bridge   string // the bridge that pods attach to on every node
	Nodes    []Node
	Pods     []Pod
	Services []Service
	// Routed maps networks to next hops for the underlay's router: Neutron needs that for IPv6.
	Routed map[netip.Prefix]netip.Addr
	// Ports are the TCP and UDP ports on which every host replies; none: those of the variable Ports.
	Ports []int
	// Saved is a saved deployment, a directory or archive as --offline reads: the hosts start with its databases, and
	// neither Northbound nor Vswitch add to them. Package replay makes such a topology.
	Saved string
	// Bound has, for each host with databases, the ports that were bound in the saved deployment, and the UUID of their
	// chassis: the lab is up when they are again.
	Bound map[string]map[string]string
	// Zones: each node has a Northbound, a Southbound and ovn-northd of its own, and there is no central host.
	Zones bool
	// Contents is what is written into the databases of zones, by node.
	Contents map[string]Zone
	// Underlay is what a saved deployment was attached to; zero: the underlay of the package's comment.
	Underlay Underlay

	// ACLTier is the tier of all ACLs, on releases that have tiers (OVN 23.06 and later).
	ACLTier int

	// Northbound is what the CMS would have written: ovn-nbctl commands, run as one transaction.
	Northbound [][]string
	// Newer holds commands that follow those of Northbound, by the table ("DHCP_Relay") or column ("ACL.tier") that
	// they need; those the release's schema lacks are left out.
	Newer map[string][][]string
}

// An Underlay is the network that the nodes' uplinks and the central host are on.
type Underlay struct {
	Central  netip.Addr     // address of the central host
	MAC      string         // MAC address of the underlay's router
	Routers  []netip.Prefix // its addresses, one in each network; the first is the nodes' own
	Outside6 netip.Addr     // IPv6 address of the internet host
}

// A Node is a host with Open vSwitch.
type Node struct {
	Name     string // also external_ids:hostname, and so Chassis.hostname
	SystemID string // external_ids:system-id, and so Chassis.name
	IPv4     netip.Prefix
	IPv6     netip.Prefix
	Encap    string // external_ids:ovn-encap-type

	// Gateway4 and Gateway6 are the addresses of the node's gateway router on the underlay, if it has one.
	Gateway4, Gateway6 netip.Addr

	Uplinks []Uplink // none: eth0

	// Vswitch configures Open vSwitch: ovs-vsctl commands, run as one transaction.
	Vswitch [][]string
	// OpenFlow holds, by bridge, flows for ovs-ofctl add-flows, for bridges that ovn-controller leaves alone.
	OpenFlow map[string][]string
	// Interfaces holds the OpenFlow port of each interface that OpenFlow names by number.
	Interfaces map[string]int
	// Network gives the host its addresses and routes: shell commands, run in its namespace once the bridges exist.
	Network []string
}

// An Uplink is a physical interface of a node, on the underlay.
type Uplink struct {
	Name string
	MAC  string // empty: any
}

// A Pod is a network namespace with an interface on a node's bridge, or a further interface of another pod.
type Pod struct {
	Name      string // the logical switch port, or on plain OVS the port name
	In        string // the pod whose further interface this is; empty: it has a namespace of its own
	Device    string // the interface's name in the namespace; empty: eth0
	Namespace string
	Pod       string
	Node      string
	Link      string // the node's end of the veth pair
	MAC       string
	IPv4      netip.Prefix
	IPv6      netip.Prefix // zero if none
	Gateway4  netip.Addr   // zero if no default route
	Gateway6  netip.Addr
	OnLink    []netip.Prefix    // networks reached without a gateway, besides its own
	Virtual   []netip.Addr      // addresses it holds for a virtual port
	Interface map[string]string // external_ids of the Interface row
	OFPort    int               // requested OpenFlow port; 0: any
}

// A Service is a virtual address with the pods behind it.
type Service struct {
	Name     string // namespace/name
	Protocol string // tcp or udp
	VIP4     netip.Addr
	VIP6     netip.Addr
	Port     int
	Target   int      // the port on the pods
	NodePort int      // port on the gateway routers' addresses; 0 if none
	Backends []string // names of pods; none: the service has no endpoints
}

// Ports are the TCP and UDP ports on which hosts reply, unless the topology has its own.
var Ports = []int{8080, 9090}

// Addresses of the underlay. The fabric is its router and routes to the internet host.
var (
	UnderlayGateway4 = netip.MustParseAddr("172.30.0.1")
	UnderlayGateway6 = netip.MustParseAddr("fd00:172:30::1")
	// UnderlayMAC is the gateway's, unless a topology has another one.
	UnderlayMAC = "02:00:ac:1e:00:01"
	Internet4   = netip.MustParseAddr("203.0.113.10")
	Internet6   = netip.MustParseAddr("2001:db8:113::10")
)

// Node returns the node of that name.
func (t Topology) Node(name string) (Node, bool) {
	i := slices.IndexFunc(t.Nodes, func(n Node) bool { return n.Name == name })
	if i < 0 {
		return Node{}, false
	}
	return t.Nodes[i], true
}

// Pod returns the pod of that name, which may also be written NAMESPACE/POD.
func (t Topology) Pod(name string) (Pod, bool) {
	i := slices.IndexFunc(t.Pods, func(p Pod) bool { return p.Name == name || p.Namespace+"/"+p.Pod == name })
	if i < 0 {
		return Pod{}, false
	}
	return t.Pods[i], true
}

// Service returns the service of that name (NAMESPACE/NAME) and protocol.
func (t Topology) Service(name, protocol string) (Service, bool) {
	i := slices.IndexFunc(t.Services, func(s Service) bool { return s.Name == name && s.Protocol == protocol })
	if i < 0 {
		return Service{}, false
	}
	return t.Services[i], true
}

// Topologies returns, by name, every topology whose parts are all in use; [Features] is separate.
func Topologies() map[string]Topology {
	all := map[string]Topology{}
	for _, t := range []Topology{OVNKubernetes(), KubeOVN(), OpenShiftSDN(), MixedEncapsulation(), OpenStack()} {
		all[t.Name] = t
	}
	return all
}

// underlayNode returns node i with a stable identity, its uplink in br-ex and its addresses on that bridge: the
// userspace datapath sends tunnelled packets only through its own bridges.
func underlayNode(i int) Node {
	name := fmt.Sprintf("node%d", i)
	ip := netip.AddrFrom4([4]byte{172, 30, 0, byte(10 + i)})
	return Node{
		Name:     name,
		SystemID: stableUUID("chassis " + name),
		IPv4:     netip.PrefixFrom(ip, 24),
		IPv6:     netip.MustParsePrefix(fmt.Sprintf("fd00:172:30::1%d/64", i)),
		Encap:    "geneve",
		Vswitch: [][]string{
			words("add-br br-ex"),
			words("set Bridge br-ex datapath_type=netdev fail_mode=standalone"),
			{"set", "Bridge", "br-ex", key("other_config", "hwaddr", privateMAC(ip))},
			words("br-set-external-id br-ex bridge-id br-ex"),
			words("br-set-external-id br-ex bridge-uplink eth0"),
			words("add-port br-ex eth0"),
		},
		Network: []string{
			fmt.Sprintf("ip addr add 172.30.0.%d/24 dev br-ex", 10+i),
			fmt.Sprintf("ip addr add fd00:172:30::1%d/64 dev br-ex nodad", i),
			"ip link set br-ex up",
			"ip route add default via " + UnderlayGateway4.String() + " dev br-ex",
			"ip -6 route add default via " + UnderlayGateway6.String() + " dev br-ex",
		},
	}
}

// stableUUID returns a version 4 shaped UUID that is the same for the same text in every run.
func stableUUID(text string) string {
	h := sha256.Sum256([]byte(text))
	h[6] = h[6]&0x0f | 0x40
	h[8] = h[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[0:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// privateMAC returns the MAC address that ovn-kubernetes derives from an IPv4 address.
func privateMAC(a netip.Addr) string {
	b := a.As4()
	return fmt.Sprintf("0a:58:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3])
}
