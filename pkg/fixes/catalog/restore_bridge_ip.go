package catalog

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// RestoreBridgeIP gives a bridge its addresses and routes back.
var RestoreBridgeIP = &fixes.Repair{
	Name: "restore-bridge-ip",
	Doc: `Give a bridge its addresses and routes back

If the bridge's uplink has them, as after a boot, everything is moved: addresses of
both families with their flags, secondary ones, routes of all tables, rules that name
the uplink, static neighbours, settings. The bridge gets everything before the uplink
loses anything.

If no link has them, they come from the host's network files, or else from the tunnel
address of this chassis, with the prefix length and gateway that the Northbound or
another node knows. Nothing is guessed: if sources disagree, it refuses. An uplink
that is down is set up, too.

It changes the running system. The plan names what brings the fault back at the next boot.`,
	Params: []fixes.Param{{Name: "BRIDGE", Doc: "the bridge that lost its addresses"}},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "bridge-ip-lost-after-reboot",
	Plan: onUplink(func(h *snapshot.Host, n *node.Network, u facts.Uplink, _ fixes.Args) (*fixes.Plan, error) {
		bridge := u.Bridge.Name
		own := facts.Global(n, bridge)
		switch moves := uplinkHasAddresses(n, u); {
		case moves && u.Port == nil:
			return nil, fixes.Refuse(fixes.Command("ovnctl fix attach-uplink %s %s, which also moves the addresses", bridge, u.Link()),
				"%s is not in bridge %s: without it the addresses would be cut off there", u.Link(), bridge)
		case moves:
			return planMove(h, n, u)
		case len(own) > 0:
			return nil, fixes.Refuse("", "bridge %s has %s", bridge, own[0].Prefix)
		}
		all, err := lostAddresses(h, n, u)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			return nil, fixes.Refuse(fixes.Command("ip addr add ADDRESS/LENGTH dev %s", bridge),
				"nothing shows which addresses %s had: neither a file of the host nor the tunnel address of this chassis", bridge)
		}
		more, warnings := giveBack(n, n.Link(bridge), all)
		addresses := strings.Join(namesOf(all, func(l lost) string { return l.prefix.String() }), ", ")
		return &fixes.Plan{
			Title:    "give bridge " + bridge + " its addresses and routes back",
			Host:     h.Name,
			Steps:    []fixes.Step{fixes.Network{Changes: append(setUp(n, u), more...), What: fmt.Sprintf("give %s %s", bridge, addresses)}},
			Touches:  "all traffic of this host through " + bridge,
			Warnings: append(warnings, atBoot(h, u.Link(), bridge)...),
			Cuts:     true,
		}, nil
	}),
}

// uplinkLinks are the links of an uplink that is in its bridge.
func uplinkLinks(u facts.Uplink) []string {
	if u.Port == nil {
		return nil
	}
	return slices.Clone(u.Links)
}

// setUp sets a bridge and its uplink up, as far as they are down: who gave no address may not have set the uplink up either.
func setUp(n *node.Network, u facts.Uplink) (changes []fixes.LinkChange) {
	for _, name := range append(uplinkLinks(u), u.Bridge.Name) {
		if l := n.Link(name); l != nil && !l.Up {
			changes = append(changes, linkUp(l))
		}
	}
	return changes
}

// linkUp sets a link up.
func linkUp(l *node.Link) fixes.LinkChange {
	up := true
	return fixes.LinkChange{Up: &up, Link: l.Name, Index: l.Index}
}

// A lost is an address that a bridge lost, and the source that knows it.
type lost struct {
	prefix   netip.Prefix
	source   string
	gateways []netip.Addr // of default routes
	sources  []string     // sources of the gateways
}

// lostAddresses returns the addresses that a bridge should have and no link has: those in the host's own files, and the
// tunnel address with a prefix length from another source. It refuses if sources disagree.
func lostAddresses(h *snapshot.Host, n *node.Network, u facts.Uplink) ([]lost, error) {
	files, err := fromFiles(h, u)
	if err != nil {
		return nil, err
	}
	encaps, encapSource := facts.EncapIPs(h)
	var found []lost
	for _, l := range files {
		if facts.Holder(n, l.prefix.Addr()) == nil {
			found = append(found, l)
		}
	}
	for _, ip := range encaps {
		if facts.Holder(n, ip) != nil || slices.ContainsFunc(found, func(l lost) bool { return l.prefix.Addr() == ip }) {
			continue
		}
		if same := slices.IndexFunc(found, func(l lost) bool { return l.prefix.Addr().Is4() == ip.Is4() }); same >= 0 {
			return nil, fixes.Refuse(fixes.Command("set the one that is right: ip addr add ADDRESS dev %s", u.Bridge.Name),
				"%s could have two addresses: %s by %s, %s by %s", u.Bridge.Name, found[same].prefix, found[same].source, ip, encapSource)
		}
		l, err := withLength(h, u, ip, encapSource)
		if err != nil {
			return nil, err
		}
		found = append(found, l)
	}
	for i := range found {
		if len(found[i].gateways) == 0 {
			found[i].gateways, found[i].sources = gatewaysOf(h, u, found[i].prefix)
		}
		if len(found[i].gateways) > 1 {
			return nil, fixes.Refuse(fixes.Command("add the route that is right: ip route add default via GATEWAY dev %s", u.Bridge.Name),
				"%s could have two gateways: %s", u.Bridge.Name, strings.Join(found[i].sources, ", "))
		}
	}
	return found, nil
}

// fromFiles returns the bridge's fixed addresses in the host's files, or those of its uplink if they do not name the
// bridge.
func fromFiles(h *snapshot.Host, u facts.Uplink) ([]lost, error) {
	all, err := facts.PersistentOf(h)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{u.Bridge.Name, u.Link()} {
		var found []lost
		for _, p := range all {
			if p.Link == name && name != "" {
				found = addFixed(found, p)
			}
		}
		if found != nil {
			return found, nil
		}
	}
	return nil, nil
}

// addFixed adds the addresses of an entry in a host file, with their gateways.
func addFixed(found []lost, p facts.Persistent) []lost {
	for _, a := range p.Addresses {
		if slices.ContainsFunc(found, func(x lost) bool { return x.prefix == a }) {
			continue
		}
		l := lost{prefix: a, source: p.String()}
		for _, g := range p.Gateways {
			if a.Contains(g) && !slices.Contains(l.gateways, g) {
				l.gateways, l.sources = append(l.gateways, g), append(l.sources, fmt.Sprintf("%s by %s", g, p))
			}
		}
		found = append(found, l)
	}
	return found
}

// withLength finds the prefix length of an address.
func withLength(h *snapshot.Host, u facts.Uplink, ip netip.Addr, source string) (lost, error) {
	var found []lost
	add := func(bits int, by string) {
		p := netip.PrefixFrom(ip, bits)
		if !slices.ContainsFunc(found, func(l lost) bool { return l.prefix == p }) {
			found = append(found, lost{prefix: p, source: source + ", prefix length by " + by})
		}
	}
	for _, g := range gatewayRouters(h) {
		for _, p := range g.networks {
			if p.Contains(ip) {
				add(p.Bits(), "logical router port "+g.port)
			}
		}
	}
	for _, other := range h.Deployment().Hosts {
		n, err := other.Network()
		if other == h || err != nil {
			continue
		}
		for _, a := range facts.Global(n, u.Bridge.Name) {
			if a.Prefix.Contains(ip) {
				add(a.Prefix.Bits(), fmt.Sprintf("%s of %s", a.Prefix, other.Name))
			}
		}
	}
	switch len(found) {
	case 0:
		return lost{}, fixes.Refuse(fixes.Command("ip addr add %s/LENGTH dev %s, with the length of its network", ip, u.Bridge.Name),
			"%s should have %s (%s), but nothing shows the prefix length", u.Bridge.Name, ip, source)
	case 1:
		return found[0], nil
	}
	return lost{}, fixes.Refuse(fixes.Command("ip addr add %s/LENGTH dev %s", ip, u.Bridge.Name), "the network of %s could be %s (%s) or %s (%s)",
		ip, found[0].prefix, found[0].source, found[1].prefix, found[1].source)
}

// gatewaysOf returns the next hops of default routes in a network.
func gatewaysOf(h *snapshot.Host, u facts.Uplink, prefix netip.Prefix) (found []netip.Addr, sources []string) {
	add := func(g netip.Addr, by string) {
		if g.IsValid() && prefix.Contains(g) && !slices.Contains(found, g) {
			found, sources = append(found, g), append(sources, fmt.Sprintf("%s by %s", g, by))
		}
	}
	for _, g := range gatewayRouters(h) {
		for _, hop := range g.defaults {
			add(hop, "the default route of router "+g.name)
		}
	}
	if found != nil {
		return found, sources
	}
	for _, other := range h.Deployment().Hosts {
		n, err := other.Network()
		if other == h || err != nil {
			continue
		}
		for _, r := range n.Routes {
			if r.Dev == u.Bridge.Name && r.Dst.Bits() == 0 && r.Table == 254 {
				add(r.Via, "the default route of "+other.Name)
			}
		}
	}
	return found, sources
}

// A gatewayRouter is a port of one chassis' gateway router, with what it knows of the network around it.
type gatewayRouter struct {
	name, port string
	networks   []netip.Prefix
	defaults   []netip.Addr
}

func gatewayRouters(h *snapshot.Host) []gatewayRouter {
	z := h.Zone()
	if z == nil {
		return nil
	}
	rows, err := z.Northbound()
	if err != nil {
		return nil
	}
	chassis, _, _ := h.ChassisName()
	var found []gatewayRouter
	for _, r := range rows.Routers {
		if chassis == "" || r.Options["chassis"] != chassis {
			continue
		}
		g := gatewayRouter{name: r.Name}
		for _, s := range rows.StaticRoutes {
			if !r.StaticRoutes.Has(s.UUID) || s.IPPrefix != "0.0.0.0/0" && s.IPPrefix != "::/0" {
				continue
			}
			if a, err := netip.ParseAddr(s.Nexthop); err == nil {
				g.defaults = append(g.defaults, a)
			}
		}
		for _, p := range rows.RouterPorts {
			if r.Ports.Has(p.UUID) {
				found = append(found, g.at(p))
			}
		}
	}
	return found
}

func (g gatewayRouter) at(p nb.LogicalRouterPort) gatewayRouter {
	g.port, g.networks = p.Name, nil
	for _, n := range p.Networks {
		if prefix, err := netip.ParsePrefix(n); err == nil {
			g.networks = append(g.networks, prefix)
		}
	}
	return g
}

// giveBack returns the changes that restore what a link lost.
func giveBack(n *node.Network, l *node.Link, all []lost) (changes []fixes.LinkChange, warnings []string) {
	for _, x := range all {
		a := node.Address{Link: l.Name, Prefix: x.prefix, Scope: "global"}
		if x.prefix.Addr().Is6() {
			a.Flags = []string{"nodad"}
			if key := "net/ipv6/conf/" + l.Name + "/disable_ipv6"; n.Sysctl[key] == "1" {
				changes = append(changes, fixes.LinkChange{Set: &fixes.Sysctl{Name: key, Before: "1", After: "0"}, Link: l.Name, Index: l.Index})
			}
		} else if x.prefix.Bits() < 31 {
			a.Broadcast = broadcast(x.prefix)
		}
		if facts.Holder(n, x.prefix.Addr()) == nil {
			changes = append(changes, fixes.LinkChange{Add: &a, Link: l.Name, Index: l.Index})
			warnings = append(warnings, fmt.Sprintf("%s is from %s", x.prefix, x.source))
		}
	}
	for _, x := range all {
		if len(x.gateways) == 0 {
			warnings = append(warnings, fmt.Sprintf("nothing names a gateway in %s: if there was a default route through %s, add it by hand", x.prefix.Masked(), l.Name))
			continue
		}
		if hasDefault(n, x.gateways[0].Is6()) {
			continue
		}
		r := defaultVia(x.gateways[0], l.Name)
		changes = append(changes, fixes.LinkChange{Route: &r, Link: l.Name, Index: l.Index})
		warnings = append(warnings, "the gateway is "+x.sources[0])
	}
	return changes, warnings
}

func defaultVia(gateway netip.Addr, dev string) node.Route {
	r := node.Route{Type: "unicast", Table: 254, Via: gateway, Dev: dev, Protocol: "static", Scope: "global"}
	if gateway.Is6() {
		r.Dst, r.Metric = netip.PrefixFrom(netip.IPv6Unspecified(), 0), 1024
	} else {
		r.Dst = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	return r
}

// hasDefault reports whether the host has a default route of a family.
func hasDefault(n *node.Network, six bool) bool {
	return slices.ContainsFunc(n.Routes, func(r node.Route) bool {
		return r.Table == 254 && r.Type == "unicast" && r.Dst.Bits() == 0 && r.Dst.Addr().Is6() == six
	})
}

// broadcast returns the last address of an IPv4 network.
func broadcast(p netip.Prefix) netip.Addr {
	b := p.Addr().As4()
	for i := p.Bits(); i < 32; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	return netip.AddrFrom4(b)
}
