package trace

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// A workload is what is attached to a node's link.
type workload struct {
	// pod is its network namespace; nil if that is unreachable: the workload is then assumed to be as OVN knows it.
	pod *node.PodNet
	// wrong is set if it is not what the link's port was made for.
	wrong *journey.Cause
}

// workload reads the network namespace behind a link, once.
func (t *tracer) workload(ctx context.Context, v *nodeView, link string) workload {
	if w, ok := v.workloads[link]; ok {
		return w
	}
	w := workload{}
	pod, err := t.reads.pod(ctx, v.Node, link)
	if err == nil && pod != nil && pod.Network != nil {
		w = t.attached(v, link, pod)
	}
	if v.workloads == nil {
		v.workloads = map[string]workload{}
	}
	v.workloads[link] = w
	return w
}

// attached compares the namespace behind a link with the link's port. The MAC address tells whether it is the port's: if
// not, and the address is nowhere else in it, it is another port's, or has been changed. A namespace that was found by
// interface numbers alone, or whose link has a master, is then no evidence.
func (t *tracer) attached(v *nodeView, link string, pod *node.PodNet) workload {
	port := v.ports[link]
	if port == nil || len(port.MACs) == 0 || slices.Contains(port.MACs, pod.Link.MAC) {
		return workload{pod: pod}
	}
	inside := slices.ContainsFunc(pod.Network.Links, func(l node.Link) bool { return slices.Contains(port.MACs, l.MAC) })
	if pod.Guessed || inside || pod.Link.Master != "" || pod.Link.MAC == "" {
		return workload{}
	}
	for _, other := range t.graph.Ports {
		if other != port && other.Switch != nil && other.Kind != topology.RouterPort && slices.Contains(other.MACs, pod.Link.MAC) {
			return workload{wrong: &journey.Cause{Kind: journey.OtherWorkload, Link: link, Node: v.Name, Port: port.Name, Detail: other.Label()}}
		}
	}
	return workload{wrong: &journey.Cause{Kind: journey.OtherMAC, Place: journey.InWorkload, Workload: workloadOf(port), MAC: pod.Link.MAC, Detail: port.MACs[0]}}
}

// inWorkload returns the verdict for a packet that cannot leave or enter the workload behind a link.
func (v *nodeView) inWorkload(link string, o journey.Outcome, c journey.Cause) *journey.Verdict {
	c.Place, c.Workload = journey.InWorkload, workloadOf(v.ports[link])
	return &journey.Verdict{Outcome: o, Node: v.Name, Because: c}
}

// workloadOf returns what is attached to a port.
func workloadOf(p *topology.Port) journey.Workload {
	switch {
	case p == nil:
		return journey.Other
	case p.Pod != "":
		return journey.Pod
	case p.IsVM():
		return journey.VM
	}
	return journey.Other
}

// unseen returns what is assumed of the workload behind a link, for a packet, the first of a connection or a reply, that it sends or,
// with in, receives from a MAC address: all of it if it could not be looked at, or its packet filter; and of the traffic control of the link.
func (t *tracer) unseen(ctx context.Context, v *nodeView, link string, port *topology.Port, p packet.Tuple, from string, reply, in bool) []journey.Assumption {
	objects := []string{port.Label()}
	w := workload{}
	if link != "" {
		w = t.workload(ctx, v, link)
	}
	assumed := v.shaped(ctx, link)
	if w.pod == nil || w.pod.Sockets == nil {
		return append(assumed, journey.Assumption{Kind: journey.Workloads, Objects: objects})
	}
	if byTraffic(w.pod.Network, p.Dst) {
		sent := p // by the workload
		if in {
			sent = p.Reverse()
		}
		if _, err := routeOf(ctx, w.pod, sent); err != nil {
			assumed = append(assumed, journey.Assumption{Kind: journey.RoutingRules, Objects: objects})
		}
	}
	assumed = append(assumed, t.unsureFilter(ctx, v, link, p, from, reply, in)...)
	direction, hook := "out", "output"
	if in {
		direction, hook = "in", "prerouting"
	}
	switch rule, ok := translated(w.pod, p, hook); {
	case reply || !ok:
	case rule.Sure:
		assumed = append(assumed, journey.Assumption{Kind: journey.Proxies, Objects: objects})
	default:
		assumed = append(assumed, journey.Assumption{Kind: journey.Filters, Objects: objects})
	}
	if _, _, encrypted := policed(w.pod.Network, filterPacket(p, false), direction); encrypted {
		assumed = append(assumed, journey.Assumption{Kind: journey.Encryption, Objects: objects})
	}
	return append(assumed, shapedBy(&w.pod.Link, w.pod.Link.Attached, port.Label())...)
}

// unsureFilter returns that the packet filter of the workload behind a link is assumed to let a packet pass, if it cannot be told.
func (t *tracer) unsureFilter(ctx context.Context, v *nodeView, link string, p packet.Tuple, from string, reply, in bool) []journey.Assumption {
	pod := t.workload(ctx, v, link).pod
	if pod == nil || pod.Sockets == nil { // all of it is assumed
		return nil
	}
	if did, _ := podFilter(pod, p, from, reply, in); pod.Firewall != nil && did != node.FilterUnsure {
		return nil
	}
	return []journey.Assumption{{Kind: journey.Filters, Objects: []string{v.behind(link)}}}
}

// sends checks whether the workload behind a link would send a packet at all. It is nil if it would.
func (t *tracer) sends(ctx context.Context, v *nodeView, link string, p packet.Tuple, reply bool) *journey.Verdict {
	w := t.workload(ctx, v, link)
	if verdict := v.has(w, link, p.Src); verdict != nil || w.pod == nil {
		return verdict
	}
	if !reply {
		if verdict := v.led(link, w.pod, p, "output"); verdict != nil {
			return verdict
		}
	}
	route, err := routeOf(ctx, w.pod, p)
	switch {
	case err != nil: // saved tables do not tell which of several next hops it takes
	case route.Type == "local":
		return nil
	case route.Type == "none":
		return v.inWorkload(link, journey.Dropped, journey.Cause{Kind: journey.NoRoute, Address: p.Dst})
	case route.Type != "unicast":
		return v.inWorkload(link, journey.Dropped, journey.Cause{Kind: journey.RouteRefuses, Address: p.Dst, Detail: route.Type})
	case route.Dev != w.pod.Link.Name:
		return v.inWorkload(link, journey.Unknown, journey.Cause{Kind: journey.OtherInterface, Address: p.Dst, Detail: route.Dev, Link: w.pod.Link.Name})
	}
	hops := w.pod.Network.NextHops(route, p.Dst)
	if err != nil && len(hops) < 2 {
		return nil
	}
	forHost := !reply || t.beganAt == v // else the host translates it back and forwards it, which it does not from there
	var lost *journey.Verdict
	passes := 0
	for _, h := range hops {
		hop := p.Dst
		if h.Via.IsValid() {
			hop = h.Via
		}
		c, wrong := t.nextHop(v, link, w.pod, hop, !h.Via.IsValid())
		switch {
		case h.Dev != w.pod.Link.Name || !wrong || forHost && t.hostReceives(ctx, v, link, hop, c.MAC):
			passes++
		case lost == nil:
			lost = v.inWorkload(link, journey.Dropped, c)
		}
	}
	if lost != nil {
		lost.Partial = passes > 0
		return lost
	}
	if c, stops, _ := policed(w.pod.Network, filterPacket(p, reply), "out"); stops {
		return v.inWorkload(link, journey.Dropped, c)
	}
	if verdict := v.filtered(link, w.pod, p, "", reply, false); verdict != nil {
		return verdict
	}
	if c, drops := queueDrops(&w.pod.Link, smallest(p)); drops {
		return v.inWorkload(link, journey.Dropped, c)
	}
	if reply {
		return nil
	}
	return v.otherSource(ctx, link, w.pod, p)
}

// begins gives a packet the TTL that its sender begins with, the workload behind the link or else the host, if it is known.
func (t *tracer) begins(ctx context.Context, l *location, link string) {
	tuple, ok := l.packet.Tuple()
	if l.node == nil || !ok {
		return
	}
	var net *node.Network
	sender, by := l.node.Name, ""
	if link == "" {
		net, _ = l.node.net(ctx) // what cannot be read matters elsewhere
	} else if w := t.workload(ctx, l.node, link); w.pod != nil {
		net, by, sender = w.pod.Network, w.pod.Link.Name, l.node.behind(link)
	}
	if net == nil {
		return
	}
	q := node.RouteQuery{Dst: tuple.Dst, Src: tuple.Src}
	if ttl, setting, known := net.TTL(q, trafficOf(tuple), by); known && ttl > 0 && ttl < 256 {
		l.packet.SetUint("nw_ttl", uint64(ttl))
		l.began = fmt.Sprintf("it begins with %d, by %s of %s", ttl, setting, sender)
	}
}

// behind names what is behind a link.
func (v *nodeView) behind(link string) string {
	if port := v.ports[link]; port != nil {
		return port.Label()
	}
	return link
}

// routeOf returns the route by which a workload sends a packet.
func routeOf(ctx context.Context, pod *node.PodNet, p packet.Tuple) (*node.Route, error) {
	q := node.RouteQuery{Dst: p.Dst, Src: p.Src}
	if byTraffic(pod.Network, p.Dst) {
		return pod.Network.RouteTraffic(q, trafficOf(p))
	}
	return pod.Route(ctx, q)
}

// trafficOf is what routing rules may ask about a packet.
func trafficOf(p packet.Tuple) node.Traffic {
	return node.Traffic{Protocol: p.Proto, SrcPort: p.SrcPort, DstPort: p.DstPort}
}

// byTraffic reports whether a network's rules for a family tell packets by more than addresses.
func byTraffic(net *node.Network, dst netip.Addr) bool {
	return slices.ContainsFunc(net.Rules, func(r node.Rule) bool { return r.ByTraffic() && r.Family == 4 == dst.Is4() })
}

// nextHop explains why a workload's packets do not get to its next hop: it sends them to a wrong MAC address, or takes
// for a neighbour what is on another network.
func (t *tracer) nextHop(v *nodeView, link string, pod *node.PodNet, hop netip.Addr, direct bool) (journey.Cause, bool) {
	port := v.ports[link]
	if port == nil || port.Switch == nil {
		return journey.Cause{}, false
	}
	known, macs := t.onSwitch(port, hop)
	for _, n := range pod.Network.Neighbours {
		if n.Link != pod.Link.Name || n.Addr != hop || n.MAC == "" || n.Silent() || len(macs) == 0 {
			continue
		}
		if !slices.ContainsFunc(macs, func(mac string) bool { return strings.EqualFold(mac, n.MAC) }) {
			return journey.Cause{Kind: journey.WrongNeighbour, Address: hop, MAC: n.MAC, Detail: macs[0]}, true
		}
		return journey.Cause{}, false
	}
	if pod.Link.NoARP && hop.Is4() {
		return journey.Cause{Kind: journey.NoARP, Link: pod.Link.Name, Address: hop}, true
	}
	if known {
		return journey.Cause{}, false
	}
	if !direct {
		answered := slices.ContainsFunc(pod.Network.Neighbours, func(n node.Neighbour) bool { return n.Addr == hop && n.MAC != "" && n.State != "failed" })
		return journey.Cause{Kind: journey.NoSuchGateway, Address: hop}, !answered
	}
	c := journey.Cause{Kind: journey.NotOnLink, Address: hop, Detail: "by a route without a gateway"}
	for _, a := range pod.Network.Addresses {
		if a.Link == pod.Link.Name && a.Prefix.Contains(hop) {
			c.Detail = "its address is " + a.Prefix.String()
		}
	}
	return c, true
}

// hostReceives reports whether what a workload sends to a MAC address is received by its node itself, at the node's end of
// the link. In userspace, Open vSwitch gets copies of the packets, and the node's kernel has them, too: it answers there
// for any of its addresses.
func (t *tracer) hostReceives(ctx context.Context, v *nodeView, link string, a netip.Addr, mac string) bool {
	network, err := v.net(ctx)
	if err != nil || mac == "" || !t.netdev(v.Name) {
		return false
	}
	return slices.ContainsFunc(network.Links, func(l node.Link) bool { return l.Name == link && strings.EqualFold(l.MAC, mac) }) && network.Owns(a)
}

// onSwitch reports whether something on a port's switch may answer for an address, and the MAC addresses of the ports
// that have it there.
func (t *tracer) onSwitch(port *topology.Port, a netip.Addr) (known bool, macs []string) {
	for _, p := range t.graph.PortsAt(a) {
		on := p.Switch
		if peer := t.graph.PeerOf(p); on == nil && peer != nil {
			on = peer.Switch
		}
		if on != nil && on.UUID == port.Switch.UUID {
			known, macs = true, slices.Concat(macs, p.MACs, t.graph.AnswersAt(p))
		}
	}
	if known || a.IsLinkLocalUnicast() || t.virtual(a) || t.localnet(port.Switch) != nil {
		return true, macs
	}
	for _, p := range t.graph.PortsOn(port.Switch.UUID) {
		if p.UnknownAddresses || p.Options["arp_proxy"] != "" || p.VirtualParent != "" {
			return true, macs
		}
	}
	return slices.ContainsFunc(t.graph.NAT, func(n *topology.NAT) bool { return n.ExternalIP == a.String() }), macs
}

// takes checks whether the workload behind a link would accept a packet from a MAC address, which may be unknown. It is nil if it would.
func (t *tracer) takes(ctx context.Context, v *nodeView, link string, p packet.Tuple, from string, reply bool) *journey.Verdict {
	w := t.workload(ctx, v, link)
	if verdict := v.has(w, link, p.Dst); verdict != nil || w.pod == nil {
		return verdict
	}
	if w.pod.Network.Owns(p.Src) && p.Src != p.Dst { // a packet to itself does not leave it
		return v.inWorkload(link, journey.Dropped, journey.Cause{Kind: journey.SourceHeld, Address: p.Src})
	}
	if verdict := v.filtered(link, w.pod, p, from, reply, true); verdict != nil {
		return verdict
	}
	if c, stops, _ := policed(w.pod.Network, filterPacket(p, reply), "in"); stops {
		return v.inWorkload(link, journey.Dropped, c)
	}
	protocol := protocolName(p.Proto)
	if setting, ignored := w.pod.Network.IgnoresEcho(p.Dst.Is6()); ignored && !reply && protocol == "icmp" {
		return v.inWorkload(link, journey.Dropped, journey.Cause{Kind: journey.EchoIgnored, Detail: setting})
	}
	if reply || w.pod.Firewall == nil {
		return nil
	}
	if _, ok := translated(w.pod, p, "prerouting"); ok {
		return v.led(link, w.pod, p, "prerouting")
	}
	if c, outcome, ok := unreceived(w.pod.Sockets, p, w.pod.Link.Name); ok {
		return v.inWorkload(link, outcome, c)
	}
	return nil
}

// unreceived returns why the first packet of a connection that comes in by a link is not received, and what becomes of it; ok is
// false if it is, and where the sockets are unknown.
func unreceived(sockets []node.Socket, p packet.Tuple, link string) (c journey.Cause, outcome journey.Outcome, ok bool) {
	protocol := protocolName(p.Proto)
	if protocol != "tcp" && protocol != "udp" || sockets == nil {
		return c, "", false
	}
	c = journey.Cause{Service: fmt.Sprintf("%s %d", protocol, p.DstPort), Address: p.Dst}
	receivers := node.Receivers(sockets, protocol, netip.AddrPortFrom(p.Dst, p.DstPort), link)
	switch {
	case len(receivers) == 0:
		c.Kind = journey.NobodyListens
		return c, journey.Rejected, true
	case !slices.ContainsFunc(receivers, func(s node.Socket) bool { return !s.Full }):
		c.Kind = journey.NobodyAccepts
		return c, journey.Dropped, true
	}
	return c, "", false
}

// filtered returns the verdict for a packet that the workload's packet filter stops; nil if it passes.
func (v *nodeView) filtered(link string, pod *node.PodNet, p packet.Tuple, from string, reply, in bool) *journey.Verdict {
	switch did, by := podFilter(pod, p, from, reply, in); did {
	case node.FilterDrops:
		return v.inWorkload(link, journey.Dropped, journey.Cause{Kind: journey.Filtered, Detail: by})
	case node.FilterRejects:
		return v.inWorkload(link, journey.Rejected, journey.Cause{Kind: journey.Filtered, Detail: by})
	}
	return nil
}

// podFilter takes a packet through a workload's packet filter, on its way out, or in from a MAC address, which may be unknown.
func podFilter(pod *node.PodNet, p packet.Tuple, from string, reply, in bool) (node.FilterVerdict, string) {
	f := filterPacket(p, reply)
	if in {
		f.In, f.SrcMAC, f.DstMAC = pod.Link.Name, from, pod.Link.MAC
		rule, ok := translated(pod, p, "prerouting")
		if reply || !ok || !rule.Sure {
			return node.Filter(pod.Firewall, f, "ingress", "prerouting", "input")
		}
		did, by := node.Filter(pod.Firewall, f, "ingress", "prerouting")
		f.Dst, f.DstPort = rule.To, rule.Port
		if last, by := node.Filter(pod.Firewall, f, "input"); did == node.FilterPasses || did == node.FilterUnsure && last != node.FilterPasses {
			return last, by
		}
		return did, by
	}
	f.Out = pod.Link.Name
	return node.Filter(pod.Firewall, f, "output", "postrouting", "egress")
}

// filterPacket returns a packet as a packet filter sees it.
func filterPacket(p packet.Tuple, reply bool) node.FilterPacket {
	f := node.FilterPacket{Protocol: protocolName(p.Proto), Src: p.Src, Dst: p.Dst, SrcPort: p.SrcPort, DstPort: p.DstPort, Established: reply}
	if p.Proto == packet.ProtoICMPv6 {
		f.Protocol = "icmpv6"
	}
	return f
}

// has checks whether a workload is up and has an address. It is nil if so.
func (v *nodeView) has(w workload, link string, a netip.Addr) *journey.Verdict {
	if w.wrong != nil {
		return &journey.Verdict{Outcome: journey.Dropped, Node: v.Name, Because: *w.wrong}
	}
	if w.pod == nil {
		return nil
	}
	if !w.pod.Link.Up {
		return v.inWorkload(link, journey.Dropped, journey.Cause{Kind: journey.LinkDown, Link: w.pod.Link.Name})
	}
	if w.pod.Network.Owns(a) {
		return nil
	}
	var has []string
	for _, x := range w.pod.Network.Addresses {
		if x.Link == w.pod.Link.Name && x.Scope == "global" && x.Prefix.Addr().Is4() == a.Is4() {
			has = append(has, x.Prefix.Addr().String())
		}
	}
	return v.inWorkload(link, journey.Dropped, journey.Cause{Kind: journey.AddressMissing, Address: a, Detail: strings.Join(has, ", ")})
}
