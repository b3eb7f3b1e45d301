package topology

import (
	"net/netip"
	"slices"
)

// Narrow returns the part of the Topology around the matches: for a port its switch and the routers there, its
// chassis and interface, the rules and load balancers that apply to it; for a switch or router its ports and their
// peers; for a chassis its ports and its tunnels; for an object of the CMS its rows and the ports that they apply to.
func (g *Graph) Narrow(matches ...Match) Topology {
	n := narrower{Graph: g, keep: map[any]bool{}, asked: map[string]bool{}}
	for _, m := range matches {
		n.match(m)
	}
	return n.result()
}

type narrower struct {
	*Graph
	keep  map[any]bool    // objects, by pointer
	asked map[string]bool // chassis that were named, by name
}

func (n *narrower) match(m Match) {
	switch m.Kind {
	case KindSwitch:
		n.wholeSwitch(m.Switch)
	case KindRouter:
		n.wholeRouter(m.Router)
	case KindNode:
		n.wholeChassis(m.Chassis, m.Node)
	case KindBridge:
		n.bridge(m.Bridge)
	case KindService, KindBalancer:
		for _, lb := range m.Balancers {
			n.balancer(lb)
		}
	case KindNAT:
		for _, nat := range m.NATs {
			n.nat(nat)
		}
	case KindObject:
		n.object(m)
	default:
		if m.Port != nil {
			n.portWithAround(m.Port)
		}
	}
}

func (n *narrower) wholeSwitch(s *Switch) {
	n.keep[s] = true
	for _, p := range n.onSwitch[s.UUID] {
		n.keep[p] = true
		n.whereabouts(p)
		n.across(p)
	}
	n.balancersOn(s.UUID)
	n.groupsOf(n.onSwitch[s.UUID])
}

func (n *narrower) wholeRouter(r *Router) {
	n.keep[r] = true
	for _, p := range n.onRouter[r.UUID] {
		n.keep[p] = true
		n.whereabouts(p)
		n.across(p)
	}
	for _, nat := range n.NAT {
		n.keep[nat] = n.keep[nat] || nat.Router.UUID == r.UUID
	}
	for _, policy := range n.Policies {
		n.keep[policy] = n.keep[policy] || policy.Router.UUID == r.UUID
	}
	n.balancersOn(r.UUID)
}

func (n *narrower) wholeChassis(c *Chassis, node *Node) {
	if c != nil {
		n.keep[c] = true
		n.asked[c.Name] = true
		for _, p := range n.Ports {
			if p.Chassis == c.Name {
				n.keep[p] = true
				n.home(p)
			}
		}
	}
	if node != nil {
		n.keep[node] = true
		for _, b := range n.Bridges {
			n.keep[b] = n.keep[b] || b.Node == node.Name
		}
	}
}

func (n *narrower) bridge(b *Bridge) {
	n.keep[b] = true
	n.node(b.Node)
	for _, bp := range b.Ports {
		if p := n.PortByName(bp.LogicalPort); p != nil {
			n.keep[p] = true
			n.home(p)
		}
	}
}

func (n *narrower) balancer(lb *LoadBalancer) {
	n.keep[lb] = true
	for _, v := range lb.VIPs {
		for _, text := range v.Backends {
			host, _ := splitVIP(text)
			addr, err := netip.ParseAddr(host)
			if err != nil {
				continue
			}
			for _, p := range n.PortsAt(addr) {
				n.keep[p] = true
				n.home(p)
				n.whereabouts(p)
			}
		}
	}
	for _, group := range n.LoadBalancerGroups {
		n.keep[group] = n.keep[group] || group.Zone == lb.Zone && slices.Contains(lb.Groups, group.Name)
	}
}

func (n *narrower) portWithAround(p *Port) {
	n.keep[p] = true
	n.home(p)
	n.whereabouts(p)
	n.across(p)
	if s := n.SwitchOf(p); s != nil {
		for _, other := range n.onSwitch[s.UUID] {
			if other.Type == "router" {
				n.keep[other] = true
				n.across(other)
			}
		}
	}
	for _, nat := range n.NAT {
		n.keep[nat] = n.keep[nat] || nat.LogicalPort == p.Name || slices.ContainsFunc(p.addrs(), func(a netip.Addr) bool {
			return sameAddr(nat.LogicalIP, a) || sameAddr(nat.ExternalIP, a)
		})
	}
	for _, lb := range n.LoadBalancers {
		n.keep[lb] = n.keep[lb] || slices.ContainsFunc(lb.VIPs, func(v *VIP) bool {
			return slices.ContainsFunc(v.Backends, func(b string) bool {
				host, _ := splitVIP(b)
				return slices.ContainsFunc(p.addrs(), func(a netip.Addr) bool { return sameAddr(host, a) })
			})
		})
	}
	n.groupsOf([]*Port{p})
}

// home keeps the switch or router of p.
func (n *narrower) home(p *Port) {
	if s := n.SwitchOf(p); s != nil {
		n.keep[s] = true
	}
	if r := n.RouterOf(p); r != nil {
		n.keep[r] = true
	}
}

// across keeps the other end of a patch and its switch or router.
func (n *narrower) across(p *Port) {
	if peer := n.PeerOf(p); peer != nil {
		n.keep[peer] = true
		n.home(peer)
	}
}

// whereabouts keeps the chassis of p, its node and the bridges of its interfaces.
func (n *narrower) whereabouts(p *Port) {
	if c := n.chassis[p.Chassis]; c != nil {
		n.keep[c] = true
		if node := n.nodes[c.Node]; node != nil {
			n.keep[node] = true
		}
	}
	for _, a := range p.Interfaces {
		for _, b := range n.Bridges {
			if b.Node == a.Node && (b.Name == a.Bridge || b.Name == a.PeerBridge) {
				n.keep[b] = true
				n.node(b.Node)
			}
		}
	}
}

// node keeps a node and its chassis.
func (n *narrower) node(name string) {
	node := n.nodes[name]
	n.keep[node] = true
	if c := n.chassis[node.Chassis]; c != nil {
		n.keep[c] = true
	}
}

func (n *narrower) groupsOf(ports []*Port) {
	for _, pg := range n.PortGroups {
		for _, p := range ports {
			if p.Zone == pg.Zone && slices.Contains(p.PortGroups, pg.Name) {
				n.keep[pg] = true
			}
		}
	}
}

// balancersOn keeps the load balancers of a switch or a router.
func (n *narrower) balancersOn(uuid string) {
	on := func(refs []Ref) bool {
		return slices.ContainsFunc(refs, func(r Ref) bool { return r.UUID == uuid })
	}
	for _, lb := range n.LoadBalancers {
		n.keep[lb] = n.keep[lb] || on(lb.Switches) || on(lb.Routers)
	}
	for _, group := range n.LoadBalancerGroups {
		if !on(group.Switches) && !on(group.Routers) {
			continue
		}
		n.keep[group] = true
		for _, lb := range n.LoadBalancers {
			n.keep[lb] = n.keep[lb] || lb.Zone == group.Zone && slices.Contains(lb.Groups, group.Name)
		}
	}
}

func (n *narrower) result() Topology {
	t := empty()
	for _, tunnel := range n.Tunnels {
		if n.tunnel(tunnel) {
			t.Tunnels = append(t.Tunnels, tunnel)
		}
	}
	for _, tunnel := range t.Tunnels {
		for _, name := range tunnel.Chassis {
			n.keep[n.chassis[name]] = true
		}
	}
	t.Switches = kept(n, n.Switches)
	t.Routers = kept(n, n.Routers)
	t.Ports = kept(n, n.Ports)
	t.Chassis = kept(n, n.Graph.Chassis)
	t.Nodes = kept(n, n.Nodes)
	t.Bridges = kept(n, n.Bridges)
	t.LoadBalancers = kept(n, n.LoadBalancers)
	t.LoadBalancerGroups = kept(n, n.LoadBalancerGroups)
	t.NAT = kept(n, n.NAT)
	t.Policies = kept(n, n.Policies)
	t.PortGroups = kept(n, n.PortGroups)
	return t
}

// tunnel reports whether a tunnel is between two kept chassis, or belongs to a named one.
func (n *narrower) tunnel(t *Tunnel) bool {
	both := len(t.Chassis) > 0
	for _, name := range t.Chassis {
		if n.asked[name] {
			return true
		}
		both = both && n.keep[n.chassis[name]]
	}
	if both {
		return true
	}
	return slices.ContainsFunc(t.Ends, func(e TunnelEnd) bool {
		node := n.nodes[e.Node]
		return len(t.Chassis) == 0 && node != nil && n.keep[node]
	})
}

func kept[T comparable](n *narrower, all []T) []T {
	out := []T{}
	for _, o := range all {
		if n.keep[o] {
			out = append(out, o)
		}
	}
	return out
}

// Logical returns t without chassis, nodes, bridges and tunnels.
func (t Topology) Logical() Topology {
	t.Chassis, t.Nodes, t.Bridges, t.Tunnels = []*Chassis{}, []*Node{}, []*Bridge{}, []*Tunnel{}
	return t
}

// Physical returns the chassis, nodes, bridges and tunnels of t, and the ports that are bound or have an interface.
func (t Topology) Physical() Topology {
	p := empty()
	p.Chassis, p.Nodes, p.Bridges, p.Tunnels = t.Chassis, t.Nodes, t.Bridges, t.Tunnels
	for _, port := range t.Ports {
		if port.Chassis != "" || len(port.Interfaces) > 0 {
			p.Ports = append(p.Ports, port)
		}
	}
	return p
}
