package host

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

var HostPathAstray = &doctor.Check{
	Name:     "host-path-astray",
	Category: "node-os",
	Doc: `A host sends packets for another node or its pods astray

A permanent neighbour entry of the host has a MAC address that the other node, or OVN's router, does not have, or a
route or rule refuses packets to another node or to the pods that it should reach, or sends them to a next hop that
does not answer, or a policy of IPsec blocks them, or has them encrypted where there is no security association.`,
	Causes: []string{"ipsec-down"},
	Settle: true,
	Host: doctor.OnNode(func(p *doctor.Pass, n *doctor.Node) {
		wrongRouter(p, n)
		refusingRoutes(p, n)
		silentHops(p, n)
		otherWay(p, n)
		ipsecPolicies(p, n)
	}),
	Run: func(p *doctor.Pass) {
		var senders []*snapshot.Host
		for _, h := range p.Hosts {
			if permanent(h) {
				senders = append(senders, h)
			}
		}
		if len(senders) == 0 {
			return
		}
		all := map[*snapshot.Host]*node.Network{}
		for _, h := range p.Hosts {
			if net := neighbourhood(h); net != nil {
				all[h] = net
			}
		}
		for _, h := range senders {
			wrongNeighbours(p, h, all)
		}
	},
}

// permanent reports whether a node has permanent entries for its neighbours.
func permanent(h *snapshot.Host) bool {
	has, _ := snapshot.Distil(h, "permanent neighbours", func() (bool, error) {
		net := neighbourhood(h)
		return net != nil && len(net.Neighbours) > 0, nil
	})
	return has
}

// neighbourhood returns what of a node's network its neighbours depend on: its addresses, the MAC addresses of its links, and its permanent
// neighbour entries; nil if it is no node or cannot be read, which Host reports.
func neighbourhood(h *snapshot.Host) *node.Network {
	if _, err := h.Switch(); err != nil {
		return nil
	}
	whole, err := h.Network()
	if err != nil {
		return nil
	}
	net := &node.Network{Addresses: whole.Addresses}
	for _, l := range whole.Links {
		net.Links = append(net.Links, node.Link{Name: l.Name, MAC: l.MAC})
	}
	for _, entry := range whole.Neighbours {
		if entry.State == "permanent" && entry.MAC != "" && entry.Addr.IsGlobalUnicast() && connected(whole, entry) {
			net.Neighbours = append(net.Neighbours, entry)
		}
	}
	return net
}

// wrongNeighbours reports permanent entries for the addresses of other nodes that none of their links has.
func wrongNeighbours(p *doctor.Pass, h *snapshot.Host, all map[*snapshot.Host]*node.Network) {
	own := all[h]
	if own == nil {
		return // not readable any more
	}
	for _, entry := range own.Neighbours {
		for _, other := range p.Hosts {
			there := all[other]
			if other == h || there == nil {
				continue
			}
			has := holder(there, entry.Addr)
			if has == nil || has.MAC == "" || !connectedLike(own, entry, there) || hasMAC(there, entry.MAC) {
				continue
			}
			p.Report(doctor.Finding{
				Object: doctor.NodeObject(h.Name),
				Reason: "neighbour",
				Also:   []doctor.Object{doctor.NodeObject(other.Name), doctor.LinkObject(h, entry.Link)},
				Title:  fmt.Sprintf("%s sends packets for %s to %s, but %s has the address on %s with %s", h.Name, entry.Addr, entry.MAC, other.Name, has.Name, has.MAC),
				Evidence: []doctor.Evidence{
					doctor.Neighbours(entry.Link).On(h.Name).Says(fmt.Sprintf("%s lladdr %s PERMANENT", entry.Addr, entry.MAC)),
					doctor.Link(has.Name).On(other.Name).Says("address " + has.MAC),
				},
				Cause:  "the entry was added by hand or by a tool, and the other node's MAC address is another one, or has changed",
				Effect: "what this host sends to " + other.Name + " is lost: probes of pods, the API of the cluster, tunnels of a switch in the kernel",
				Fix:    catalog.DeleteNeighbour.With(entry.Link, entry.Addr.String()),
			})
		}
	}
}

// wrongRouter reports permanent entries for OVN's router on the host's port of the overlay.
func wrongRouter(p *doctor.Pass, n *doctor.Node) {
	link, err := facts.PodLinkOf(n.Host)
	if err != nil || link == nil {
		return
	}
	entries := slices.DeleteFunc(slices.Clone(n.Net.Neighbours), func(entry node.Neighbour) bool {
		return entry.Link != link.Link || entry.State != "permanent" || entry.MAC == ""
	})
	if len(entries) == 0 {
		return // the topology need not be read
	}
	g, err := facts.GraphOf(p.Deployment)
	if err != nil {
		return
	}
	for _, entry := range entries {
		for _, port := range g.PortsAt(entry.Addr) {
			if port.Kind != topology.RouterPort || len(port.MACs) == 0 || slices.ContainsFunc(port.MACs, func(mac string) bool { return strings.EqualFold(mac, entry.MAC) }) {
				continue
			}
			p.Report(doctor.Finding{
				Object: doctor.NodeObject(n.Name),
				Reason: "router-neighbour",
				Also:   []doctor.Object{doctor.PortObject(port.Name), doctor.LinkObject(n.Host, entry.Link)},
				Title:  fmt.Sprintf("%s sends packets for the pods to %s, but router port %s has %s at %s", n.Name, entry.MAC, port.Name, entry.Addr, port.MACs[0]),
				Evidence: []doctor.Evidence{
					doctor.Neighbours(entry.Link).On(n.Name).Says(fmt.Sprintf("%s lladdr %s PERMANENT", entry.Addr, entry.MAC)),
					doctor.NB("Logical_Router_Port", port.Name).Says("mac=" + port.MACs[0]),
				},
				Cause:  "the entry was added by hand or by a tool, or the router port has another MAC address since",
				Effect: "what this host sends to pods is lost: probes of pods, services from the host",
				Fix:    catalog.DeleteNeighbour.With(entry.Link, entry.Addr.String()),
			})
		}
	}
}

// lately is how many seconds ago a next hop failed that is still a question: the kernel asks again with each packet. An older
// entry only stays until the route is used again, whatever has been repaired meanwhile.
const lately = 10

// silentHops reports routes in use whose next hop does not answer while the kernel asks for it. That it did not a moment ago is
// no proof.
func silentHops(p *doctor.Pass, n *doctor.Node) {
	for _, r := range n.Net.Routes {
		silent := slices.ContainsFunc(n.Net.Neighbours, func(x node.Neighbour) bool {
			return x.Addr == r.Via && x.Link == r.Dev && (x.State == "failed" && x.Since < lately || x.State == "incomplete")
		})
		if !r.Via.IsValid() || !silent || r.Table != mainTable || !r.Dst.IsValid() {
			continue
		}
		to := r.Dst.Addr()
		if r.Dst.Bits() == 0 {
			to = somewhere(to.Is6())
		}
		way, err := n.Node().Route(p.Context(), node.RouteQuery{Dst: to})
		if err != nil || way.Via != r.Via || way.Dev != r.Dev {
			continue
		}
		dst := r.Dst.String()
		if r.Dst.Bits() == 0 {
			dst = "default"
		}
		if !asking(n.Net, r) {
			p.Unknown(doctor.NodeObject(n.Name), fmt.Errorf("%s has a route for %s by %s, which did not answer the last time: run ping -c1 %s on %s, then check again", n.Name, dst, r.Via, r.Via, n.Name))
			continue
		}
		p.Report(doctor.Finding{
			Object: doctor.NodeObject(n.Name),
			Reason: "gateway-silent",
			Also:   []doctor.Object{doctor.LinkObject(n.Host, r.Dev)},
			Title:  fmt.Sprintf("%s sends packets for %s to %s, which does not answer", n.Name, dst, r.Via),
			Evidence: []doctor.Evidence{
				doctor.Routes().On(n.Name).Says(fmt.Sprintf("%s via %s dev %s", dst, r.Via, r.Dev)),
				doctor.Neighbours(r.Dev).On(n.Name).Says(r.Via.String() + " INCOMPLETE"),
			},
			Cause:  "the route leads to an address that no host has, or that host is down",
			Effect: "what this host sends by this route is lost",
			Next:   "on " + n.Name + ": " + fixes.Command("ping -c1 %s", r.Via.String()) + "; if no host should have it: " + fixes.Command("ip route del %s via %s dev %s", dst, r.Via.String(), r.Dev),
		})
	}
}

// asking reports whether the kernel is asking for a route's next hop.
func asking(net *node.Network, r node.Route) bool {
	return slices.ContainsFunc(net.Neighbours, func(x node.Neighbour) bool { return x.Addr == r.Via && x.Link == r.Dev && x.State == "incomplete" })
}

// otherWay reports a route of the host that takes packets for pods of the overlay elsewhere than to its port there.
func otherWay(p *doctor.Pass, n *doctor.Node) {
	link, err := facts.PodLinkOf(n.Host)
	if err != nil || link == nil || link.Link == "" {
		return
	}
	for _, r := range n.Net.Routes {
		within := func(x facts.PodNetwork) bool {
			return r.Dst.IsValid() && x.Prefix.Overlaps(r.Dst) && r.Dst.Bits() > x.Prefix.Bits()
		}
		if r.Type != "unicast" || r.Dev == "" || r.Dev == link.Link || r.Table != mainTable || !slices.ContainsFunc(link.Pods, within) {
			continue
		}
		for _, to := range targets(p, n) {
			if to.on.Kind == "node" || !r.Dst.Contains(to.address) {
				continue
			}
			way, err := n.Node().Route(p.Context(), node.RouteQuery{Dst: to.address})
			if err != nil || way.Type != "unicast" || way.Dev != r.Dev {
				break
			}
			text := fmt.Sprintf("%s via %s dev %s", r.Dst, r.Via, r.Dev)
			p.Report(doctor.Finding{
				Object:   doctor.NodeObject(n.Name),
				Reason:   "other-way",
				Also:     []doctor.Object{to.on, doctor.LinkObject(n.Host, r.Dev)},
				Title:    fmt.Sprintf("%s sends packets for %s by %s, not by %s: %s", n.Name, to.what, r.Dev, link.Link, text),
				Evidence: []doctor.Evidence{doctor.Routes().On(n.Name).Says(text), {Source: doctor.Link(link.Link), Says: link.Why}},
				Cause:    "the route was added by hand or by a tool, and is more specific than the one to the overlay",
				Effect:   "what this host itself sends to these pods does not get to the overlay: probes of pods, services from the host",
				Next:     "on " + n.Name + ": " + fixes.Command("ip route del %s dev %s", r.Dst.String(), r.Dev),
			})
			break
		}
	}
}

// mainTable is the routing table that routes are in unless they say otherwise.
const mainTable = 254

// somewhere returns an address of no network (RFC 5737, RFC 3849): only a default route leads there.
func somewhere(ipv6 bool) netip.Addr {
	if ipv6 {
		return netip.MustParseAddr("2001:db8::1")
	}
	return netip.MustParseAddr("192.0.2.1")
}

// connected reports whether an entry is for an address of a network that its link is in.
func connected(net *node.Network, entry node.Neighbour) bool {
	return slices.ContainsFunc(net.Addresses, func(a node.Address) bool { return a.Link == entry.Link && a.Prefix.Contains(entry.Addr) })
}

// connectedLike reports whether another node has an entry's address in the network in which this one looks for it.
func connectedLike(net *node.Network, entry node.Neighbour, other *node.Network) bool {
	return slices.ContainsFunc(other.Addresses, func(there node.Address) bool {
		return there.Prefix.Addr() == entry.Addr && slices.ContainsFunc(net.Addresses, func(a node.Address) bool {
			return a.Link == entry.Link && a.Prefix.Masked() == there.Prefix.Masked()
		})
	})
}

// holder returns the link with an address; nil if there is none.
func holder(net *node.Network, a netip.Addr) *node.Link {
	if at := slices.IndexFunc(net.Addresses, func(x node.Address) bool { return x.Prefix.Addr() == a }); at >= 0 {
		return net.Link(net.Addresses[at].Link)
	}
	return nil
}

func hasMAC(net *node.Network, mac string) bool {
	return slices.ContainsFunc(net.Links, func(l node.Link) bool { return strings.EqualFold(l.MAC, mac) })
}

// refuses reports whether a route of this type stops packets.
func refuses(kind string) bool {
	return kind == "blackhole" || kind == "unreachable" || kind == "prohibit"
}

// waysAsked is how many addresses the kernel is asked for on account of one route.
const waysAsked = 8

// refusingRoutes reports routes that refuse what the host should reach. The kernel decides: only where it has a refusing
// route is it asked for the way to addresses that the route covers.
func refusingRoutes(p *doctor.Pass, n *doctor.Node) {
	var all []target
	for _, r := range n.Net.Routes {
		if !refuses(r.Type) || !r.Dst.IsValid() {
			continue
		}
		if all == nil {
			all = targets(p, n)
		}
		asked := 0
		for _, to := range all {
			if !r.Dst.Contains(to.address) || !looksUp(n.Net, r.Table, to.address) || asked == waysAsked {
				continue
			}
			asked++
			way, err := n.Node().Route(p.Context(), node.RouteQuery{Dst: to.address})
			if err != nil || way.Type != r.Type {
				continue
			}
			routeRefuses(p, n, r, to)
			break
		}
	}
}

// looksUp reports whether a rule has the host look up an address in a table, for packets of its own.
func looksUp(net *node.Network, table int, a netip.Addr) bool {
	return slices.ContainsFunc(net.Rules, func(r node.Rule) bool {
		mine := (r.Family == 6) == a.Is6() && r.Iif == "" && r.Oif == "" && r.Mark == 0 && r.More == "" && !r.Not
		return mine && r.Table == table && (!r.Dst.IsValid() || r.Dst.Contains(a))
	})
}

// A target is an address that a host should reach.
type target struct {
	address netip.Addr
	what    string
	on      doctor.Object
}

// targets are the tunnel addresses of the other nodes, and one pod of each switch within the networks that the CMS routes
// the host to.
func targets(p *doctor.Pass, n *doctor.Node) []target {
	g, err := facts.GraphOf(p.Deployment)
	if err != nil {
		return nil
	}
	var all []target
	for _, c := range g.Chassis {
		for _, e := range c.Encaps {
			if a, err := netip.ParseAddr(e.IP); err == nil && c.Name != n.SystemID {
				all = append(all, target{a, "node " + c.Hostname, doctor.NodeObject(c.Hostname)})
			}
		}
	}
	link, err := facts.PodLinkOf(n.Host)
	if err != nil || link == nil {
		return all
	}
	seen := map[string]bool{}
	for _, port := range g.Ports {
		if port.Kind != topology.SwitchPort || port.Pod == "" || port.Switch == nil || seen[port.Switch.UUID] {
			continue
		}
		for _, text := range port.Addresses {
			a, err := netip.ParseAddr(text)
			if err == nil && slices.ContainsFunc(link.Pods, func(x facts.PodNetwork) bool { return x.Prefix.Contains(a) }) {
				all = append(all, target{a, "pod " + port.Pod, doctor.PortObject(port.Name)})
				seen[port.Switch.UUID] = true
			}
		}
	}
	return all
}

func routeRefuses(p *doctor.Pass, n *doctor.Node, r node.Route, to target) {
	dst := r.Dst.String()
	if r.Dst.Bits() == 0 {
		dst = "default"
	}
	text := r.Type + " " + dst
	if r.Table != 254 {
		text += fmt.Sprintf(" table %d", r.Table)
	}
	f := doctor.Finding{
		Object: doctor.NodeObject(n.Name),
		Reason: "route-refuses",
		Also:   []doctor.Object{to.on},
		Title:  fmt.Sprintf("a route of %s refuses packets to %s: %s", n.Name, to.what, text),
		Evidence: []doctor.Evidence{
			doctor.Routes().On(n.Name).Says(text),
			doctor.Command(fixes.Command("ip route get %s", to.address.String())).On(n.Name).Says(r.Type),
		},
		Cause:  "the route, or the rule that leads to its table, was added by hand or by a tool",
		Effect: fmt.Sprintf("what this host itself sends to %s is lost", to.what),
		Next:   "on " + n.Name + ": " + fixes.Command("ip route del %s %s table %d", r.Type, dst, r.Table),
	}
	if r.Table != 254 {
		f.Evidence = append(f.Evidence, doctor.Command("ip rule").On(n.Name).Says(fmt.Sprintf("leads to table %d", r.Table)))
		f.Next = "on " + n.Name + ": ip rule; remove the rule that leads to table " + fmt.Sprint(r.Table)
	}
	p.Report(f)
}
