package topology

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
)

// A Graph is a Topology with indexes for lookups. It is immutable after Load and safe for concurrent reads.
type Graph struct {
	Topology
	// Notes lists what could not be read and what is inconsistent.
	Notes []string
	// Zones are the names of the zones read, in order.
	Zones []string

	byUUID      map[string]any     // any object of the Topology
	switches    map[string]*Switch // by UUID
	routers     map[string]*Router // by UUID
	portsByName map[string][]*Port // remote ones last
	portsByPod  map[string][]*Port // by NAMESPACE/NAME
	portsByAddr map[netip.Addr][]*Port
	datapaths   map[datapathKey]string // UUID of the switch or router
	portKeys    map[portKey]*Port
	chassis     map[string]*Chassis       // by name
	nodes       map[string]*Node          // by name
	bridges     map[string]*bridgesHeld   // by node
	onSwitch    map[string][]*Port        // by the switch's UUID
	onRouter    map[string][]*Port        // by the router's UUID
	routersOn   map[string][]*Port        // router ports peered with a switch's ports, by the switch's UUID
	subnets     map[string][]netip.Prefix // of a switch, by its UUID
	owned       []*owned                  // by name
	ownedBy     map[decode.Owner]*owned
	defaultDeny map[string]*rowSet // rows that deny what no NetworkPolicy allows, by namespace
	namespaces  map[string]bool    // of pods and services

	// hasSouthbound and hasNorthbound report which databases of each zone were read.
	hasNorthbound, hasSouthbound map[string]bool

	read      []zoneData // rows as read, for WithNodes
	had       []*physicalNode
	ways      bool // as of LoadWays
	loadNotes []string
	failed    bool
}

type datapathKey struct {
	zone string
	key  int
}

type portKey struct {
	datapath string // UUID of the switch or router
	key      int
}

// build joins what was read.
func build(zones []zoneData, nodes []*physicalNode, ways bool) *Graph {
	g := &Graph{
		Topology:      empty(),
		byUUID:        map[string]any{},
		switches:      map[string]*Switch{},
		routers:       map[string]*Router{},
		portsByName:   map[string][]*Port{},
		portsByPod:    map[string][]*Port{},
		portsByAddr:   map[netip.Addr][]*Port{},
		datapaths:     map[datapathKey]string{},
		portKeys:      map[portKey]*Port{},
		chassis:       map[string]*Chassis{},
		nodes:         map[string]*Node{},
		bridges:       map[string]*bridgesHeld{},
		onSwitch:      map[string][]*Port{},
		onRouter:      map[string][]*Port{},
		routersOn:     map[string][]*Port{},
		subnets:       map[string][]netip.Prefix{},
		ownedBy:       map[decode.Owner]*owned{},
		defaultDeny:   map[string]*rowSet{},
		namespaces:    map[string]bool{},
		hasNorthbound: map[string]bool{},
		hasSouthbound: map[string]bool{},
		read:          zones,
		had:           nodes,
		ways:          ways,
	}
	for _, z := range zones {
		g.Zones = append(g.Zones, z.name)
		g.hasNorthbound[z.name] = z.nb != nil
		g.hasSouthbound[z.name] = z.sb != nil
		g.addZone(z)
	}
	slices.Sort(g.Zones)
	for _, n := range nodes {
		g.addNode(n)
	}
	slices.SortFunc(g.Chassis, func(a, b *Chassis) int {
		return cmp.Or(CompareNames(chassisLabel(a), chassisLabel(b)), CompareNames(a.Name, b.Name))
	})
	g.index()
	g.attach(nodes)
	if !g.ways {
		g.addTunnels()
	}
	for _, p := range g.Ports {
		g.judge(p)
	}
	g.arrange()
	g.addOwned()
	return g
}

// empty returns a Topology with non-nil lists.
func empty() Topology {
	return Topology{
		Switches:           []*Switch{},
		Routers:            []*Router{},
		Ports:              []*Port{},
		Chassis:            []*Chassis{},
		Nodes:              []*Node{},
		Bridges:            []*Bridge{},
		Tunnels:            []*Tunnel{},
		LoadBalancers:      []*LoadBalancer{},
		LoadBalancerGroups: []*LoadBalancerGroup{},
		NAT:                []*NAT{},
		Policies:           []*Policy{},
		PortGroups:         []*PortGroup{},
	}
}

// index fills the lookup maps.
func (g *Graph) index() {
	for _, p := range g.Ports {
		p.prefixes = prefixesOf(p.Networks)
		g.byUUID[p.UUID] = p
		g.portsByName[p.Name] = append(g.portsByName[p.Name], p)
		if p.Pod != "" {
			g.portsByPod[p.Pod] = append(g.portsByPod[p.Pod], p)
			g.addNamespace(p.Pod)
		}
		for _, a := range p.addrs() {
			if p.Type == "chassisredirect" {
				break // the router port has them
			}
			g.portsByAddr[a] = append(g.portsByAddr[a], p)
		}
		switch {
		case p.Switch != nil:
			g.onSwitch[p.Switch.UUID] = append(g.onSwitch[p.Switch.UUID], p)
		case p.Router != nil:
			g.onRouter[p.Router.UUID] = append(g.onRouter[p.Router.UUID], p)
		}
		if p.TunnelKey != 0 {
			g.portKeys[portKey{p.datapath(), p.TunnelKey}] = p
		}
	}
	for _, ports := range g.portsByName {
		slices.SortStableFunc(ports, byHome)
	}
	for _, ports := range g.portsByAddr {
		slices.SortStableFunc(ports, byHome)
	}
	for _, ports := range g.onSwitch {
		slices.SortFunc(ports, comparePorts)
	}
	for _, ports := range g.onRouter {
		slices.SortFunc(ports, comparePorts)
	}
	for _, s := range g.Switches {
		g.byUUID[s.UUID] = s
		if s.TunnelKey != 0 {
			g.datapaths[datapathKey{s.Zone, s.TunnelKey}] = s.UUID
		}
		g.subnets[s.UUID] = prefixesOf(s.Subnets)
		for _, p := range g.onSwitch[s.UUID] {
			s.Ports = append(s.Ports, p.Name)
			if r := g.PeerOf(p); r != nil && r.Kind == RouterPort {
				g.routersOn[s.UUID] = append(g.routersOn[s.UUID], r)
			}
		}
	}
	for _, r := range g.Routers {
		g.byUUID[r.UUID] = r
		if r.TunnelKey != 0 {
			g.datapaths[datapathKey{r.Zone, r.TunnelKey}] = r.UUID
		}
		for _, p := range g.onRouter[r.UUID] {
			r.Ports = append(r.Ports, p.Name)
		}
	}
	for _, lb := range g.LoadBalancers {
		g.byUUID[lb.UUID] = lb
		g.addNamespace(lb.Service)
	}
	for _, c := range g.Chassis {
		g.byUUID[c.UUID] = c
	}
}

// addNamespace notes the namespace of NAMESPACE/NAME.
func (g *Graph) addNamespace(name string) {
	if namespace, _, ok := strings.Cut(name, "/"); ok {
		g.namespaces[namespace] = true
	}
}

// byHome sorts a port before its remote stand-in of another zone, and zones by name.
func byHome(a, b *Port) int {
	return cmp.Or(compareBools(a.Type == "remote", b.Type == "remote"), comparePorts(a, b))
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func comparePorts(a, b *Port) int {
	return cmp.Or(
		strings.Compare(a.Zone, b.Zone),
		CompareNames(a.Name, b.Name),
		strings.Compare(a.UUID, b.UUID))
}

// CompareNames orders names naturally: node2 before node10.
func CompareNames(a, b string) int {
	for x, y := a, b; x != "" && y != ""; {
		if x[0] == y[0] && (x[0] < '0' || x[0] > '9') {
			x, y = x[1:], y[1:]
			continue
		}
		dx, dy := digits(x), digits(y)
		if dx > 0 && dy > 0 {
			nx, ny := strings.TrimLeft(x[:dx], "0"), strings.TrimLeft(y[:dy], "0")
			if c := cmp.Or(cmp.Compare(len(nx), len(ny)), strings.Compare(nx, ny)); c != 0 {
				return c
			}
			x, y = x[dx:], y[dy:]
			continue
		}
		return cmp.Compare(x[0], y[0])
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// digits returns how many digits s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// arrange sorts every list.
func (g *Graph) arrange() {
	slices.SortFunc(g.Switches, func(a, b *Switch) int { return compareNamed(a.Zone, a.Name, a.UUID, b.Zone, b.Name, b.UUID) })
	slices.SortFunc(g.Routers, func(a, b *Router) int { return compareNamed(a.Zone, a.Name, a.UUID, b.Zone, b.Name, b.UUID) })
	slices.SortFunc(g.Ports, comparePorts)
	slices.SortFunc(g.Nodes, func(a, b *Node) int { return CompareNames(a.Name, b.Name) })
	slices.SortFunc(g.Bridges, func(a, b *Bridge) int {
		return cmp.Or(CompareNames(a.Node, b.Node), CompareNames(a.Name, b.Name))
	})
	slices.SortFunc(g.Tunnels, func(a, b *Tunnel) int {
		return cmp.Or(CompareNames(a.Name, b.Name), strings.Compare(a.UUID, b.UUID))
	})
	slices.SortFunc(g.LoadBalancers, func(a, b *LoadBalancer) int {
		return compareNamed(a.Zone, a.Name, a.UUID, b.Zone, b.Name, b.UUID)
	})
	slices.SortFunc(g.LoadBalancerGroups, func(a, b *LoadBalancerGroup) int {
		return compareNamed(a.Zone, a.Name, a.UUID, b.Zone, b.Name, b.UUID)
	})
	slices.SortFunc(g.NAT, func(a, b *NAT) int { return compareNamed(a.Zone, a.Name, a.UUID, b.Zone, b.Name, b.UUID) })
	slices.SortFunc(g.Policies, func(a, b *Policy) int {
		return cmp.Or(
			strings.Compare(a.Zone, b.Zone),
			CompareNames(a.Router.Name, b.Router.Name),
			cmp.Compare(b.Priority, a.Priority),
			strings.Compare(a.Match, b.Match),
			strings.Compare(a.UUID, b.UUID))
	})
	slices.SortFunc(g.PortGroups, func(a, b *PortGroup) int {
		return compareNamed(a.Zone, a.Name, a.UUID, b.Zone, b.Name, b.UUID)
	})
	slices.Sort(g.Notes)
	g.Notes = slices.Compact(g.Notes)
}

func compareNamed(zoneA, nameA, uuidA, zoneB, nameB, uuidB string) int {
	return cmp.Or(strings.Compare(zoneA, zoneB), CompareNames(nameA, nameB), strings.Compare(uuidA, uuidB))
}
