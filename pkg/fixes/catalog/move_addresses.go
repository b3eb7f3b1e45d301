package catalog

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// MoveAddresses moves addresses and routes from an uplink to its bridge.
var MoveAddresses = &fixes.Repair{
	Name: "move-addresses",
	Doc: `Move addresses and routes from an uplink to its bridge

A link that is a port of a bridge hands everything that it receives to the bridge: the
host receives on the bridge, not on the link. Everything that the link has is moved, as
by restore-bridge-ip.`,
	Params: []fixes.Param{{Name: "BRIDGE", Doc: "the bridge that the link is a port of"}},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "ip-on-enslaved-nic",
	Plan: onUplink(func(h *snapshot.Host, n *node.Network, u facts.Uplink, _ fixes.Args) (*fixes.Plan, error) {
		switch {
		case u.Port == nil:
			return nil, fixes.Refuse("", "bridge %s has no uplink", u.Bridge.Name)
		case !uplinkHasAddresses(n, u):
			return nil, fixes.Refuse("", "the uplink of bridge %s has no address", u.Bridge.Name)
		}
		return planMove(h, n, u)
	}),
}

// planMove moves everything on a bridge's uplink to the bridge.
func planMove(h *snapshot.Host, n *node.Network, u facts.Uplink) (*fixes.Plan, error) {
	steps, warnings, err := moveSteps(h, n, u)
	if err != nil {
		return nil, err
	}
	return &fixes.Plan{
		Title:    fmt.Sprintf("move addresses and routes from %s to bridge %s", u.Link(), u.Bridge.Name),
		Host:     h.Name,
		Steps:    steps,
		Touches:  "all traffic of this host through " + u.Link(),
		Warnings: append(warnings, atBoot(h, u.Link(), u.Bridge.Name)...),
		Cuts:     true,
	}, nil
}

func moveSteps(h *snapshot.Host, n *node.Network, u facts.Uplink) ([]fixes.Step, []string, error) {
	from, err := link(n, u.Link())
	if err != nil {
		return nil, nil, err
	}
	to, err := link(n, u.Bridge.Name)
	if err != nil {
		return nil, nil, err
	}
	if err := checkFree(h, from, u.Bridge.Name); err != nil {
		return nil, nil, err
	}
	m := &move{n: n, from: from, to: to}
	if err := m.plan(); err != nil {
		return nil, nil, err
	}
	var steps []fixes.Step
	if from.MAC != "" && to.MAC != from.MAC && u.Bridge.OtherConfig["hwaddr"] == "" {
		// Neighbours and DHCP servers know the host by it. One set explicitly stays.
		steps = append(steps, fixes.Set{
			DB: "Open_vSwitch", What: fmt.Sprintf("give bridge %s the MAC address of %s", to.Name, from.Name),
			Row: u.Bridge, Columns: fixes.Row{"other_config:hwaddr": from.MAC},
			Classic: []string{fixes.Command("ovs-vsctl set Bridge %s other_config:hwaddr=%s", to.Name, strconv.Quote(from.MAC))},
		}.Step())
	}
	steps = append(steps, fixes.Network{Changes: m.changes, What: fmt.Sprintf("move addresses and routes from %s to %s", from.Name, to.Name)})
	return steps, m.warnings, nil
}

// A move transfers everything on a link to another link: addresses, routes of all tables, rules, static neighbours,
// settings.
type move struct {
	n        *node.Network
	from, to *node.Link
	changes  []fixes.LinkChange
	warnings []string
}

// children are the kinds of links that depend on another and would be cut off with it.
var children = []string{"vlan", "macvlan", "macvtap", "ipvlan", "ipvtap"}

// plan fills in the changes: first additions to the new link, then removals from the old one. It refuses what cannot be
// moved completely.
func (m *move) plan() error {
	for _, l := range m.n.Links {
		if l.PeerIndex == m.from.Index && l.PeerNetns == nil && slices.Contains(children, l.Kind) {
			return fixes.Refuse(fixes.Command("move it to %s first, or delete it: ip link del %s", m.to.Name, l.Name),
				"%s %s depends on %s and would be cut off", l.Kind, l.Name, m.from.Name)
		}
	}
	if !m.to.Up {
		m.change(linkUp(m.to))
	}
	if !m.from.Up {
		m.change(linkUp(m.from))
	}
	m.settings()
	var removals []fixes.LinkChange // done at the end, the last one first
	for _, a := range m.addresses() {
		m.add(&removals, a)
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
		removals = append(removals, fixes.LinkChange{Remove: &r, Link: m.from.Name, Index: m.from.Index})
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
		removals = append(removals, fixes.LinkChange{Unrule: &r, Link: m.from.Name, Index: m.from.Index})
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
		removals = append(removals, fixes.LinkChange{Forget: &e, Link: m.from.Name, Index: m.from.Index})
	}
	slices.Reverse(removals)
	m.changes = append(m.changes, removals...)
	return nil
}

func (m *move) change(c fixes.LinkChange) { m.changes = append(m.changes, c) }

// settings moves the old link's explicit settings: they differ from the host's default for new links, which the new
// link still has.
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

// addresses returns the old link's addresses in the order of adding: IPv4 primary ones first, IPv6 oldest first, which
// the kernel lists last.
func (m *move) addresses() []node.Address {
	var four, six []node.Address
	for _, a := range facts.Global(m.n, m.from.Name) {
		if a.Prefix.Addr().Is6() {
			six = append(six, a)
		} else {
			four = append(four, a)
		}
	}
	slices.Reverse(six)
	return append(four, six...)
}

func (m *move) add(removals *[]fixes.LinkChange, a node.Address) {
	there := slices.ContainsFunc(m.n.Addresses, func(b node.Address) bool { return b.Link == m.to.Name && b.Prefix == a.Prefix })
	if !there {
		moved := a
		moved.Link = m.to.Name
		if rest, ok := strings.CutPrefix(a.Label, m.from.Name); ok && len(m.to.Name+rest) < 16 {
			moved.Label = m.to.Name + rest
		}
		if a.Prefix.Addr().Is6() && !a.Has("nodad") {
			// The old link still has it: duplicate address detection might find that.
			moved.Flags = append(slices.Clone(a.Flags), "nodad")
		}
		m.change(fixes.LinkChange{Add: &moved, Link: m.to.Name, Index: m.to.Index})
	}
	*removals = append(*removals, fixes.LinkChange{Delete: &a, Link: m.from.Name, Index: m.from.Index})
	if l := a.Lifetime; l != nil && l.Valid != node.Forever {
		m.warnings = append(m.warnings, fmt.Sprintf("%s comes from DHCP or a router advertisement and expires in %d s: run the DHCP client on %s before that",
			a.Prefix, l.Valid, m.to.Name))
	}
}

// routes returns the old link's routes that the kernel does not create with an address, those without a gateway first:
// the others need them.
func (m *move) routes() ([]node.Route, error) {
	var routes []node.Route
	for _, r := range fixes.PerNextHop(m.n.Routes) {
		uses := r.Dev == m.from.Name || slices.ContainsFunc(r.Hops, func(h node.NextHop) bool { return h.Dev == m.from.Name })
		if !uses || r.Table == 255 || byKernel(m.n, r) {
			continue
		}
		switch {
		case r.NextHop != 0:
			return nil, fixes.Refuse("let the routing daemon that created it move it: ip nexthop show id "+fmt.Sprint(r.NextHop),
				"the route to %s uses the nexthop object %d of %s", r.Dst, r.NextHop, m.from.Name)
		case r.Beyond != "":
			return nil, fixes.Refuse("move it by hand", "the route to %s through %s has %s, which cannot be moved", r.Dst, m.from.Name, r.Beyond)
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

// byKernel reports whether the kernel creates a route with an address, or with the link.
func byKernel(n *node.Network, r node.Route) bool {
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

// has reports whether the host already has a route with the same key.
func (m *move) has(r node.Route) bool {
	return slices.ContainsFunc(fixes.PerNextHop(m.n.Routes), func(x node.Route) bool {
		return x.Table == r.Table && x.Dst == r.Dst && x.Metric == r.Metric && x.TOS == r.TOS && x.From == r.From &&
			x.Dev == r.Dev && x.Via == r.Via && slices.EqualFunc(x.Hops, r.Hops, func(a, b node.NextHop) bool { return a.Dev == b.Dev && a.Via == b.Via })
	})
}
