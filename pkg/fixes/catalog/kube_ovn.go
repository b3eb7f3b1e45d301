package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// Priorities of the routing policies that kube-ovn writes on its default router.
const (
	kubeSubnetPolicy  = 31000 // to a subnet: as the routes say
	kubeNodePolicy    = 30000 // to a node's own address: through its ovn0
	kubeGatewayPolicy = 29000 // from a subnet to anywhere else: through the gateway node's ovn0
)

const kubeVendor = "kube-ovn"

// A KubeOVN is kube-ovn's default VPC in a Northbound: the router, the join switch with a port for each node, and the
// subnets behind the router.
type KubeOVN struct {
	Router  nb.LogicalRouter
	Join    nb.LogicalSwitch
	Nodes   []KubeNode
	Subnets []KubeSubnet
	Gaps    []KubeGap

	zone    *snapshot.Zone
	d       *snapshot.Deployment
	rows    *snapshot.Northbound
	lists   *snapshot.AccessLists
	sb      *snapshot.Southbound
	ports   map[ovsdb.UUID]*nb.LogicalSwitchPortBrief
	binding map[string]*sb.PortBindingBrief // by logical port
	chassis map[ovsdb.UUID]*sb.Chassis
	nodeOf  map[ovsdb.UUID]string // Chassis to node name
	groups  map[string]*nb.PortGroup
	joinNet map[int]netip.Prefix // the router's address on the join switch, by family

	policies  []nb.Policy // of the default router
	byMatch   map[string]nb.Policy
	ofNode    map[nodeFamily]int // policies 30000 in policies, by the node they name
	toHop     map[netip.Addr]int // and those that name none, by next hop
	mentioned map[string]bool    // nodes named in a policy
	acls      map[ovsdb.UUID]*nb.ACLBrief
	encaps    map[nodeFamily]netip.Addr // by chassis name
	hosts     map[string]*sb.Chassis    // by hostname
	own       map[string]bool           // addresses of pods with their own NAT or route
}

// A nodeFamily is a node, or a chassis, and 4 or 6.
type nodeFamily struct {
	name   string
	family int
}

// A KubeNode is a node of the cluster, by its port on the join switch.
type KubeNode struct {
	Name string
	Port *nb.LogicalSwitchPortBrief // node-NAME; nil if missing
	MAC  string
	IPs  map[int]netip.Addr // by family
	// Bound means its ovn0 is, or was, attached somewhere.
	Bound bool

	chassis *sb.Chassis // nil if none has its name
}

// A KubeSubnet is a switch behind the default router.
type KubeSubnet struct {
	Name  string
	CIDRs map[int]netip.Prefix // by family
	// Underlay means it has a localnet port, kube-ovn's "vlan".
	Underlay bool
	// Distributed: egress traffic goes through the pod's node; Centralized: through gateway nodes. Neither: kube-ovn
	// has written no route out.
	Distributed, Centralized bool

	ls    nb.LogicalSwitch
	join  bool // the join switch, which needs only a policy 31000
	known bool // kube-ovn has written policies for it
}

// ErrNoKubeOVN means that a Northbound is not kube-ovn's.
var ErrNoKubeOVN = errors.New("no router of kube-ovn in OVN_Northbound")

// ReadKubeOVN reads what kube-ovn has written in a zone, and finds what is missing.
func ReadKubeOVN(d *snapshot.Deployment, z *snapshot.Zone) (*KubeOVN, error) {
	k := &KubeOVN{zone: z, d: d}
	var err error
	if k.rows, err = z.Northbound(); err != nil {
		return nil, err
	}
	links := k.links()
	if !k.findRouter(links) {
		return nil, ErrNoKubeOVN
	}
	if k.lists, err = z.AccessLists(); err != nil {
		return nil, err
	}
	if k.sb, err = z.Southbound(); err != nil {
		return nil, err
	}
	k.index()
	k.findNodes()
	k.findSubnets(links)
	k.findGaps()
	return k, nil
}

// IsKubeOVN reports whether a Northbound is kube-ovn's.
func isKubeOVN(rows *snapshot.Northbound) bool {
	return slices.ContainsFunc(rows.Routers, func(r nb.LogicalRouter) bool { return r.ExternalIDs["vendor"] == kubeVendor })
}

// A kubeLink is a switch connected to a router.
type kubeLink struct {
	ls  *nb.LogicalSwitch
	lrp *nb.LogicalRouterPort
}

// links returns the switches connected to each router of kube-ovn.
func (k *KubeOVN) links() map[ovsdb.UUID][]kubeLink {
	l := facts.NewLogical(k.rows)
	k.ports = snapshot.Index(k.rows.SwitchPorts, func(p *nb.LogicalSwitchPortBrief) ovsdb.UUID { return p.UUID })
	out := map[ovsdb.UUID][]kubeLink{}
	for _, r := range k.rows.Routers {
		if r.ExternalIDs["vendor"] != kubeVendor {
			continue
		}
		for _, lrp := range l.RouterPortsOf[r.UUID] {
			if ls := l.SwitchAt(lrp.Name); ls != nil {
				out[r.UUID] = append(out[r.UUID], kubeLink{ls, lrp})
			}
		}
	}
	return out
}

// findRouter finds the default router: the one connected to the join switch. The join switch is called "join", or as
// configured: then it is the one with ports node-….
func (k *KubeOVN) findRouter(links map[ovsdb.UUID][]kubeLink) bool {
	isJoin := func(l kubeLink) bool {
		if l.ls.Name == "join" {
			return true
		}
		return slices.ContainsFunc(l.ls.Ports, func(u ovsdb.UUID) bool {
			p := k.ports[u]
			return p != nil && strings.HasPrefix(p.Name, "node-") && p.ExternalIDs["pod"] == "" && strings.Count(p.Name, ".") == 0
		})
	}
	for _, r := range k.rows.Routers {
		for _, l := range links[r.UUID] {
			if isJoin(l) {
				k.Router, k.Join = r, *l.ls
				k.joinNet = prefixes(l.lrp.Networks)
				return true
			}
		}
	}
	return false
}

func (k *KubeOVN) index() {
	k.binding = snapshot.Index(k.sb.PortBindings, func(b *sb.PortBindingBrief) string { return b.LogicalPort })
	k.chassis = snapshot.Index(k.sb.Chassis, func(c *sb.Chassis) ovsdb.UUID { return c.UUID })
	k.groups = snapshot.Index(k.lists.PortGroups, func(g *nb.PortGroup) string { return g.Name })
	k.acls = snapshot.Index(k.lists.ACLs, func(a *nb.ACLBrief) ovsdb.UUID { return a.UUID })
	k.nodeOf, k.hosts, k.encaps = map[ovsdb.UUID]string{}, map[string]*sb.Chassis{}, map[nodeFamily]netip.Addr{}
	for i := range k.sb.Chassis {
		c := &k.sb.Chassis[i]
		if c.OtherConfig["is-remote"] == "true" {
			continue
		}
		k.nodeOf[c.UUID] = c.Hostname
		if k.hosts[c.Hostname] == nil {
			k.hosts[c.Hostname] = c
		}
	}
	for _, e := range k.sb.Encaps {
		if a, err := netip.ParseAddr(e.IP); err == nil && !k.encaps[nodeFamily{e.ChassisName, family(a)}].IsValid() {
			k.encaps[nodeFamily{e.ChassisName, family(a)}] = a
		}
	}
	k.indexPolicies()
	k.own = k.ownEgress()
}

func (k *KubeOVN) indexPolicies() {
	of := map[ovsdb.UUID]bool{}
	for _, u := range k.Router.Policies {
		of[u] = true
	}
	k.byMatch, k.ofNode, k.toHop, k.mentioned = map[string]nb.Policy{}, map[nodeFamily]int{}, map[netip.Addr]int{}, map[string]bool{}
	for _, p := range k.rows.Policies {
		if !of[p.UUID] {
			continue
		}
		k.policies = append(k.policies, p)
		k.byMatch[policyKey(p.Priority, p.Match)] = p
		i := len(k.policies) - 1
		node := p.ExternalIDs["node"]
		if p.ExternalIDs["vendor"] == kubeVendor {
			k.mentioned[node] = true
		}
		a, ok := matchAddress(p.Match)
		if p.Priority != kubeNodePolicy || !ok {
			continue
		}
		if node != "" {
			if _, there := k.ofNode[nodeFamily{node, family(a)}]; !there {
				k.ofNode[nodeFamily{node, family(a)}] = i
			}
			continue
		}
		for _, hop := range p.Nexthops {
			if h, err := netip.ParseAddr(hop); err == nil {
				k.toHop[h] = i
			}
		}
	}
}

// findNodes lists the nodes with a port on the join switch, and those that lost it: chassis with pods.
func (k *KubeOVN) findNodes() {
	seen := map[string]bool{}
	for _, u := range k.Join.Ports {
		p := k.ports[u]
		if p == nil || p.Type != "" || !strings.HasPrefix(p.Name, "node-") {
			continue
		}
		n := KubeNode{Name: strings.TrimPrefix(p.Name, "node-"), Port: p}
		n.MAC, n.IPs = kubeAddresses(p.Addresses)
		if b := k.binding[p.Name]; b != nil && len(b.Chassis) > 0 {
			n.Bound, n.chassis = true, k.chassis[b.Chassis.Get()]
			k.nodeOf[b.Chassis.Get()] = n.Name
		}
		if n.chassis == nil {
			n.chassis = k.hosts[n.Name]
		}
		seen[n.Name] = true
		k.Nodes = append(k.Nodes, n)
	}
	pods := map[ovsdb.UUID]bool{} // chassis with pods
	for _, p := range k.rows.SwitchPorts {
		if b := k.binding[p.Name]; b != nil && p.ExternalIDs["pod"] != "" && len(b.Chassis) > 0 {
			pods[b.Chassis.Get()] = true
		}
	}
	for i := range k.sb.Chassis {
		c := &k.sb.Chassis[i]
		if name := k.nodeOf[c.UUID]; name != "" && !seen[name] && (pods[c.UUID] || k.mentions(name)) {
			k.Nodes = append(k.Nodes, KubeNode{Name: name, chassis: c})
		}
	}
	slices.SortFunc(k.Nodes, func(a, b KubeNode) int { return cmp.Compare(a.Name, b.Name) })
}

// mentions reports whether kube-ovn has written anything else for a node.
func (k *KubeOVN) mentions(node string) bool {
	return k.mentioned[node] || k.groups["node."+dotted(node)] != nil
}

func (k *KubeOVN) findSubnets(links map[ovsdb.UUID][]kubeLink) {
	policies := map[string][]nb.Policy{} // by their subnet
	for _, p := range k.policies {
		if p.ExternalIDs["isU2ORoutePolicy"] != "true" && p.ExternalIDs["vendor"] == kubeVendor {
			policies[p.ExternalIDs["subnet"]] = append(policies[p.ExternalIDs["subnet"]], p)
		}
	}
	grouped := map[string]bool{} // subnets with port groups of nodes
	for _, g := range k.lists.PortGroups {
		if g.ExternalIDs["node"] != "" && g.ExternalIDs["vendor"] == kubeVendor {
			grouped[g.ExternalIDs["subnet"]] = true
		}
	}
	for _, l := range links[k.Router.UUID] {
		join := l.ls.UUID == k.Join.UUID
		if !join && l.ls.ExternalIDs["vendor"] != kubeVendor || len(l.lrp.GatewayChassis) > 0 || len(l.lrp.HAChassisGroup) > 0 {
			continue
		}
		s := KubeSubnet{Name: l.ls.Name, ls: *l.ls, join: join, CIDRs: map[int]netip.Prefix{}}
		for f, p := range prefixes(l.lrp.Networks) {
			s.CIDRs[f] = p.Masked()
		}
		for _, u := range l.ls.Ports {
			s.Underlay = s.Underlay || k.ports[u] != nil && k.ports[u].Type == "localnet"
		}
		for _, p := range policies[s.Name] {
			s.known = true
			switch {
			case p.Priority != kubeGatewayPolicy:
			case strings.Contains(p.Match, "$"):
				s.Distributed = true
			default:
				s.Centralized = true
			}
		}
		if grouped[s.Name] {
			s.Distributed, s.known = true, true
		}
		s.Distributed = s.Distributed && !s.Centralized
		k.Subnets = append(k.Subnets, s)
	}
	slices.SortFunc(k.Subnets, func(a, b KubeSubnet) int { return cmp.Compare(a.Name, b.Name) })
}

// dotted returns a name as it appears in a port group's name.
func dotted(name string) string { return strings.ReplaceAll(name, "-", ".") }

// prefixes returns the first address with prefix length of each family.
func prefixes(networks []string) map[int]netip.Prefix {
	out := map[int]netip.Prefix{}
	for _, s := range networks {
		if p, err := netip.ParsePrefix(s); err == nil && !out[family(p.Addr())].IsValid() {
			out[family(p.Addr())] = p
		}
	}
	return out
}

func family(a netip.Addr) int {
	if a.Is4() {
		return 4
	}
	return 6
}

var families = []int{4, 6}

// kubeAddresses parses "MAC IP IP".
func kubeAddresses(addresses []string) (string, map[int]netip.Addr) {
	ips := map[int]netip.Addr{}
	var mac string
	for _, s := range addresses {
		for i, w := range strings.Fields(s) {
			a, err := netip.ParseAddr(w)
			switch {
			case err == nil:
				ips[family(a)] = a
			case i == 0:
				mac = w
			}
		}
	}
	return mac, ips
}

// A KubeNodeAddress is an address by which a node is known.
type KubeNodeAddress struct {
	Node   string
	Addr   netip.Addr
	Source string
}

// NodeAddresses returns the nodes' own addresses, from kube-ovn's policies and the tunnels.
func (k *KubeOVN) NodeAddresses() []KubeNodeAddress {
	var out []KubeNodeAddress
	for i := range k.Nodes {
		n := &k.Nodes[i]
		for _, f := range families {
			if p, ok := k.nodePolicy(n, f); ok {
				a, _ := matchAddress(p.Match)
				out = append(out, KubeNodeAddress{n.Name, a, fmt.Sprintf("Northbound Logical_Router_Policy %.8s", p.UUID)})
			}
			if a := k.encap(n.chassis, f); a.IsValid() {
				out = append(out, KubeNodeAddress{n.Name, a, "Southbound Encap of " + n.Name})
			}
		}
	}
	return out
}

// LinkOf returns a host's link to the join switch.
func (k *KubeOVN) LinkOf(h *snapshot.Host) string {
	if s, err := h.Switch(); err == nil {
		for _, i := range s.Interfaces {
			if strings.HasPrefix(i.ExternalIDs["iface-id"], "node-") && i.Type == "internal" {
				return i.Name
			}
		}
	}
	return "ovn0"
}

// Sizes of a bridge's MAC table: Open vSwitch's default, and enough for a large provider network.
const (
	defaultMACTable = 8192
	largeMACTable   = 50000
)

// How long flows are kept: twice what the last ones took to compute, as ovn-controller(8) recommends, within these
// limits. If unknown, long enough for a large deployment.
const (
	leastKeep   = 2 * time.Second
	mostKeep    = 40 * time.Second // fixes.Await waits for a minute
	unknownKeep = 8 * time.Second
)
