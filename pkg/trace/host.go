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
	"github.com/ovnctl/ovnctl/pkg/trace/ovs"
)

// host follows a packet through a node's own network stack, using its kernel's route.
func (r *run) host(ctx context.Context, p location) (outcome, error) {
	h := &hostStep{run: r, location: p, hop: journey.Hop{Node: p.node.Name, Datapath: p.node.Name, Kind: "host", From: p.link, Steps: []journey.Step{}}}
	h.do(ctx)
	h.out.hops = append(h.out.hops, h.hop)
	return h.out, nil
}

// A hostStep is one packet in one host.
type hostStep struct {
	*run
	location
	hop   journey.Hop
	tuple packet.Tuple
	seen  node.FilterPacket // as the packet filter has seen it so far
	out   outcome

	zone       ovs.Zone
	arrived    packet.Tuple // before any translation
	known      ovs.Tracked
	translates bool // the packet filter may translate it, but its rules do not tell how
}

func (h *hostStep) do(ctx context.Context) {
	tuple, ok := h.packet.Tuple()
	if !ok {
		h.stop(journey.Unknown, journey.Cause{Kind: journey.NotIP})
		h.out.end.stray = true
		return
	}
	h.tuple = tuple
	net, err := h.node.net(ctx)
	if err != nil {
		h.missing(h.node.Node, err)
		h.stop(journey.Unknown, journey.Cause{Kind: journey.HostUnread, Detail: err.Error()})
		return
	}
	h.out.assume(h.node.shaped(ctx, h.link)...)
	if vlan := h.packet.Uint("dl_vlan"); h.link != "" && vlan != 0 && !tagged(net, h.link) {
		h.stop(journey.Dropped, journey.Cause{Kind: journey.VLANUnknown, Link: h.link, Node: h.node.Name, Detail: fmt.Sprint(vlan)})
		h.out.end.stray = h.carries == nil
		return
	}
	if h.link != "" && !h.forUs(net) {
		c := journey.Cause{Kind: journey.NotForHost}
		if b := h.bridgeOn(h.node.Name, h.link); b != nil {
			on := h.location
			on.bridge = b.Name
			if cut, ok := h.uplinkRefuses(ctx, on, b); ok {
				c = cut
			}
		}
		h.stop(journey.Dropped, c)
		h.out.end.stray = true
		return
	}
	h.zone, h.arrived, h.seen = ovs.Zone{Node: h.node.Name, Host: true}, h.tuple, filterPacket(h.tuple, h.replying && h.carries == nil)
	h.known = h.ct.Look(h.zone, h.tuple, true, false)
	if now := h.known.Now; now != h.tuple {
		h.step("conntrack", fmt.Sprintf("%s → %s", h.tuple.Src, h.tuple.Dst), fmt.Sprintf("translated back to %s → %s", now.Src, now.Dst))
	}
	if h.link != "" {
		if h.filtered(ctx, "", "ingress", "prerouting"+node.BeforeNAT) {
			return
		}
		h.toDestination(ctx, net, "prerouting")
		if h.filtered(ctx, "", "prerouting"+node.AfterNAT) {
			return
		}
	}
	query := node.RouteQuery{Dst: h.tuple.Dst, Src: h.tuple.Src, Iif: h.link, Mark: h.mark(ctx, net)}
	route, err := h.route(ctx, net, query)
	h.command(h.node, "ip route get "+query.String())
	if err != nil {
		h.missing(h.node.Node, err)
		h.stop(journey.Unknown, journey.Cause{Kind: journey.HostUnread, Detail: err.Error()})
		return
	}
	h.step("route", query.String(), routeText(route))
	h.routed(ctx, net, route)
}

// mark returns the mark that the packet filter sets, where rules ask for one.
func (h *hostStep) mark(ctx context.Context, net *node.Network) uint32 {
	asks := func(r node.Rule) bool { return (r.Mark != 0 || r.Mask != 0) && r.Family == 4 == h.tuple.Dst.Is4() }
	if !slices.ContainsFunc(net.Rules, asks) {
		return 0
	}
	hooks := []string{"output"}
	if h.link != "" {
		hooks = []string{"ingress", "prerouting"}
	}
	p := filterPacket(h.arrived, h.replying && h.carries == nil)
	p.In = h.link
	chains, err := h.node.firewall(ctx)
	mark, sure := node.Marked(chains, p, hooks...)
	if err != nil || !sure {
		h.out.assume(journey.Assumption{Kind: journey.RoutingRules, Nodes: []string{h.node.Name}})
		return 0
	}
	return mark
}

// route returns the kernel's route for the packet. Where rules tell packets by more than addresses, they are followed as they were
// read; where those do not decide, the route for a packet of no protocol is assumed.
func (h *hostStep) route(ctx context.Context, net *node.Network, q node.RouteQuery) (*node.Route, error) {
	if byTraffic(net, q.Dst) {
		route, err := net.RouteTraffic(q, trafficOf(h.tuple))
		if err == nil {
			return route, nil
		}
		h.out.assume(journey.Assumption{Kind: journey.RoutingRules, Nodes: []string{h.node.Name}})
	}
	return h.node.Host.Route(ctx, q)
}

// tagged reports whether a link has interfaces for VLANs.
func tagged(net *node.Network, link string) bool {
	parent := net.Link(link)
	return parent == nil || slices.ContainsFunc(net.Links, func(l node.Link) bool { return l.Kind == "vlan" && l.PeerIndex == parent.Index })
}

// forUs reports whether the link accepts the frame at all.
func (h *hostStep) forUs(net *node.Network) bool {
	link := net.Link(h.link)
	dst := macText(h.packet, "eth_dst")
	return link == nil || link.MAC == "" || strings.EqualFold(link.MAC, dst) || h.packet.Uint("eth_dst")>>40&1 == 1
}

func (h *hostStep) routed(ctx context.Context, net *node.Network, route *node.Route) {
	switch route.Type {
	case "local":
		h.commit()
		hooks := []string{"input" + node.BeforeNAT}
		if h.link == "" {
			hooks = []string{"ingress", "prerouting", "input" + node.BeforeNAT}
		}
		if h.filtered(ctx, "", hooks...) {
			return
		}
		if h.known.Conn != nil {
			h.tuple = h.known.Now
		}
		h.packet.SetTuple(h.tuple)
		if h.filtered(ctx, "", "input"+node.AfterNAT) || h.link != "" && h.policed(net, "in") || h.unheard(ctx) {
			return
		}
		if setting, ignored := net.IgnoresEcho(h.tuple.Dst.Is6()); ignored && !h.replying && protocolName(h.tuple.Proto) == "icmp" {
			h.stop(journey.Dropped, journey.Cause{Kind: journey.EchoIgnored, Detail: setting})
			return
		}
		if h.carries != nil {
			h.decapsulate()
			return
		}
		h.out.end = &ending{
			verdict: journey.Verdict{Outcome: journey.Delivered, Node: h.node.Name, Port: h.link},
			at:      location{node: h.node, packet: h.packet},
			reached: "the host " + h.node.Name,
		}
	case "unicast":
		h.forward(ctx, net, route)
	default:
		if on, ok := net.Forwards(h.link, h.tuple.Dst.Is6()); route.Type == "unreachable" && h.link != "" && ok && !on {
			h.stop(journey.Dropped, h.notForwarding())
			return
		}
		h.stop(journey.Dropped, journey.Cause{Kind: journey.RouteRefuses, Address: h.tuple.Dst, Detail: route.Type})
	}
}

// filtered ends a packet that the host's packet filter stops. What the rules do not tell is assumed.
func (h *hostStep) filtered(ctx context.Context, out string, hooks ...string) bool {
	chains, err := h.node.firewall(ctx)
	if err != nil {
		h.out.assume(journey.Assumption{Kind: journey.Filters, Nodes: []string{h.node.Name}})
		return false
	}
	h.addressed(out)
	did, by := h.seen.Pass(chains, hooks...)
	outcomes := map[node.FilterVerdict]journey.Outcome{node.FilterDrops: journey.Dropped, node.FilterRejects: journey.Rejected}
	switch did {
	case node.FilterDrops, node.FilterRejects:
		h.stop(outcomes[did], journey.Cause{Kind: journey.Filtered, Detail: by})
		return true
	case node.FilterUnsure:
		h.out.assume(journey.Assumption{Kind: journey.Filters, Nodes: []string{h.node.Name}})
	}
	return false
}

// policed ends a packet that the host's IPsec policies stop.
func (h *hostStep) policed(net *node.Network, directions ...string) bool {
	c, stops, assumed := policed(net, filterPacket(h.tuple, h.replying), directions...)
	switch {
	case stops:
		h.stop(journey.Dropped, c)
	case assumed:
		h.out.assume(journey.Assumption{Kind: journey.Encryption, Nodes: []string{h.node.Name}})
	}
	return stops
}

// unheard ends the first packet of a connection to the host if nothing there listens on its port, or accepts more, and nothing
// there may redirect it.
func (h *hostStep) unheard(ctx context.Context) bool {
	if protocol := protocolName(h.tuple.Proto); h.replying || h.carries != nil || protocol != "tcp" && protocol != "udp" {
		return false
	}
	if _, err := h.node.firewall(ctx); err != nil || h.translates {
		return false
	}
	sockets, err := h.node.Host.Sockets(ctx)
	if err != nil {
		return false
	}
	c, outcome, ok := unreceived(sockets, h.tuple, h.link)
	if ok {
		h.stop(outcome, c)
	}
	return ok
}

// notForwarding returns the cause for a packet that a host should forward but does not.
func (h *hostStep) notForwarding() journey.Cause {
	setting := "net.ipv4.ip_forward"
	if h.tuple.Dst.Is6() {
		setting = "net.ipv6.conf.all.forwarding"
	}
	return journey.Cause{Kind: journey.NotForwarding, Node: h.node.Name, Link: h.link, Detail: setting}
}

// forward sends the packet out of the route's link.
func (h *hostStep) forward(ctx context.Context, net *node.Network, route *node.Route) {
	v6 := h.tuple.Dst.Is6()
	if h.link != "" {
		if on, ok := net.Forwards(h.link, v6); ok && !on {
			h.stop(journey.Dropped, h.notForwarding())
			return
		}
		if h.ttl != "" && h.packet.Uint("nw_ttl") <= 1 {
			h.stop(journey.Rejected, journey.Cause{Kind: journey.TTLRanOut, Detail: h.ttl})
			return
		}
		h.packet.SetUint("nw_ttl", h.packet.Uint("nw_ttl")-1)
	}
	if h.link != "" {
		if h.filtered(ctx, route.Dev, "forward") || h.policed(net, "fwd") {
			return
		}
	} else if route = h.output(ctx, net, route); route == nil {
		return
	}
	if h.filtered(ctx, route.Dev, "postrouting"+node.BeforeNAT) {
		return
	}
	h.toSource(ctx, net, route)
	h.commit()
	if h.filtered(ctx, route.Dev, "postrouting"+node.AfterNAT, "egress") || h.policed(net, "out") {
		return
	}
	h.packet.SetTuple(h.tuple)
	hop := h.tuple.Dst
	if route.Via.IsValid() {
		hop = route.Via
	}
	if h.lostHop(net, route) {
		return
	}
	c, drops := h.tooSmall(ctx, h.location, h.node, route.Dev)
	if !drops {
		c, drops = h.queueDrops(ctx, h.location, route.Dev)
	}
	if !drops {
		c, drops = h.wrongEntry(ctx, net, route.Dev, hop)
	}
	if drops {
		h.stop(journey.Dropped, c)
		return
	}
	h.out.assume(h.node.shaped(ctx, route.Dev)...)
	mac, heard := h.neighbour(ctx, net, route.Dev, hop)
	bridge, iface := h.interfaceOf(h.node.Name, route.Dev)
	if iface == nil && h.carries != nil {
		h.toHost(ctx)
		return
	}
	if iface == nil {
		h.out.assume(journey.Assumption{Kind: journey.OutsideNetwork, Nodes: []string{h.node.Name}})
		h.out.end = &ending{
			verdict: journey.Verdict{Outcome: journey.Delivered, Node: h.node.Name, Port: route.Dev},
			at:      location{node: h.node, link: route.Dev, packet: h.packet},
			outside: true, reached: fmt.Sprintf("the network outside, by %s of the host %s", route.Dev, h.node.Name),
		}
		return
	}
	if !heard {
		if why, ok := h.unansweredBy(ctx, net, route.Dev, hop); ok {
			h.stop(journey.Dropped, why)
			return
		}
	}
	switch {
	case mac == "" && h.nobodyHas(net, route.Dev, hop):
		if why, down := h.managementDown(ctx, h.node, h.tuple.Dst); down {
			h.stop(journey.Dropped, why)
			return
		}
		h.stop(journey.Dropped, journey.Cause{Kind: journey.NeighbourFailed, Address: hop, Link: route.Dev})
		return
	case mac == "" && len(bridge.Uplinks) > 0:
		mac = anyMAC
		h.out.assume(journey.Assumption{Kind: journey.NextHopAnswers, Nodes: []string{h.node.Name}, Objects: []string{hop.String()}})
		h.step("neighbour", hop.String(), fmt.Sprintf("the MAC address of %s is not known yet: the host asks for it, and a reply is assumed", hop))
	case mac == "":
		h.stop(journey.Unknown, journey.Cause{Kind: journey.NeighbourUnread, Address: hop, Link: route.Dev})
		return
	}
	own := iface.MAC
	if link := net.Link(route.Dev); link != nil && link.MAC != "" {
		own = link.MAC
	}
	setMAC(&h.packet, "eth_src", own)
	setMAC(&h.packet, "eth_dst", mac)
	port := packet.PortID{Number: uint32(iface.OFPort)}
	if iface.Name == bridge.Name {
		port.Number = packet.PortLocal
	}
	h.hop.To = route.Dev
	h.out.next = &location{node: h.node, bridge: bridge.Name, port: port, packet: fresh(h.packet), carries: h.carries}
}

// decapsulate takes an outer packet that is for the host into its tunnel, unless a switch in userspace should have taken
// it before.
func (h *hostStep) decapsulate() {
	if h.netdev(h.node.Name) {
		h.stop(journey.Dropped, journey.Cause{Kind: journey.TunnelNotTaken, Node: h.node.Name, Address: h.tuple.Dst, Bridge: h.link})
		return
	}
	next := h.carries.to
	h.out.next = &next
}

// toHost sends an outer packet by a link that is no bridge's to the link with its destination.
func (h *hostStep) toHost(ctx context.Context) {
	to := h.carries.to.node
	if to == h.node {
		h.stop(journey.Unknown, journey.Cause{Kind: journey.HostUnread, Detail: "the packet does not leave the host"})
		return
	}
	h.out.assume(journey.Assumption{Kind: journey.PhysicalNetwork, Nodes: []string{h.node.Name, to.Name}})
	net, err := to.net(ctx)
	if err != nil {
		h.out.assume(journey.Assumption{Kind: journey.HostNetworks, Nodes: []string{to.Name}})
		next := h.carries.to
		h.out.next = &next
		return
	}
	at := &location{node: to, packet: fresh(h.packet), carries: h.carries}
	for _, a := range net.Addresses {
		if a.Prefix.Addr() == h.tuple.Dst {
			at.link = a.Link
		}
	}
	setMAC(&at.packet, "eth_dst", to.macAt(ctx, h.tuple.Dst))
	h.out.next = at
}

// masqueraded returns a masqueraded packet's source address: the one that the host prefers on the link.
func masqueraded(net *node.Network, route *node.Route, src netip.Addr) netip.Addr {
	if route.Src.IsValid() && route.Src != src {
		return route.Src
	}
	var found netip.Addr
	for _, a := range net.Addresses {
		addr := a.Prefix.Addr()
		if a.Link != route.Dev || addr.Is4() != src.Is4() || a.Scope != "global" {
			continue
		}
		if !found.IsValid() || route.Via.IsValid() && a.Prefix.Contains(route.Via) {
			found = addr
		}
	}
	return found
}

// anyMAC stands for the unknown MAC address of a host outside. Nothing there depends on it.
const anyMAC = "02:00:00:00:00:01"

// lostHop ends a packet if some of several next hops of its route are nobody's: which of them it takes is the kernel's choice.
func (h *hostStep) lostHop(net *node.Network, route *node.Route) bool {
	hops := net.NextHops(route, h.tuple.Dst)
	if len(hops) == 1 {
		return false
	}
	var lost []node.NextHop
	for _, hop := range hops {
		if hop.Via.IsValid() && h.nobodyHas(net, hop.Dev, hop.Via) {
			lost = append(lost, hop)
		}
	}
	if len(lost) == 0 {
		return false
	}
	h.stop(journey.Dropped, journey.Cause{Kind: journey.NeighbourFailed, Address: lost[0].Via, Link: lost[0].Dev})
	h.out.end.verdict.Partial = len(lost) < len(hops)
	return true
}

// nobodyHas reports whether nothing has an address behind a link: nobody answered for it, or it is not on the link's logical switch.
func (h *hostStep) nobodyHas(net *node.Network, link string, a netip.Addr) bool {
	if unanswered(net, link, a) {
		return true
	}
	port := h.node.ports[link]
	if port == nil || port.Switch == nil || slices.ContainsFunc(net.Neighbours, func(n node.Neighbour) bool { return n.Addr == a && n.Link == link && n.MAC != "" }) {
		return false
	}
	known, _ := h.onSwitch(port, a)
	return !known
}

// unanswered reports whether a neighbour has not replied to the kernel's requests for its MAC address.
func unanswered(net *node.Network, dev string, a netip.Addr) bool {
	return slices.ContainsFunc(net.Neighbours, func(n node.Neighbour) bool { return n.Link == dev && n.Addr == a && n.Silent() })
}

// unansweredBy explains why a node in reach does not answer when the kernel asks for its MAC address.
func (h *hostStep) unansweredBy(ctx context.Context, net *node.Network, dev string, a netip.Addr) (journey.Cause, bool) {
	v := h.holderView(ctx, a)
	if v == nil {
		return journey.Cause{}, false
	}
	source := h.tuple.Src
	if i := slices.IndexFunc(net.Addresses, func(x node.Address) bool { return x.Link == dev && x.Prefix.Contains(a) }); i >= 0 {
		source = net.Addresses[i].Prefix.Addr()
	}
	return asking{from: h.node, source: source, to: v, target: a, kernel: true}.unanswered(ctx, h.run, &h.out)
}

// neighbour returns a next hop's MAC address: the kernel's entry, which was heard, else OVN's.
func (h *hostStep) neighbour(ctx context.Context, net *node.Network, dev string, a netip.Addr) (mac string, heard bool) {
	for _, n := range net.Neighbours {
		if n.Link == dev && n.Addr == a && n.MAC != "" && !n.Silent() {
			return n.MAC, true
		}
	}
	mac, _, _ = h.macOf(ctx, h.node, a)
	return mac, false
}

func (h *hostStep) stop(o journey.Outcome, c journey.Cause) {
	c.Place = journey.OnHost
	h.out.end = &ending{verdict: journey.Verdict{Outcome: o, Node: h.node.Name, Port: h.link, Because: c}}
}

func (h *hostStep) step(stage, match, action string) {
	h.hop.Steps = append(h.hop.Steps, journey.Step{
		Pipeline: "host", Stage: stage, Table: -1, Match: match, Actions: []string{action}, Decoded: []string{}, Notes: []string{action},
	})
}

func routeText(r *node.Route) string {
	text := r.Type
	if r.Via.IsValid() {
		text += " via " + r.Via.String()
	}
	if r.Dev != "" {
		text += " dev " + r.Dev
	}
	return text
}

func macText(p packet.Flow, name string) string {
	f := packet.MustField(name)
	return f.Print(p.Get(f))
}

func setMAC(p *packet.Flow, name, text string) {
	if mac, ok := packet.ParseMAC(text); ok {
		p.Set(packet.MustField(name), mac)
	}
}
