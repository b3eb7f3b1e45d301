package trace

import (
	"cmp"
	"context"
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/trace/ovn"
)

// translated returns the rule by which a workload's packet filter leads the first packet of a connection elsewhere: on its way out at
// hook "output", or in at "prerouting". Its address and port are then complete.
func translated(pod *node.PodNet, p packet.Tuple, hook string) (node.Translation, bool) {
	f := filterPacket(p, false)
	if hook == "output" {
		f.Out = pod.Link.Name
	} else {
		f.In = pod.Link.Name
	}
	rule, ok := node.Translate(pod.Firewall, f, hook)
	if !ok {
		return rule, false
	}
	switch { // nft(8): what is redirected goes to the address of the link that it came in by, or to the loopback address
	case rule.To.IsValid():
	case hook == "prerouting":
		rule.To = p.Dst
	case p.Dst.Is4():
		rule.To = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	default:
		rule.To = netip.IPv6Loopback()
	}
	rule.Port = cmp.Or(rule.Port, p.DstPort)
	return rule, rule.To != p.Dst || rule.Port != p.DstPort
}

// led returns the verdict for a packet that the packet filter of the workload behind a link leads elsewhere: to where nothing there
// listens, or out of it. It is nil if it is received there, as by a proxy, and where the rules leave that open.
func (v *nodeView) led(link string, pod *node.PodNet, p packet.Tuple, hook string) *journey.Verdict {
	rule, ok := translated(pod, p, hook)
	if !ok || !rule.Sure {
		return nil
	}
	c := journey.Cause{Detail: rule.Chain + ": " + rule.Rule, Service: netip.AddrPortFrom(rule.To, rule.Port).String()}
	if protocol := protocolName(p.Proto); protocol != "tcp" && protocol != "udp" {
		c.Service = rule.To.String()
	}
	own := rule.To.IsLoopback() || pod.Network.Owns(rule.To)
	if !own {
		c.Kind = journey.SentElsewhere
		return v.inWorkload(link, journey.Unknown, c)
	}
	p.Dst, p.DstPort = rule.To, rule.Port
	by := pod.Link.Name
	if hook == "output" {
		by = "lo"
	}
	refused, outcome, ok := unreceived(pod.Sockets, p, by)
	switch {
	case !ok:
		return nil
	case refused.Kind == journey.NobodyListens:
		c.Kind = journey.NobodyBehind
		c.Service = protocolName(p.Proto) + " " + c.Service
	default:
		c = refused
	}
	return v.inWorkload(link, outcome, c)
}

// otherSource returns the verdict for a packet that a workload does not send from its port's address, if port security drops it then:
// its route prefers another address, or its packet filter sets one.
func (v *nodeView) otherSource(ctx context.Context, link string, pod *node.PodNet, p packet.Tuple) *journey.Verdict {
	now, c := p.Src, journey.Cause{Kind: journey.OtherSource, Address: p.Dst}
	unbound := p
	unbound.Src = netip.Addr{}
	route, err := routeOf(ctx, pod, unbound)
	if err == nil && route.Type == "unicast" && route.Dev == pod.Link.Name && route.Src.IsValid() {
		now = route.Src
	}
	f := filterPacket(p, false)
	f.Src, f.Out = now, pod.Link.Name
	if rule, ok := node.Translate(pod.Firewall, f, "postrouting"); ok && rule.Sure {
		source := rule.To
		if !source.IsValid() && err == nil {
			source = masqueraded(pod.Network, route, now)
		}
		if source.IsValid() {
			now, c = source, journey.Cause{Kind: journey.OtherSourceNAT, Detail: rule.Chain + ": " + rule.Rule}
		}
	}
	if port := v.ports[link]; now == p.Src || port == nil || !ovn.Secures(port.PortSecurity, now) {
		return nil
	}
	c.Other = now
	return v.inWorkload(link, journey.Dropped, c)
}
