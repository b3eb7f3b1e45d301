package trace

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/ovs"
)

// A tunnelled packet is on its way through a tunnel. The location that carries it has the outer packet.
type tunnelled struct {
	from *nodeView
	to   location // where it comes out: the tunnel port of the other node
}

// netdev reports whether a node's switch is known to run in userspace: then Open vSwitch itself encapsulates, with
// routes, neighbours and tunnel ends of its own, and the host's packet filter does not see tunnel packets.
func (d *deployment) netdev(node string) bool {
	n := d.graph.NodeByName(node)
	if n == nil {
		return false
	}
	b := d.bridgeOn(node, n.IntegrationBridge)
	return b != nil && b.DatapathType == "netdev"
}

// encapsulate continues with the outer packet of a tunnel, from the port or the host that sends it. Where that cannot be
// looked at, the packet comes out at the other end, and the verdict says what it assumes.
func (r *run) encapsulate(ctx context.Context, p location, port decode.OFPort, leaf ovs.Leaf, source, remote netip.Addr, to location, o *outcome) {
	c := &tunnelled{from: p.node, to: to}
	if r.sameMAC(ctx, c, source, remote, o) {
		return
	}
	frame := outerFrame(port, source, remote)
	if bridge, iface := r.interfaceOf(p.node.Name, leaf.Via); leaf.Via != "" && iface != nil {
		if cut, ok := noUplink(bridge); ok {
			o.end = &ending{verdict: r.stopped(p, o, journey.Dropped, cut)}
			return
		}
		if astray, ok := r.routedAstray(ctx, c, leaf, source, remote, o); ok {
			o.end = &ending{verdict: r.stopped(p, o, journey.Dropped, astray)}
			return
		}
		setMAC(&frame, "eth_src", iface.MAC)
		setMAC(&frame, "eth_dst", anyMAC)
		if mac := to.node.macAt(ctx, remote); mac != "" {
			setMAC(&frame, "eth_dst", mac)
		}
		if !leaf.Unresolved && leaf.Outer.Uint("eth_dst") != 0 {
			for _, name := range []string{"eth_src", "eth_dst"} {
				frame.Set(packet.MustField(name), leaf.Outer.Get(packet.MustField(name)))
			}
		}
		start := packet.PortID{Number: uint32(max(iface.OFPort, 0))}
		if iface.Name == bridge.Name {
			start.Number = packet.PortLocal
		}
		r.foresee(ctx, c, source, remote, frame)
		o.next = &location{node: p.node, bridge: bridge.Name, port: start, packet: frame, carries: c}
		return
	}
	if _, err := p.node.net(ctx); err != nil || !source.IsValid() {
		o.assume(journey.Assumption{Kind: journey.HostNetworks, Nodes: []string{p.node.Name, to.node.Name}})
		o.assume(journey.Assumption{Kind: journey.PhysicalNetwork, Nodes: []string{p.node.Name, to.node.Name}})
		o.next = &to
		return
	}
	foreseen := frame
	setMAC(&foreseen, "eth_src", p.node.macAt(ctx, source))
	setMAC(&foreseen, "eth_dst", to.node.macAt(ctx, remote))
	r.foresee(ctx, c, source, remote, foreseen)
	o.next = &location{node: p.node, packet: frame, carries: c}
}

// routedAstray explains why a switch in userspace does not send to the other end of a tunnel: by its own routes, which
// follow the kernel's, the next hop is the node itself, of another family, or silent, or nobody answers for the other end.
func (r *run) routedAstray(ctx context.Context, c *tunnelled, leaf ovs.Leaf, source, remote netip.Addr, o *outcome) (journey.Cause, bool) {
	from, hop := c.from, leaf.Remote
	switch {
	case from.macAt(ctx, remote) != "" && from != c.to.node:
		return journey.Cause{Kind: journey.OwnAddress, Node: from.Name, Address: remote, Chassis: c.to.node.Name}, true
	case hop.IsValid() && hop.Is4() != remote.Is4():
		return journey.Cause{Kind: journey.NoTunnelRoute, Node: from.Name, Address: remote, Detail: "none of its family"}, true
	case hop == remote && leaf.Unresolved:
		return asking{from: from, source: source, to: c.to.node, target: remote}.unanswered(ctx, r, o)
	case !hop.IsValid() || hop == remote || !leaf.Unresolved || r.holder(hop) != nil:
		return journey.Cause{}, false
	case from.silent(ctx, hop):
		return journey.Cause{Kind: journey.GatewaySilent, Node: from.Name, Address: hop, Other: remote}, true
	}
	o.assume(journey.Assumption{Kind: journey.NextHopAnswers, Nodes: []string{from.Name}, Objects: []string{hop.String()}})
	return journey.Cause{}, false
}

// otherOptions reports whether the two ends of a tunnel differ in a key or UDP port that somebody set by hand.
func (r *run) otherOptions(from, to *nodeView, out, in string) (journey.Cause, bool) {
	_, a := r.interfaceOf(from.Name, out)
	_, b := r.interfaceOf(to.Name, in)
	if a == nil || b == nil {
		return journey.Cause{}, false
	}
	for _, option := range []struct{ out, in string }{{"key", "key"}, {"out_key", "in_key"}, {"in_key", "out_key"}, {"dst_port", "dst_port"}} {
		switch mine, other := a.Options[option.out], b.Options[option.in]; {
		case mine == other:
		case other == "" || other == "flow":
			return journey.Cause{Kind: journey.TunnelOptions, Link: a.Name, Node: from.Name, Detail: option.out + "=" + mine}, true
		default:
			return journey.Cause{Kind: journey.TunnelOptions, Link: b.Name, Node: to.Name, Detail: option.in + "=" + other}, true
		}
	}
	return journey.Cause{}, false
}

// outerFrame returns the outer packet of a tunnel, without MAC addresses.
func outerFrame(port decode.OFPort, source, remote netip.Addr) packet.Flow {
	if !source.IsValid() || source.Is6() != remote.Is6() {
		source = netip.IPv4Unspecified()
		if remote.Is6() {
			source = netip.IPv6Unspecified()
		}
	}
	p := Packet{Protocol: "udp", Src: source, Dst: remote, SourcePort: 50000, Port: int(tunnelPort(port.Type))}
	return p.frame(noMAC, noMAC)
}

// tunnelPort returns the UDP port of a kind of tunnel.
func tunnelPort(kind string) uint16 {
	if kind == "vxlan" {
		return 4789
	}
	return 6081
}

// sameMAC ends a packet between two nodes with one MAC address: the network between them sends it to either, or back.
func (r *run) sameMAC(ctx context.Context, c *tunnelled, source, remote netip.Addr, o *outcome) bool {
	a, b := c.from.macAt(ctx, source), c.to.node.macAt(ctx, remote)
	if a == "" || !strings.EqualFold(a, b) {
		return false
	}
	cause := journey.Cause{Kind: journey.SameMAC, Node: c.from.Name, Chassis: c.to.node.Name, MAC: a}
	o.end = &ending{verdict: journey.Verdict{Outcome: journey.Dropped, Node: c.from.Name, Because: cause}}
	return true
}

// carry takes an outer packet through the bridges of one end of its tunnel. Of its copies only the one counts that
// leaves for the other end, or that comes out of the tunnel.
func (r *run) carry(ctx context.Context, p location, walk *ovs.Walk) (outcome, error) {
	var last *outcome
	var remarks []string
	for _, leaf := range walk.Leaves {
		o := outcome{hops: r.hops(ctx, p, leaf)}
		r.meteredBy(p, leaf, &o)
		remarks = append(remarks, leaf.Remarks...)
		switch leaf.Kind {
		case ovs.FromTunnel:
			next := p.carries.to
			o.next = &next
			return o, nil
		case ovs.ToPort:
			port, iface := r.bridgePort(p.node.Name, leaf.Bridge, leaf.Port.Number)
			if port == nil {
				continue
			}
			on := location{node: p.node, bridge: leaf.Bridge, port: leaf.Port, packet: leaf.Packet, carries: p.carries}
			o.leaveBy(portName(port, iface))
			switch {
			case port.Role == topology.RoleUplink && p.node == p.carries.from:
				return o, r.outside(ctx, on, iface.Name, &o)
			case (port.Role == topology.RoleLocal || port.Role == topology.RoleInternal) && p.node != p.carries.from:
				o.next = &location{node: p.node, link: iface.Name, packet: leaf.Packet, carries: p.carries}
				last = &o
			}
		case ovs.Unknown:
			o.end = &ending{verdict: r.stopped(p, &o, journey.Unknown, journey.Cause{Kind: journey.ActionUnknown, Detail: leaf.Reason})}
			last = &o
		}
	}
	if last != nil {
		return *last, nil
	}
	o := outcome{}
	if len(walk.Leaves) > 0 {
		o.hops = slices.DeleteFunc(r.hops(ctx, p, walk.Leaves[0]), func(h journey.Hop) bool { return h.Kind != "bridge" })
	}
	o.end = &ending{verdict: r.stopped(p, &o, journey.Dropped, r.notPassed(ctx, p, walk, remarks))}
	return o, nil
}

// leaveBy notes the port by which a packet leaves the last bridge.
func (o *outcome) leaveBy(port string) {
	if n := len(o.hops); n > 0 {
		o.hops[n-1].To = port
	}
}

// notPassed explains why a bridge does not pass a packet between its uplink and the host.
func (r *run) notPassed(ctx context.Context, p location, walk *ovs.Walk, remarks []string) journey.Cause {
	b := r.bridgeOn(p.node.Name, p.bridge)
	c := journey.Cause{Node: p.node.Name, Bridge: p.bridge, Kind: journey.NothingSendsItOn}
	if b != nil {
		if why, ok := mirrorsTo(b); ok {
			return why
		}
	}
	if len(walk.Leaves) > 0 {
		if last, ok := stepOn(walk.Leaves[0], p.bridge); ok {
			c.Table, c.Detail = tableText(last.Table), last.MatchText
			switch {
			case last.Miss != openflow.Hit:
				c.Kind, c.Detail = journey.NoOpenFlow, ""
				return c
			case len(last.Actions) == 0 || slices.Contains(last.Actions, "drop"):
				c.Kind = journey.OpenFlowDrops
				if why, ok := r.portRefuses(ctx, p); ok {
					return why
				}
				return c
			}
		}
		if reason := walk.Leaves[0].Reason; reason != "" {
			remarks = append(remarks, reason)
		}
	}
	if b == nil {
		return c
	}
	if why, ok := r.uplinkRefuses(ctx, p, b); ok {
		return why
	}
	if len(remarks) > 0 {
		c.Kind, c.Detail = journey.OVSDrops, strings.Join(slices.Compact(remarks), "; ")
	}
	return c
}

// stepOn returns the last step on a bridge.
func stepOn(leaf ovs.Leaf, bridge string) (ovs.Step, bool) {
	for _, s := range slices.Backward(leaf.Steps) {
		if s.Bridge == bridge && !s.Aside {
			return s, true
		}
	}
	return ovs.Step{}, false
}

// mirrorsTo reports whether an uplink of a bridge, or the bridge's own port, is the output of a mirror.
func mirrorsTo(b *topology.Bridge) (journey.Cause, bool) {
	for _, p := range b.Ports {
		if p.Mirror != "" && (p.Role == topology.RoleUplink || p.Role == topology.RoleLocal) {
			return journey.Cause{Kind: journey.MirrorOutput, Link: p.Name, Bridge: b.Name, Node: b.Node, Detail: p.Mirror}, true
		}
	}
	return journey.Cause{}, false
}

// portRefuses reports whether the port that a packet comes in by receives nothing.
func (r *run) portRefuses(ctx context.Context, p location) (journey.Cause, bool) {
	_, iface := r.bridgePort(p.node.Name, p.bridge, p.port.Number)
	if iface == nil {
		return journey.Cause{}, false
	}
	return r.configured(ctx, p, iface.Name, "NO_RECV")
}

// configured reports whether a port has an OpenFlow setting that keeps packets from passing.
func (r *run) configured(ctx context.Context, p location, name, setting string) (journey.Cause, bool) {
	ports, err := r.reads.ports(ctx, p.node.Node, p.bridge)
	if err != nil {
		return journey.Cause{}, false
	}
	for _, d := range ports {
		if d.Port.Name == name && slices.Contains(d.Config, setting) {
			return journey.Cause{Kind: journey.PortBlocked, Link: name, Bridge: p.bridge, Node: p.node.Name, Detail: setting}, true
		}
	}
	return journey.Cause{}, false
}

// uplinkRefuses explains why a bridge's uplink carries nothing, or not this packet.
func (r *run) uplinkRefuses(ctx context.Context, p location, b *topology.Bridge) (journey.Cause, bool) {
	if c, cut := noUplink(b); cut {
		return c, true
	}
	vlan := int(p.packet.Uint("dl_vlan"))
	for _, port := range b.Ports {
		if port.Role != topology.RoleUplink {
			continue
		}
		if why, ok := r.bondDown(ctx, p, port); ok {
			return why, true
		}
		for _, i := range port.Interfaces {
			for _, setting := range []string{"NO_FWD", "NO_FLOOD"} {
				if why, ok := r.configured(ctx, p, i.Name, setting); ok {
					return why, true
				}
			}
			if why, ok := blocked(ctx, p, i.Name); ok {
				return why, true
			}
		}
	}
	for _, port := range b.Ports {
		if why, ok := otherVLAN(port, vlan); ok {
			return journey.Cause{Kind: journey.VLANMismatch, Link: port.Name, Bridge: b.Name, Node: b.Node, Detail: why}, true
		}
	}
	return journey.Cause{}, false
}

// otherVLAN reports whether a port is in other VLANs than a packet's, 0 for none, and in which.
func otherVLAN(p *topology.BridgePort, vlan int) (string, bool) {
	switch {
	case p.Role != topology.RoleUplink && p.Role != topology.RoleLocal:
		return "", false
	case p.Tag != 0 && p.Tag != vlan && p.VLANMode != "native-tagged" && p.VLANMode != "native-untagged":
		return strconv.Itoa(p.Tag), true
	case len(p.Trunks) > 0 && !slices.Contains(p.Trunks, vlan):
		return strings.Trim(strings.ReplaceAll(fmt.Sprint(p.Trunks), " ", ", "), "[]"), true
	}
	return "", false
}
