package trace

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/cause"
)

// outside takes a packet that leaves by an uplink to the node that owns its destination, or to the network outside.
func (r *run) outside(ctx context.Context, at location, link string, o *outcome) error {
	stop := func(c journey.Cause) error {
		o.end = &ending{at: at, verdict: journey.Verdict{Outcome: journey.Dropped, Node: at.node.Name, Datapath: at.bridge, Port: link, Because: c}}
		return nil
	}
	if c, ok := r.tooSmall(ctx, at, at.node, link); ok {
		return stop(c)
	}
	if c, ok := r.queueDrops(ctx, at, link); ok {
		return stop(c)
	}
	if c, ok := r.inOtherVLAN(ctx, at, link, o); ok {
		return stop(c)
	}
	if b := r.bridgeOn(at.node.Name, at.bridge); b != nil {
		if c, cut := noUplink(b); cut {
			return stop(c)
		}
	}
	if c, ok := r.wrongHop(ctx, at, o); ok {
		return stop(c)
	}
	o.assume(at.node.shaped(ctx, link)...)
	t, ok := at.packet.Tuple()
	if at.carries != nil {
		return r.toNode(ctx, at, at.carries.to.node.Node, o)
	}
	if ok {
		if n := r.holder(t.Dst); n != nil && n != at.node.Node {
			return r.toNode(ctx, at, n, o)
		}
		if v := r.notOutside(t.Dst, protocolName(t.Proto), t.DstPort); v != nil && r.holder(t.Dst) == nil {
			v.Node, v.Datapath = at.node.Name, lastRouter(o.hops)
			v.Because = r.routedOut(ctx, at.node, o.hops, v.Because)
			o.end = &ending{verdict: *v, at: at}
			return nil
		}
	}
	o.assume(journey.Assumption{Kind: journey.OutsideNetwork, Nodes: []string{at.node.Name}})
	o.end = &ending{
		at: at, outside: true, reached: fmt.Sprintf("the network outside, by %s of %s on %s", link, at.bridge, at.node.Name),
		verdict: journey.Verdict{Outcome: journey.Delivered, Node: at.node.Name, Datapath: at.bridge, Port: link},
	}
	return nil
}

// toNode takes a packet over the underlay to another node's uplink.
func (r *run) toNode(ctx context.Context, at location, n *cluster.Node, o *outcome) error {
	v, err := r.view(ctx, n)
	if err != nil {
		o.end = &ending{verdict: journey.Verdict{Outcome: journey.Unknown, Node: n.Name, Because: causeOf(err)}}
		return nil
	}
	t, _ := at.packet.Tuple()
	name := at.bridge
	if b := r.bridgeAt(ctx, v, t.Dst); b != nil {
		name = b.Name
		if c, cut := noUplink(b); cut {
			o.end = &ending{verdict: journey.Verdict{Outcome: journey.Dropped, Node: n.Name, Because: c}}
			return nil
		}
	}
	bridge, port, ok := r.uplink(n.Name, name)
	if !ok {
		c := journey.Cause{Kind: journey.UplinkNotFound, Node: n.Name}
		o.end = &ending{verdict: journey.Verdict{Outcome: journey.Unknown, Node: n.Name, Because: c}}
		return nil
	}
	if _, iface := r.bridgePort(n.Name, bridge, port.Number); iface != nil {
		if c, small := r.tooSmall(ctx, at, v, iface.Name); small {
			o.end = &ending{verdict: journey.Verdict{Outcome: journey.Dropped, Node: n.Name, Datapath: bridge, Because: c}}
			return nil
		}
	}
	frame := fresh(at.packet)
	if link := r.besideSwitch(ctx, v, macText(frame, "eth_dst"), t.Dst); link != "" && at.carries == nil {
		o.assume(journey.Assumption{Kind: journey.PhysicalNetwork, Nodes: []string{at.node.Name, n.Name}})
		o.next = &location{node: v, link: link, packet: frame}
		return nil
	}
	if c, wrong := r.wrongNeighbour(ctx, at, v, t.Dst); wrong {
		if at.carries == nil && lastRouter(o.hops) != "" {
			c.Place = ""
		}
		o.end = &ending{verdict: journey.Verdict{Outcome: journey.Dropped, Node: at.node.Name, Because: c}}
		return nil
	}
	if mac := v.macAt(ctx, t.Dst); mac != "" { // by a router in between, or not resolved yet
		setMAC(&frame, "eth_dst", mac)
	}
	o.assume(journey.Assumption{Kind: journey.PhysicalNetwork, Nodes: []string{at.node.Name, n.Name}})
	o.next = &location{node: v, bridge: bridge, port: port, packet: frame, carries: at.carries}
	if at.carries == nil {
		r.foreseeAnswer(*o.next)
	}
	return nil
}

// besideSwitch returns the link by which a node's kernel takes a frame for an address of its own past Open vSwitch: a switch in
// userspace leaves its ports to the kernel, too, and that answers ARP by each. It is empty if there is none.
func (r *run) besideSwitch(ctx context.Context, v *nodeView, mac string, a netip.Addr) string {
	net, err := v.net(ctx)
	_, own := v.addressOf(ctx, a)
	if err != nil || own == nil || strings.EqualFold(own.MAC, mac) {
		return ""
	}
	for _, l := range net.Links {
		if !l.Up || !strings.EqualFold(l.MAC, mac) {
			continue
		}
		if b, iface := r.interfaceOf(v.Name, l.Name); iface != nil && b.DatapathType == "netdev" && iface.Type != "internal" {
			return l.Name
		}
	}
	return ""
}

// bridgeAt returns the bridge on which a node has an address on the underlay; nil if that is unknown.
func (r *run) bridgeAt(ctx context.Context, v *nodeView, a netip.Addr) *topology.Bridge {
	_, link := v.addressOf(ctx, a)
	if link == nil {
		return nil
	}
	if b, iface := r.interfaceOf(v.Name, link.Name); iface != nil && b.Name != v.names.Bridge {
		return b
	}
	return nil
}

// wrongNeighbour reports whether a packet for a node's own address is sent to a MAC address that is neither the node's
// nor that of a router on the way.
func (r *run) wrongNeighbour(ctx context.Context, at location, v *nodeView, dst netip.Addr) (journey.Cause, bool) {
	sent, has := macText(at.packet, "eth_dst"), v.macAt(ctx, dst)
	if has == "" || sent == anyMAC || strings.EqualFold(sent, has) || at.packet.Uint("eth_dst")>>40&1 == 1 {
		return journey.Cause{}, false
	}
	net, err := at.node.net(ctx)
	if err != nil || slices.ContainsFunc(net.Neighbours, func(n node.Neighbour) bool { return n.Addr != dst && strings.EqualFold(n.MAC, sent) }) {
		return journey.Cause{}, false
	}
	return journey.Cause{Kind: journey.WrongNeighbour, Place: journey.OnHost, Node: at.node.Name, Address: dst, MAC: sent, Detail: has}, true
}

// resolving returns the step in which the last router on the way looked up the MAC address of its next hop, or asked for
// it; nil if there is none.
func resolving(hops []journey.Hop) *journey.Step {
	i := len(hops) - 1
	for i >= 0 && hops[i].Kind != "router" {
		i--
	}
	if i < 0 {
		return nil
	}
	steps := hops[i].Steps
	j := slices.IndexFunc(steps, func(s journey.Step) bool {
		return s.Before != nil && (strings.HasSuffix(s.Stage, "arp_resolve") || strings.HasSuffix(s.Stage, "arp_request"))
	})
	if j < 0 {
		return nil
	}
	return &steps[j]
}

// nextHop returns the address that a packet's MAC address was looked up for.
func nextHop(p packet.Flow, hops []journey.Hop) netip.Addr {
	if s := resolving(hops); s != nil {
		return cause.NextHop(s.Before)
	}
	t, _ := p.Tuple()
	return t.Dst
}

// wrongHop reports whether the last router on the way sends a packet to a MAC address that its next hop on the physical
// network does not have.
func (r *run) wrongHop(ctx context.Context, at location, o *outcome) (journey.Cause, bool) {
	s := resolving(o.hops)
	if s == nil || at.carries != nil {
		return journey.Cause{}, false
	}
	hop, sent := cause.NextHop(s.Before), macText(at.packet, "eth_dst")
	has, _ := r.macsOf(ctx, at.node, r.portText(at.node, s.Before.Uint("metadata"), s.Before.Uint("reg15")), hop)
	if len(has) > 0 && sent != anyMAC && !slices.Contains(has, strings.ToLower(sent)) {
		return journey.Cause{Kind: journey.WrongNeighbour, Node: at.node.Name, Address: hop, MAC: sent, Detail: has[0]}, true
	}
	if net, err := at.node.net(ctx); err == nil && len(has) == 0 && slices.ContainsFunc(net.Neighbours, func(x node.Neighbour) bool {
		return x.Addr == hop && x.MAC != "" && !strings.EqualFold(x.MAC, sent) && sent != anyMAC // heard from, but not lately
	}) {
		o.assume(journey.Assumption{Kind: journey.NextHopAnswers, Nodes: []string{at.node.Name}, Objects: []string{hop.String() + " at " + sent}})
	}
	return journey.Cause{}, false
}

// cutOff explains why a node cannot send to an underlay address, or hear from it. If the node's kernel cannot be read,
// it is assumed to be able to.
func (r *run) cutOff(ctx context.Context, v *nodeView, a netip.Addr) (journey.Cause, bool) {
	route, err := v.Host.Route(ctx, node.RouteQuery{Dst: a})
	if err != nil || route.Type == "local" {
		return journey.Cause{}, false
	}
	if route.Type != "unicast" {
		return journey.Cause{Kind: journey.NoTunnelRoute, Node: v.Name, Address: a, Detail: route.Type}, true
	}
	if b := r.bridgeOn(v.Name, route.Dev); b != nil {
		return noUplink(b)
	}
	return journey.Cause{}, false
}

// bridgeOn returns a node's bridge by name; nil if there is none.
func (d *deployment) bridgeOn(node, name string) *topology.Bridge {
	bridges := d.graph.BridgesOf(node)
	i := slices.IndexFunc(bridges, func(b *topology.Bridge) bool { return b.Name == name })
	if i < 0 {
		return nil
	}
	return bridges[i]
}

// noUplink explains why nothing gets from a bridge to the network outside; ok is false if something does.
func noUplink(b *topology.Bridge) (journey.Cause, bool) {
	if len(b.Uplinks) == 0 {
		return journey.Cause{Kind: journey.NoUplink, Bridge: b.Name, Node: b.Node}, true
	}
	for _, p := range b.Ports {
		if !slices.Contains(b.Uplinks, p.Name) {
			continue
		}
		for _, i := range p.Interfaces {
			if i.LinkState != "down" && i.OFPort > 0 {
				return journey.Cause{}, false
			}
		}
	}
	return journey.Cause{Kind: journey.UplinkDown, Link: b.Uplinks[0], Bridge: b.Name, Node: b.Node}, true
}

// unanswered explains why no reply comes from outside to a packet that left with a source address; nil if one does. A
// reply to an underlay address is assumed, unless a host chose an address that neither it nor anybody known has.
func (r *run) unanswered(e *ending, src, dst netip.Addr) *journey.Verdict {
	if r.holder(src) != nil && (r.linkedToUnderlay(src) || len(r.graph.PortsAt(src)) == 0 || !private(src)) {
		return nil
	}
	if r.linkedToUnderlay(src) {
		net := e.at.node.network // the host chose the source where no router routed last
		if net == nil || lastRouter(e.hops) != "" || r.virtual(src) || net.Owns(src) {
			return nil
		}
		return dropped(journey.Cause{Kind: journey.NobodyAnswers, Place: journey.Outside, Address: src})
	}
	return r.noRouteBack(src, dst)
}

// linkedToUnderlay reports whether an address is in an underlay network, as far as the databases and the nodes that
// were read know.
func (r *run) linkedToUnderlay(a netip.Addr) bool {
	if r.onUnderlay(a) {
		return true
	}
	for _, v := range r.views {
		if v.network == nil {
			continue
		}
		for _, x := range v.network.Addresses {
			b := r.bridgeOn(v.Name, x.Link)
			if b != nil && len(b.Uplinks) > 0 && x.Prefix.Contains(a) {
				return true
			}
		}
	}
	return false
}
