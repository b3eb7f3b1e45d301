package catalog

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A move takes all that a link has to another link: addresses, routes of all
// tables, rules, static neighbours, settings.
type move struct {
	n        *node.Network
	from, to *node.Link
	changes  []fixes.LinkChange
	warnings []string
}

// children are kinds of links that live on another one and would be cut off
// from it.
var children = []string{"vlan", "macvlan", "macvtap", "ipvlan", "ipvtap"}

// plan fills in the changes: what is added on the new link first, then what goes
// from the old one. Nothing that cannot be carried over whole is moved.
func (m *move) plan() error {
	for _, l := range m.n.Links {
		if l.PeerIndex == m.from.Index && l.PeerNetns == nil && slices.Contains(children, l.Kind) {
			return fixes.Refuse("move it to "+m.to.Name+" first, or take it away: ip link del "+l.Name,
				"%s %s lives on %s, and would be cut off with it", l.Kind, l.Name, m.from.Name)
		}
	}
	if !m.to.Up {
		m.up(m.to)
	}
	if !m.from.Up {
		m.up(m.from)
	}
	m.settings()
	var gone []fixes.LinkChange // made at the end, the last one first
	for _, a := range m.addresses() {
		m.add(&gone, a)
	}
	routes, err := m.routes()
	if err != nil {
		return err
	}
	for _, r := range routes {
		moved := m.routeOver(r)
		if !m.has(moved) {
			m.change(fixes.LinkChange{Route: &moved, Link: m.to.Name, Index: m.to.Index})
		}
		gone = append(gone, fixes.LinkChange{Remove: &r, Link: m.from.Name, Index: m.from.Index})
	}
	for _, r := range m.n.Rules {
		if r.Iif != m.from.Name && r.Oif != m.from.Name {
			continue
		}
		moved := r
		if r.Iif == m.from.Name {
			moved.Iif = m.to.Name
		}
		if r.Oif == m.from.Name {
			moved.Oif = m.to.Name
		}
		if !slices.Contains(m.n.Rules, moved) {
			m.change(fixes.LinkChange{Rule: &moved, Link: m.to.Name, Index: m.to.Index})
		}
		gone = append(gone, fixes.LinkChange{Unrule: &r, Link: m.from.Name, Index: m.from.Index})
	}
	for _, e := range m.n.Neighbours {
		if e.Link != m.from.Name || e.State != "permanent" {
			continue
		}
		moved := e
		moved.Link = m.to.Name
		if !slices.Contains(m.n.Neighbours, moved) {
			m.change(fixes.LinkChange{Know: &moved, Link: m.to.Name, Index: m.to.Index})
		}
		gone = append(gone, fixes.LinkChange{Forget: &e, Link: m.from.Name, Index: m.from.Index})
	}
	slices.Reverse(gone)
	m.changes = append(m.changes, gone...)
	return nil
}

func (m *move) change(c fixes.LinkChange) { m.changes = append(m.changes, c) }

func (m *move) up(l *node.Link) {
	up := true
	m.change(fixes.LinkChange{Up: &up, Link: l.Name, Index: l.Index})
}

// settings are those of the old link that somebody has set: they are not as the
// host gives them to new links, and the new link has not been given others.
func (m *move) settings() {
	for _, name := range []string{
		"net/ipv4/conf/%s/forwarding", "net/ipv4/conf/%s/rp_filter", "net/ipv4/conf/%s/arp_ignore", "net/ipv4/conf/%s/arp_announce",
		"net/ipv4/conf/%s/accept_local", "net/ipv4/conf/%s/proxy_arp", "net/ipv4/conf/%s/src_valid_mark",
		"net/ipv6/conf/%s/forwarding", "net/ipv6/conf/%s/accept_ra", "net/ipv6/conf/%s/proxy_ndp",
	} {
		before, after := m.n.Sysctl[fmt.Sprintf(name, m.to.Name)], m.n.Sysctl[fmt.Sprintf(name, m.from.Name)]
		usual := m.n.Sysctl[fmt.Sprintf(name, "default")]
		if before == "" || after == "" || before == after || after == usual || before != usual {
			continue
		}
		m.set(fmt.Sprintf(name, m.to.Name), before, after)
	}
	six := slices.ContainsFunc(m.addresses(), func(a node.Address) bool { return a.Prefix.Addr().Is6() })
	if key := "net/ipv6/conf/" + m.to.Name + "/disable_ipv6"; six && m.n.Sysctl[key] == "1" {
		m.set(key, "1", "0")
	}
}

func (m *move) set(name, before, after string) {
	m.change(fixes.LinkChange{Set: &fixes.Sysctl{Name: name, Before: before, After: after}, Link: m.to.Name, Index: m.to.Index})
}

// addresses are those of the old link in the order in which they are added: of
// IPv4 the primary ones first, of IPv6 the oldest, which the kernel lists last.
func (m *move) addresses() []node.Address {
	var four, six []node.Address
	for _, a := range snapshot.Global(m.n, m.from.Name) {
		if a.Prefix.Addr().Is6() {
			six = append(six, a)
		} else {
			four = append(four, a)
		}
	}
	slices.Reverse(six)
	return append(four, six...)
}

func (m *move) add(gone *[]fixes.LinkChange, a node.Address) {
	there := slices.ContainsFunc(m.n.Addresses, func(b node.Address) bool { return b.Link == m.to.Name && b.Prefix == a.Prefix })
	if !there {
		moved := a
		moved.Link = m.to.Name
		if rest, ok := strings.CutPrefix(a.Label, m.from.Name); ok && len(m.to.Name+rest) < 16 {
			moved.Label = m.to.Name + rest
		}
		if a.Prefix.Addr().Is6() && !a.Has("nodad") {
			// The old link still has it: a check for duplicates could find that.
			moved.Flags = append(slices.Clone(a.Flags), "nodad")
		}
		m.change(fixes.LinkChange{Add: &moved, Link: m.to.Name, Index: m.to.Index})
	}
	*gone = append(*gone, fixes.LinkChange{Delete: &a, Link: m.from.Name, Index: m.from.Index})
	if l := a.Lifetime; l != nil && l.Valid != node.Forever {
		m.warnings = append(m.warnings, fmt.Sprintf("%s is held by DHCP or a router's advertisement for %d s more: let the DHCP client run on %s, or it is gone then",
			a.Prefix, l.Valid, m.to.Name))
	}
}

// routes are those of the old link that do not come with an address by themselves,
// the ones without a gateway first: the others need them.
func (m *move) routes() ([]node.Route, error) {
	var routes []node.Route
	for _, r := range fixes.Ways(m.n.Routes) {
		uses := r.Dev == m.from.Name || slices.ContainsFunc(r.Hops, func(h node.NextHop) bool { return h.Dev == m.from.Name })
		if !uses || r.Table == 255 || byItself(m.n, r) {
			continue
		}
		switch {
		case r.NextHop != 0:
			return nil, fixes.Refuse("have the routing daemon that made it move it: ip nexthop show id "+fmt.Sprint(r.NextHop),
				"the route to %s rests on the nexthop object %d of %s", r.Dst, r.NextHop, m.from.Name)
		case r.Beyond != "":
			return nil, fixes.Refuse("move it by hand", "the route to %s through %s has %s, which cannot be carried over whole", r.Dst, m.from.Name, r.Beyond)
		}
		r.Flags = slices.DeleteFunc(slices.Clone(r.Flags), func(f string) bool { return f != "onlink" })
		routes = append(routes, r)
	}
	slices.SortStableFunc(routes, func(a, b node.Route) int { return gateways(a) - gateways(b) })
	return routes, nil
}

func gateways(r node.Route) int {
	if r.Via.IsValid() || slices.ContainsFunc(r.Hops, func(h node.NextHop) bool { return h.Via.IsValid() }) {
		return 1
	}
	return 0
}

// byItself says of a route whether the kernel makes it with an address, or with
// the link.
func byItself(n *node.Network, r node.Route) bool {
	if r.Protocol != "kernel" {
		return false
	}
	if r.Dst.Addr().IsLinkLocalUnicast() && r.Dst.Addr().Is6() || r.Dst.Addr().IsMulticast() {
		return true
	}
	return slices.ContainsFunc(n.Addresses, func(a node.Address) bool {
		dst := a.Prefix
		if a.Peer.IsValid() {
			dst = netip.PrefixFrom(a.Peer, a.Prefix.Bits())
		}
		metric := a.Metric
		if metric == 0 && dst.Addr().Is6() {
			metric = 256
		}
		return a.Link == r.Dev && !a.Has("noprefixroute") && dst.Masked() == r.Dst && metric == r.Metric
	})
}

func (m *move) routeOver(r node.Route) node.Route {
	if r.Dev == m.from.Name {
		r.Dev = m.to.Name
	}
	r.Hops = slices.Clone(r.Hops)
	for i := range r.Hops {
		if r.Hops[i].Dev == m.from.Name {
			r.Hops[i].Dev = m.to.Name
		}
	}
	return r
}

// has says whether the host has a route already, with the same key.
func (m *move) has(r node.Route) bool {
	return slices.ContainsFunc(fixes.Ways(m.n.Routes), func(x node.Route) bool {
		return x.Table == r.Table && x.Dst == r.Dst && x.Metric == r.Metric && x.TOS == r.TOS && x.From == r.From &&
			x.Dev == r.Dev && x.Via == r.Via && slices.EqualFunc(x.Hops, r.Hops, func(a, b node.NextHop) bool { return a.Dev == b.Dev && a.Via == b.Via })
	})
}
