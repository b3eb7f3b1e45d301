package trace

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/cause"
	"github.com/ovnctl/ovnctl/pkg/trace/ovs"
)

// An asking is a host's question on the underlay, who has another node's address, and the answer: ARP (RFC 826), or
// Neighbor Discovery (RFC 4861).
type asking struct {
	from   *nodeView
	source netip.Addr // of from
	to     *nodeView
	target netip.Addr // of to
	kernel bool       // from's kernel asks, not Open vSwitch
}

// unanswered explains why no answer comes: a bridge of either end stops the question or the answer, or the other node
// answers nobody. What cannot be looked at is taken to pass.
func (a asking) unanswered(ctx context.Context, r *run, o *outcome) (journey.Cause, bool) {
	ask, answer, ok := a.frames(ctx)
	if !ok || a.from == a.to {
		return journey.Cause{}, false
	}
	if why, deaf := a.deaf(ctx, o); deaf {
		return a.because(why), true
	}
	from, to := r.endOf(ctx, a.from, a.source), r.endOf(ctx, a.to, a.target)
	asked, why, stopped := r.passes(ctx, from, from.host, ask, topology.RoleUplink)
	if stopped {
		return a.because(why), true
	}
	if len(asked) > 0 {
		ask = fresh(asked[0].packet)
	}
	heard, why, stopped := r.passes(ctx, to, to.uplink, ask, topology.RoleUplink, topology.RoleLocal, topology.RoleInternal)
	if stopped {
		return a.because(why), true
	}
	// What goes back by the uplink is OVN's own answer: a gateway router may share the host's address.
	if i := slices.IndexFunc(heard, func(f frameAt) bool { return f.role == topology.RoleUplink }); i >= 0 {
		answer = heard[i].packet
	} else {
		if why, mute := a.mute(ctx, o); mute && (len(heard) > 0 || len(r.graph.PortsAt(a.target)) == 0) {
			return a.because(why), true
		}
		answered, why, stopped := r.passes(ctx, to, to.host, answer, topology.RoleUplink)
		if stopped {
			return a.because(why), true
		}
		if len(answered) > 0 {
			answer = answered[0].packet
		}
	}
	_, why, stopped = r.passes(ctx, from, from.uplink, fresh(answer), topology.RoleLocal, topology.RoleInternal)
	return a.because(why), stopped
}

// because returns the cause that there is no answer, by what keeps it away. A port that lets nothing pass is the cause itself.
func (a asking) because(why journey.Cause) journey.Cause {
	switch why.Kind {
	case journey.NoAnswer:
	case journey.OpenFlowDrops, journey.NoOpenFlow, journey.NothingSendsItOn, journey.OVSDrops: // of this frame
		why.Detail = cause.Words(why)
	default:
		return why
	}
	return journey.Cause{
		Kind: journey.NoAnswer, Node: why.Node, Bridge: why.Bridge, Link: why.Link,
		Chassis: a.from.Name, Address: a.target, Detail: why.Detail,
	}
}

// An underlayEnd is where a node's host and the underlay meet: a bridge. The bridge is empty if that is not known.
type underlayEnd struct {
	node         *nodeView
	bridge       string
	host, uplink packet.PortID
}

// endOf returns the end with an address of a node.
func (r *run) endOf(ctx context.Context, v *nodeView, a netip.Addr) underlayEnd {
	end := underlayEnd{node: v, host: packet.PortID{Number: packet.PortLocal}}
	_, link := v.addressOf(ctx, a)
	if link == nil {
		return end
	}
	b, iface := r.interfaceOf(v.Name, link.Name)
	if iface == nil || b.Name == v.names.Bridge {
		return end
	}
	bridge, uplink, ok := r.uplink(v.Name, b.Name)
	if !ok || bridge != b.Name {
		return end
	}
	if iface.Name != b.Name {
		end.host.Number = uint32(max(iface.OFPort, 0))
	}
	end.bridge, end.uplink = bridge, uplink
	return end
}

// A frameAt is a frame as it leaves a bridge by a port with a role.
type frameAt struct {
	packet packet.Flow
	role   string
}

// passes takes a frame through a bridge, and returns it as it leaves by ports with some roles. If it leaves by none,
// the bridge stops it, or that is not known.
func (r *run) passes(ctx context.Context, end underlayEnd, in packet.PortID, frame packet.Flow, roles ...string) (left []frameAt, why journey.Cause, stopped bool) {
	if end.bridge == "" {
		return nil, journey.Cause{}, false
	}
	at := location{node: end.node, bridge: end.bridge, port: in, packet: frame}
	start := ovs.Start{Bridge: at.bridge, Packet: at.packet}
	start.Packet.SetInPort(at.port)
	walk, err := ovs.Follow(ctx, at.node, at.node.Name, r.ct, start)
	if err != nil {
		return nil, journey.Cause{}, false
	}
	unknown := false
	var remarks []string
	for _, leaf := range walk.Leaves {
		port, _ := r.bridgePort(at.node.Name, leaf.Bridge, leaf.Port.Number)
		switch {
		case leaf.Kind == ovs.ToPort && port != nil && slices.Contains(roles, port.Role):
			left = append(left, frameAt{leaf.Packet, port.Role})
		case leaf.Kind == ovs.ToPort && port == nil, leaf.Kind == ovs.Unknown:
			unknown = true
		}
		remarks = append(remarks, leaf.Remarks...)
	}
	if unknown || len(left) > 0 {
		return left, journey.Cause{}, false
	}
	return nil, r.notPassed(ctx, at, walk, remarks), true
}

// frames returns the question and its answer; ok is false if a MAC address is unknown.
func (a asking) frames(ctx context.Context) (ask, answer packet.Flow, ok bool) {
	asker, has := a.from.macAt(ctx, a.source), a.to.macAt(ctx, a.target)
	if asker == "" || has == "" || a.source.Is4() != a.target.Is4() {
		return ask, answer, false
	}
	texts := []string{
		fmt.Sprintf("arp,dl_src=%s,dl_dst=ff:ff:ff:ff:ff:ff,arp_op=1,arp_spa=%s,arp_tpa=%s,arp_sha=%s", asker, a.source, a.target, asker),
		fmt.Sprintf("arp,dl_src=%s,dl_dst=%s,arp_op=2,arp_spa=%s,arp_tpa=%s,arp_sha=%s,arp_tha=%s", has, asker, a.target, a.source, has, asker),
	}
	if a.target.Is6() {
		last := a.target.As16()
		group := netip.AddrFrom16([16]byte{0: 0xff, 1: 2, 11: 1, 12: 0xff, 13: last[13], 14: last[14], 15: last[15]}) // RFC 4291, 2.7.1
		texts = []string{
			fmt.Sprintf("icmp6,dl_src=%s,dl_dst=33:33:ff:%02x:%02x:%02x,ipv6_src=%s,ipv6_dst=%s,nw_ttl=255,icmp_type=135,icmp_code=0,nd_target=%s,nd_sll=%s", asker, last[13], last[14], last[15], a.source, group, a.target, asker),
			fmt.Sprintf("icmp6,dl_src=%s,dl_dst=%s,ipv6_src=%s,ipv6_dst=%s,nw_ttl=255,icmp_type=136,icmp_code=0,nd_target=%s,nd_tll=%s", has, asker, a.target, a.source, a.target, has),
		}
	}
	frames := make([]packet.Flow, len(texts))
	for i, text := range texts {
		var err error
		if frames[i], err = packet.Parse(text); err != nil {
			return ask, answer, false
		}
	}
	return frames[0], frames[1], true
}

// mute reports whether the other node keeps silent: by the link's arp off, by net.ipv4.conf.*.arp_ignore (ip-sysctl of the
// kernel), or by its packet filter. Of IPv6 nothing of the kind is known.
func (a asking) mute(ctx context.Context, o *outcome) (journey.Cause, bool) {
	address, link := a.to.addressOf(ctx, a.target)
	net, err := a.to.net(ctx)
	if link == nil || err != nil || !a.target.Is4() {
		return journey.Cause{}, false
	}
	c := journey.Cause{Kind: journey.NoAnswer, Node: a.to.Name, Link: link.Name}
	if link.NoARP {
		c.Detail = "arp off, interface " + link.Name + " on " + a.to.Name
		return c, true
	}
	for _, of := range []string{"all", link.Name} { // the larger number counts
		setting := "net/ipv4/conf/" + of + "/arp_ignore"
		mode, _ := strconv.Atoi(net.Sysctl[setting])
		if mode == 8 || mode == 3 && address.Scope == "host" || mode == 2 && a.source.IsValid() && !address.Prefix.Contains(a.source) {
			c.Detail = fmt.Sprintf("%s=%d on %s", strings.ReplaceAll(setting, "/", "."), mode, a.to.Name)
			return c, true
		}
	}
	by, drops := filtersARP(ctx, a.to, o, a.packet(false, link.Name, ""), a.packet(true, "", link.Name))
	c.Detail = by
	return c, drops
}

// deaf reports whether the asking node's kernel does not ask, or does not hear the answer.
func (a asking) deaf(ctx context.Context, o *outcome) (journey.Cause, bool) {
	_, link := a.from.addressOf(ctx, a.source)
	if !a.kernel || link == nil || !a.target.Is4() {
		return journey.Cause{}, false
	}
	c := journey.Cause{Kind: journey.NoAnswer, Node: a.from.Name, Link: link.Name}
	if link.NoARP {
		c.Detail = "arp off, interface " + link.Name + " on " + a.from.Name
		return c, true
	}
	by, drops := filtersARP(ctx, a.from, o, a.packet(false, "", link.Name), a.packet(true, link.Name, ""))
	c.Detail = by
	return c, drops
}

// packet returns the question or the answer as a packet filter sees it.
func (a asking) packet(answer bool, in, out string) node.FilterPacket {
	p := node.FilterPacket{Protocol: "arp", Src: a.source, Dst: a.target, In: in, Out: out, Established: answer}
	if answer {
		p.Src, p.Dst = p.Dst, p.Src
	}
	return p
}

// filtersARP reports what in a node's packet filter drops one of some packets. That a filter which cannot be read, or is not
// understood, lets them pass is assumed.
func filtersARP(ctx context.Context, v *nodeView, o *outcome, packets ...node.FilterPacket) (by string, drops bool) {
	chains, err := v.firewall(ctx)
	did := node.FilterPasses
	for _, p := range packets {
		hooks := []string{"ingress", "input"}
		if p.Out != "" {
			hooks = []string{"output", "egress"}
		}
		if did == node.FilterPasses {
			did, by = node.Filter(chains, p, hooks...)
		}
	}
	if err != nil || did == node.FilterUnsure {
		o.assume(journey.Assumption{Kind: journey.Filters, Nodes: []string{v.Name}})
	}
	return by + " on " + v.Name, did == node.FilterDrops
}
