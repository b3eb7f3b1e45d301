package trace

import (
	"context"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// Workloads looks at what is attached to a node's logical ports, at most at the given number of them, and returns what
// keeps their packets from passing, and how many it left out. It judges by contradictions alone: what a workload's owner
// may want is no loss.
func (g *Ground) Workloads(ctx context.Context, n *cluster.Node, most int) (lost []Loss, left int, err error) {
	v, err := g.view(ctx, n)
	if err != nil {
		return nil, 0, err
	}
	shut, err := g.shutPorts(ctx, v)
	if err != nil {
		return nil, 0, err
	}
	links := g.workloadLinks(v)
	left = max(0, len(links)-most)
	for _, link := range links[:len(links)-left] {
		port := v.ports[link]
		c, ok := g.attachment(ctx, v, link, shut)
		if !ok {
			c, ok = g.within(ctx, v, link)
		}
		if !ok {
			continue
		}
		l, _ := loss(n.Name, n.Name, journey.Verdict{Outcome: journey.Dropped, Node: n.Name, Because: c})
		l.Port = port.Name
		lost = append(lost, l)
	}
	return lost, left, nil
}

// workloadLinks returns the links of a node's bound logical ports that are not the host's own, in order.
func (g *Ground) workloadLinks(v *nodeView) []string {
	var links []string
	for link, port := range v.ports {
		if g.workloadOn(port, v.SystemID) {
			links = append(links, link)
		}
	}
	slices.Sort(links)
	return links
}

// workloadOn reports whether a port is bound to a chassis and not the host's own.
func (g *Ground) workloadOn(port *topology.Port, chassis string) bool {
	return port.Kind == topology.SwitchPort && port.Type == "" && port.Parent == "" && port.Enabled && port.Chassis == chassis && g.hosts.byPort[port.Name] == nil
}

// shutPorts returns the ports of a node's integration bridge whose OpenFlow configuration stops packets.
func (g *Ground) shutPorts(ctx context.Context, v *nodeView) (map[string]string, error) {
	ports, err := g.reads.ports(ctx, v.Node, v.names.Bridge)
	if err != nil {
		return nil, ctx.Err()
	}
	shut := map[string]string{}
	for _, d := range ports {
		for _, setting := range []string{"NO_FWD", "NO_RECV"} {
			if slices.Contains(d.Config, setting) {
				shut[d.Port.Name] = setting
			}
		}
	}
	return shut, nil
}

// attachment explains why nothing passes between a workload's link and its bridge.
func (g *Ground) attachment(ctx context.Context, v *nodeView, link string, shut map[string]string) (journey.Cause, bool) {
	bridge, port, iface := g.findInterface(v.Name, func(_ *topology.Bridge, _ *topology.BridgePort, i *topology.Interface) bool { return i.Name == link })
	switch {
	case iface == nil || bridge.Name != v.names.Bridge:
		return journey.Cause{}, false
	case port.Mirror != "":
		return journey.Cause{Kind: journey.MirrorOutput, Link: link, Bridge: bridge.Name, Node: v.Name, Detail: port.Mirror}, true
	case shut[link] != "":
		return journey.Cause{Kind: journey.PortBlocked, Link: link, Bridge: bridge.Name, Node: v.Name, Detail: shut[link]}, true
	case iface.AdminState == "down":
		return journey.Cause{Kind: journey.LinkDown, Link: link, Node: v.Name, Port: v.ports[link].Name}, true
	}
	net, err := v.net(ctx)
	if err != nil {
		return journey.Cause{}, false
	}
	c, drops := queueDrops(net.Link(link), smallest(packet.Tuple{}))
	c.Node = v.Name
	return c, drops
}

// within explains why a workload's own network keeps it from taking part in its port's.
func (g *Ground) within(ctx context.Context, v *nodeView, link string) (journey.Cause, bool) {
	w := g.workload(ctx, v, link)
	port := v.ports[link]
	if w.pod == nil || port.Switch == nil || !w.pod.Link.Up || w.pod.Guessed {
		return journey.Cause{}, false
	}
	found := func(c journey.Cause) (journey.Cause, bool) {
		c.Place, c.Workload, c.Node = journey.InWorkload, workloadOf(port), v.Name
		return c, true
	}
	if c, ok := g.wrongEntry(ctx, v, link, w.pod); ok {
		return found(c)
	}
	if hop := g.gatewayOf(port); w.pod.Link.NoARP && hop.IsValid() {
		return found(journey.Cause{Kind: journey.NoARP, Link: w.pod.Link.Name, Address: hop})
	}
	if c, ok := g.tooWide(port, w.pod); ok {
		return found(c)
	}
	if c, ok := g.refusing(ctx, port, w.pod); ok {
		return found(c)
	}
	if c, ok := g.deaf(port, w.pod); ok {
		return found(c)
	}
	if c, drops := queueDrops(&w.pod.Link, smallest(packet.Tuple{})); drops {
		return found(c)
	}
	if c := g.leavesChecksum(ctx, v, link, port, packet.Tuple{Proto: packet.ProtoTCP}); c != nil {
		return found(*c)
	}
	return g.byOtherSource(ctx, v, link, port, w.pod)
}

// byOtherSource finds that a workload sends to another one of its network from an address that port security does not let pass.
func (g *Ground) byOtherSource(ctx context.Context, v *nodeView, link string, port *topology.Port, pod *node.PodNet) (journey.Cause, bool) {
	own := map[bool]netip.Addr{} // by whether it is IPv6
	for _, text := range slices.Backward(port.Addresses) {
		if a, err := netip.ParseAddr(text); err == nil {
			own[a.Is6()] = a
		}
	}
	for dst := range g.others(port) {
		src, ok := own[dst.Is6()]
		if len(own) == 0 {
			break
		} else if !ok {
			continue
		}
		delete(own, dst.Is6())
		p := packet.Tuple{Src: src, Dst: dst, Proto: packet.ProtoTCP, SrcPort: 40000, DstPort: 443}
		if verdict := v.otherSource(ctx, link, pod, p); verdict != nil {
			return verdict.Because, true
		}
	}
	return journey.Cause{}, false
}

// gatewayOf returns the IPv4 address of the router on a port's switch.
func (g *Ground) gatewayOf(port *topology.Port) netip.Addr {
	for _, text := range port.Addresses {
		own, err := netip.ParseAddr(text)
		if err != nil || !own.Is4() {
			continue
		}
		if gateway := g.graph.RouterPortFor(g.graph.SwitchOf(port), own); gateway != nil && len(gateway.Prefixes()) > 0 {
			return gateway.Prefixes()[0].Addr()
		}
	}
	return netip.Addr{}
}

// wrongEntry finds a permanent neighbour entry with a MAC address that nothing with its address has. The host itself may answer
// for its addresses, with that of its end of the link.
func (g *Ground) wrongEntry(ctx context.Context, v *nodeView, link string, pod *node.PodNet) (journey.Cause, bool) {
	port := v.ports[link]
	hostTakes := func(n node.Neighbour) bool {
		net, err := v.net(ctx)
		if err != nil || net.Link(link) == nil || !strings.EqualFold(net.Link(link).MAC, n.MAC) {
			return false
		}
		return slices.ContainsFunc(net.Addresses, func(a node.Address) bool { return a.Prefix.Addr() == n.Addr })
	}
	for _, n := range pod.Network.Neighbours {
		if n.Link != pod.Link.Name || n.State != "permanent" || n.MAC == "" {
			continue
		}
		_, macs := g.onSwitch(port, n.Addr)
		if len(macs) > 0 && !hostTakes(n) && !slices.ContainsFunc(macs, func(mac string) bool { return strings.EqualFold(mac, n.MAC) }) {
			return journey.Cause{Kind: journey.WrongNeighbour, Address: n.Addr, MAC: n.MAC, Detail: macs[0]}, true
		}
	}
	return journey.Cause{}, false
}

// tooWide finds an address whose prefix makes a neighbour of a workload that is on another switch.
func (g *Ground) tooWide(port *topology.Port, pod *node.PodNet) (journey.Cause, bool) {
	on := g.graph.SwitchOf(port)
	if on == nil {
		return journey.Cause{}, false
	}
	for _, a := range pod.Network.Addresses {
		own := a.Prefix.Addr()
		if a.Link != pod.Link.Name || a.Scope != "global" || !slices.Contains(port.Addresses, own.String()) {
			continue
		}
		gateway := g.graph.RouterPortFor(on, own)
		if gateway == nil || !slices.ContainsFunc(gateway.Prefixes(), func(p netip.Prefix) bool { return p.Contains(own) && p.Bits() > a.Prefix.Bits() }) {
			continue
		}
		if other, ok := g.beyond(port, a.Prefix); ok {
			return journey.Cause{Kind: journey.NotOnLink, Address: other, Detail: "its address is " + a.Prefix.String()}, true
		}
	}
	return journey.Cause{}, false
}

// beyond returns the address of another workload of a port's network that is within a prefix and not on the port's
// switch.
func (g *Ground) beyond(port *topology.Port, p netip.Prefix) (netip.Addr, bool) {
	for a := range g.others(port) {
		if !p.Contains(a) {
			continue
		}
		if known, _ := g.onSwitch(port, a); !known {
			return a, true
		}
	}
	return netip.Addr{}, false
}

// others yields the addresses of the other workloads of a port's network.
func (g *Ground) others(port *topology.Port) iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		for _, p := range g.graph.Ports {
			if p == port || p.Kind != topology.SwitchPort || p.Type != "" || p.Switch == nil || p.Network() != port.Network() || p.Zone != port.Zone {
				continue
			}
			for _, text := range p.Addresses {
				if a, err := netip.ParseAddr(text); err == nil && !yield(a) {
					return
				}
			}
		}
	}
}

// refusing finds a route or rule that refuses packets to another workload of the same network.
func (g *Ground) refusing(ctx context.Context, port *topology.Port, pod *node.PodNet) (journey.Cause, bool) {
	var refused []netip.Prefix
	for _, r := range pod.Network.Routes {
		if refusingType(r.Type) && r.Dst.IsValid() && r.Dst.Bits() > 0 {
			refused = append(refused, r.Dst)
		}
	}
	for _, r := range pod.Network.Rules {
		if r.Refuses() && !r.ByTraffic() && r.Dst.IsValid() && r.Dst.Bits() > 0 {
			refused = append(refused, r.Dst)
		}
	}
	for _, dst := range refused {
		for a := range g.others(port) {
			if !dst.Contains(a) {
				continue
			}
			way, err := pod.Route(ctx, node.RouteQuery{Dst: a})
			if err == nil && refusingType(way.Type) {
				return journey.Cause{Kind: journey.RouteRefuses, Address: a, Detail: way.Type}, true
			}
		}
	}
	return journey.Cause{}, false
}

// refusingType reports whether routes of a type stop packets.
func refusingType(kind string) bool {
	return kind == "blackhole" || kind == "unreachable" || kind == "prohibit"
}

// deaf finds a packet filter that drops even the replies to what the workload itself asks, by any protocol.
func (g *Ground) deaf(port *topology.Port, pod *node.PodNet) (journey.Cause, bool) {
	var by string
	for _, a := range pod.Network.Addresses {
		own := a.Prefix.Addr()
		if a.Link != pod.Link.Name || !own.Is4() || !slices.Contains(port.Addresses, own.String()) {
			continue
		}
		for _, proto := range []uint8{packet.ProtoTCP, packet.ProtoUDP, packet.ProtoICMP} {
			did, why := podFilter(pod, packet.Tuple{Src: own.Next(), Dst: own, Proto: proto, SrcPort: 443, DstPort: 40000}, "", true, true)
			if did != node.FilterDrops {
				return journey.Cause{}, false
			}
			by = why
		}
	}
	return journey.Cause{Kind: journey.Filtered, Detail: by}, by != ""
}
