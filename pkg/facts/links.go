package facts

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/nb"
)

// Unlinked are the router ports that lead nowhere: no switch port names them, they have no peer, and they do not stand for
// the port of a transit router in another zone, which names its chassis.
func (l *Logical) Unlinked() []*nb.LogicalRouterPort {
	var out []*nb.LogicalRouterPort
	for i := range l.RouterPorts {
		p := &l.RouterPorts[i]
		if len(l.Links[p.Name]) == 0 && len(p.Peer) == 0 && p.Options["requested-chassis"] == "" {
			out = append(out, p)
		}
	}
	return out
}

// Fits are those of some router ports that belong on a switch: the switch's ports
// have addresses in one of their networks, or its other routers have theirs there.
// A router port whose network is reached by another link of the switch already
// belongs there only if it is on another router.
func (l *Logical) Fits(s *nb.LogicalSwitch, ports []*nb.LogicalRouterPort) []*nb.LogicalRouterPort {
	if len(ports) == 0 {
		return nil
	}
	var here []netip.Addr
	for _, p := range l.PortsOf[s.UUID] {
		for _, a := range PortAddresses(p) {
			for _, ip := range a.IPs {
				here = append(here, ip.Addr())
			}
		}
	}
	if n, err := netip.ParsePrefix(s.OtherConfig["subnet"]); err == nil {
		here = append(here, n.Addr())
	}
	if a, err := netip.ParseAddr(s.OtherConfig["ipv6_prefix"]); err == nil {
		here = append(here, a)
	}
	gateways := l.Gateways(s)
	for _, g := range gateways {
		for _, n := range Networks(g) {
			here = append(here, n.Addr())
		}
	}
	var out []*nb.LogicalRouterPort
	for _, p := range ports {
		overlaps := slices.ContainsFunc(gateways, func(g *nb.LogicalRouterPort) bool {
			return l.RouterOf[g.UUID] == l.RouterOf[p.UUID] && overlapping(g, p)
		})
		if !overlaps && slices.ContainsFunc(Networks(p), func(n netip.Prefix) bool { return slices.ContainsFunc(here, n.Masked().Contains) }) {
			out = append(out, p)
		}
	}
	return out
}

func overlapping(a, b *nb.LogicalRouterPort) bool {
	for _, n := range Networks(a) {
		for _, m := range Networks(b) {
			if n.Overlaps(m) {
				return true
			}
		}
	}
	return false
}

// A LinkFault is what is wrong with a switch port that leads to a router.
type LinkFault string

// What can be wrong with a link, the first that applies.
const (
	LinkFine    LinkFault = ""
	LinkType    LinkFault = "it names a router port, but its type is not router"
	LinkNoName  LinkFault = "it names no router port"
	LinkNoPort  LinkFault = "it names a router port that does not exist"
	LinkAddress LinkFault = "its addresses are not those of the router port"
)

// CheckLink says what is wrong with a port's link to a router; of a port that has nothing to
// do with routers it is LinkFine.
func (l *Logical) CheckLink(p *nb.LogicalSwitchPortBrief) LinkFault {
	name := p.Options["router-port"]
	if p.Type != "router" {
		if name == "" || l.RouterPort[name] == nil || p.Type == "remote" {
			return LinkFine
		}
		return LinkType
	}
	rp := l.RouterPort[name]
	switch {
	case name == "":
		return LinkNoName
	case rp == nil:
		return LinkNoPort
	}
	for _, text := range p.Addresses {
		if text == "router" || text == "unknown" {
			return LinkFine
		}
		if a, ok := ParseAddress(text); ok && strings.EqualFold(a.MAC, rp.MAC) {
			return LinkFine
		}
	}
	return LinkAddress
}
