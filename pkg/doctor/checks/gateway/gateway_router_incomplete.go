package gateway

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

var GatewayRouterIncomplete = &doctor.Check{
	Name:     "gateway-router-incomplete",
	Category: "gateway",
	Doc: `A gateway router lacks what the others have

ovn-kubernetes gives the gateway router of each node a default route, SNAT of the pods' networks and
routes back to them, the cluster router a route by source to each gateway router, and the external
switches one VLAN. One node alone without them, or with another VLAN, has lost them.`,
	Causes: []string{"gateway-router-without-chassis", "dangling-router-link", "nb-duplicate-or-conflicting-config"},
	Settle: true, // a node is set up in several transactions
	Run: func(p *doctor.Pass) {
		networks := map[string][]*gatewayRouter{}
		for _, l := range p.Northbounds() {
			for _, g := range nodeGateways(l) {
				networks[g.network] = append(networks[g.network], g)
			}
			sourceRoutes(p, l)
		}
		if len(networks) == 0 {
			p.Skip("no zone that was read has the gateway router of a node of ovn-kubernetes")
		}
		for _, name := range slices.Sorted(maps.Keys(networks)) {
			routers := networks[name]
			for i, g := range routers {
				g.compare(p, slices.Concat(routers[:i], routers[i+1:]))
			}
		}
	},
}

// witnesses is how many other nodes must agree before one that differs from all of them is taken to be wrong.
const witnesses = 2

// A gatewayRouter is the gateway router of a node, as ovn-kubernetes makes one for each.
type gatewayRouter struct {
	*nb.LogicalRouter
	l       *facts.Logical
	network string // whose routers are alike
	routes  []*nb.StaticRoute
	nat     []*nb.NAT
	outside *nb.LogicalSwitchPortBrief // the localnet port of its external switch; nil if it has none, or several
}

// nodeGateways returns the gateway routers of a zone's nodes.
func nodeGateways(l *facts.Logical) []*gatewayRouter {
	routes := doctor.Index(l.StaticRoutes, func(r *nb.StaticRoute) ovsdb.UUID { return r.UUID })
	nats := doctor.Index(l.NAT, func(r *nb.NAT) ovsdb.UUID { return r.UUID })
	var all []*gatewayRouter
	for r := range doctor.Each(l.Routers) {
		if r.Options["chassis"] == "" || !strings.HasPrefix(r.Name, "GR_") || facts.Off(r.Enabled) {
			continue
		}
		g := &gatewayRouter{LogicalRouter: r, l: l, network: r.ExternalIDs["k8s.ovn.org/network"]}
		for _, id := range r.StaticRoutes {
			if route := routes[id]; route != nil {
				g.routes = append(g.routes, route)
			}
		}
		for _, id := range r.NAT {
			if nat := nats[id]; nat != nil {
				g.nat = append(g.nat, nat)
			}
		}
		g.outside = g.localnet()
		all = append(all, g)
	}
	return all
}

// localnet returns the only localnet port behind a router; nil if there is none, or several.
func (g *gatewayRouter) localnet() *nb.LogicalSwitchPortBrief {
	var found []*nb.LogicalSwitchPortBrief
	for _, rp := range g.l.RouterPortsOf[g.UUID] {
		s := g.l.SwitchAt(rp.Name)
		if s == nil {
			continue
		}
		for _, p := range g.l.PortsOf[s.UUID] {
			if p.Type == "localnet" {
				found = append(found, p)
			}
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// route returns the router's route to a network; nil if it has none. Any default route will do for another.
func (g *gatewayRouter) route(to netip.Prefix) *nb.StaticRoute {
	for _, r := range g.routes {
		p, err := netip.ParsePrefix(r.IPPrefix)
		if err != nil || r.Policy.Get() == "src-ip" || p.Addr().Is4() != to.Addr().Is4() {
			continue
		}
		if p.Masked() == to.Masked() || to.Bits() > 0 && p.Bits() > 0 && p.Bits() <= to.Bits() && p.Contains(to.Addr()) {
			return r
		}
	}
	return nil
}

// translates returns the router's SNAT of a network; nil if it has none.
func (g *gatewayRouter) translates(network string) *nb.NAT {
	for _, n := range g.nat {
		if n.Type == "snat" && n.LogicalIP == network {
			return n
		}
	}
	return nil
}

// networks returns the networks that a router translates.
func (g *gatewayRouter) networks() []netip.Prefix {
	var all []netip.Prefix
	for _, n := range g.nat {
		if p, err := netip.ParsePrefix(n.LogicalIP); err == nil && n.Type == "snat" && !p.IsSingleIP() && p.Bits() > 0 {
			all = append(all, p)
		}
	}
	return all
}

// connected reports whether a network is on one of the router's ports.
func (g *gatewayRouter) connected(to netip.Prefix) bool {
	return slices.ContainsFunc(g.l.RouterPortsOf[g.UUID], func(rp *nb.LogicalRouterPort) bool {
		return slices.ContainsFunc(facts.Networks(rp), func(n netip.Prefix) bool { return n.Bits() <= to.Bits() && n.Contains(to.Addr()) })
	})
}

var defaults = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}

// compare reports how a gateway router differs from all others of its network.
func (g *gatewayRouter) compare(p *doctor.Pass, others []*gatewayRouter) {
	for _, to := range g.networks() {
		if g.route(to) == nil && !g.connected(to) && len(g.Policies) == 0 {
			g.noRouteBack(p, others, to)
		}
	}
	if len(others) < witnesses {
		return
	}
	for _, to := range defaults {
		if g.route(to) == nil && all(others, func(o *gatewayRouter) bool { return o.route(to) != nil }) {
			g.noDefault(p, others, to)
		}
	}
	for _, to := range others[0].networks() {
		if g.translates(to.String()) == nil && all(others, func(o *gatewayRouter) bool { return o.translates(to.String()) != nil }) {
			g.noSNAT(p, others, to)
		}
	}
	g.otherVLAN(p, others)
}

// all reports whether something holds of each of several routers.
func all(others []*gatewayRouter, has func(*gatewayRouter) bool) bool {
	return !slices.ContainsFunc(others, func(o *gatewayRouter) bool { return !has(o) })
}

// finding starts a finding about a gateway router.
func (g *gatewayRouter) finding(reason string) doctor.Finding {
	return doctor.Finding{
		Object: doctor.RouterObject(g.LogicalRouter),
		Reason: reason,
		Also:   []doctor.Object{doctor.ChassisObject(g.Options["chassis"])},
		Cause:  "the row was deleted by hand or by a tool: ovn-kubernetes writes it when the node starts, and not again",
	}
}

// like is evidence of what another router has.
func (g *gatewayRouter) like(table string, id ovsdb.UUID, other *gatewayRouter, text string) doctor.Evidence {
	return doctor.NBRow(table, id, "router %s has %s", other.Name, text)
}

const restart = "restart ovnkube on that node, or: "

func (g *gatewayRouter) noRouteBack(p *doctor.Pass, others []*gatewayRouter, to netip.Prefix) {
	f := g.finding("no-route-back")
	f.Title = fmt.Sprintf("gateway router %s translates the source addresses of %s and has no route back to them", g.Name, to)
	f.Effect = "pods of this node send to the network outside, and the replies are sent back out"
	f.Show(doctor.NBRow("NAT", g.translates(to.String()).UUID, "snat of %s", to), doctor.NB("Logical_Router", g.Name).Says("no route to "+to.String()))
	f.Next = restart + fixes.Command("ovn-nbctl lr-route-add %s %s NEXTHOP", g.Name, to.String())
	for _, o := range others {
		if r := o.route(to); r != nil {
			f.Show(g.like("Logical_Router_Static_Route", r.UUID, o, to.String()+" via "+r.Nexthop))
			f.Next = restart + fixes.Command("ovn-nbctl lr-route-add %s %s %s", g.Name, to.String(), r.Nexthop)
			break
		}
	}
	p.Report(f)
}

func (g *gatewayRouter) noDefault(p *doctor.Pass, others []*gatewayRouter, to netip.Prefix) {
	r := others[0].route(to)
	f := g.finding("no-default-route")
	f.Title = fmt.Sprintf("gateway router %s has no default route %s; the other %d have one", g.Name, to, len(others))
	f.Effect = "pods of this node do not reach the network outside"
	f.Show(doctor.NB("Logical_Router", g.Name).Says("no route "+to.String()), g.like("Logical_Router_Static_Route", r.UUID, others[0], to.String()+" via "+r.Nexthop))
	f.Next = restart + fixes.Command("ovn-nbctl lr-route-add %s %s %s", g.Name, to.String(), r.Nexthop) + ", if this node has the same gateway"
	p.Report(f)
}

func (g *gatewayRouter) noSNAT(p *doctor.Pass, others []*gatewayRouter, to netip.Prefix) {
	n := others[0].translates(to.String())
	f := g.finding("no-snat")
	f.Title = fmt.Sprintf("gateway router %s does not translate the source addresses of %s; the other %d do", g.Name, to, len(others))
	f.Effect = "pods of this node send to the network outside from addresses that it has no route to"
	f.Show(doctor.NB("Logical_Router", g.Name).Says("no snat of "+to.String()), g.like("NAT", n.UUID, others[0], "snat of "+to.String()+" to "+n.ExternalIP))
	f.Next = restart + fixes.Command("ovn-nbctl lr-nat-add %s snat EXTERNAL-IP %s", g.Name, to.String()) + ", with the router's own address"
	p.Report(f)
}

// otherVLAN reports an external switch that is in another VLAN than those of all other nodes.
func (g *gatewayRouter) otherVLAN(p *doctor.Pass, others []*gatewayRouter) {
	if g.outside == nil || others[0].outside == nil {
		return
	}
	tag, name := others[0].outside.Tag.Get(), g.outside.Options["network_name"]
	agree := all(others, func(o *gatewayRouter) bool {
		return o.outside != nil && o.outside.Tag.Get() == tag && o.outside.Options["network_name"] == name
	})
	if own := g.outside.Tag.Get(); !agree || own == tag || !g.beside(others[0]) {
		return
	}
	f := g.finding("vlan")
	f.Object = doctor.PortObject(g.outside.Name)
	f.Concern(doctor.RouterObject(g.LogicalRouter))
	f.Title = fmt.Sprintf("port %s puts what leaves for network %s into %s; the other %d nodes use %s", g.outside.Name, name, vlan(g.outside.Tag.Get()), len(others), vlan(tag))
	f.Cause = "the tag was set by hand, or the node was configured for another VLAN"
	f.Effect = "pods of this node do not reach the network outside"
	f.Show(doctor.NB("Logical_Switch_Port", g.outside.Name).Says("tag="+strconv.Itoa(g.outside.Tag.Get())), doctor.NB("Logical_Switch_Port", others[0].outside.Name).Says("tag="+strconv.Itoa(tag)))
	f.Next = fixes.Command("ovn-nbctl clear Logical_Switch_Port %s tag", g.outside.Name)
	if tag != 0 {
		f.Next = fixes.Command("ovn-nbctl set Logical_Switch_Port %s tag=%d", g.outside.Name, tag)
	}
	p.Report(f)
}

// beside reports whether two routers have ports in one network, besides the one that joins them inside.
func (g *gatewayRouter) beside(other *gatewayRouter) bool {
	for _, a := range g.outsideNetworks() {
		if slices.Contains(other.outsideNetworks(), a) {
			return true
		}
	}
	return false
}

// outsideNetworks returns the networks of the router's ports on its external switch.
func (g *gatewayRouter) outsideNetworks() []netip.Prefix {
	var networks []netip.Prefix
	s := g.l.SwitchOf[g.outside.UUID]
	for _, rp := range g.l.RouterPortsOf[g.UUID] {
		if g.l.SwitchAt(rp.Name) != s {
			continue
		}
		for _, n := range facts.Networks(rp) {
			networks = append(networks, n.Masked())
		}
	}
	return networks
}

func vlan(tag int) string {
	if tag == 0 {
		return "no VLAN"
	}
	return "VLAN " + strconv.Itoa(tag)
}

// sourceRoutes reports a cluster router that sends what the pods of all nodes but one send outside to the nodes' gateway
// routers.
func sourceRoutes(p *doctor.Pass, l *facts.Logical) {
	routes := doctor.Index(l.StaticRoutes, func(r *nb.StaticRoute) ovsdb.UUID { return r.UUID })
	for r := range doctor.Each(l.Routers) {
		if r.ExternalIDs["k8s-cluster-router"] == "" && r.Name != "ovn_cluster_router" {
			continue
		}
		var sources []netip.Prefix
		for _, id := range r.StaticRoutes {
			route := routes[id]
			if route == nil || route.Policy.Get() != "src-ip" {
				continue
			}
			if n, err := netip.ParsePrefix(route.IPPrefix); err == nil {
				sources = append(sources, n)
			}
		}
		for _, v6 := range []bool{false, true} {
			withoutSource(p, l, r, sources, v6)
		}
	}
}

// withoutSource reports the one network of nodes' pods of a family that no route by source is for.
func withoutSource(p *doctor.Pass, l *facts.Logical, r *nb.LogicalRouter, sources []netip.Prefix, v6 bool) {
	var missing []netip.Prefix
	var node string
	with := 0
	for _, rp := range l.RouterPortsOf[r.UUID] {
		of, ok := strings.CutPrefix(rp.Name, "rtos-")
		if !ok || !slices.ContainsFunc(l.Routers, func(r nb.LogicalRouter) bool { return r.Name == "GR_"+of }) {
			continue
		}
		for _, n := range facts.Networks(rp) {
			switch covered := slices.ContainsFunc(sources, func(s netip.Prefix) bool { return s.Overlaps(n) }); {
			case n.Addr().Is6() != v6:
			case covered:
				with++
			default:
				missing, node = append(missing, n.Masked()), of
			}
		}
	}
	if len(missing) != 1 || with < witnesses {
		return
	}
	p.Report(doctor.Finding{
		Object:   doctor.RouterObject(r),
		Reason:   "no-source-route",
		Also:     []doctor.Object{{Kind: "router", Name: "GR_" + node}, doctor.NodeObject(node)},
		Title:    fmt.Sprintf("router %s has no route by source for %s, the pods of %s; it has one for each of the other %d nodes", r.Name, missing[0], node, with),
		Evidence: []doctor.Evidence{doctor.NB("Logical_Router", r.Name).Says("no route with policy=src-ip for " + missing[0].String())},
		Cause:    "the row was deleted by hand or by a tool: ovn-kubernetes writes it when the node starts, and not again",
		Effect:   "pods of this node do not reach the network outside",
		Next:     restart + fixes.Command("ovn-nbctl --policy=src-ip lr-route-add %s %s NEXTHOP", r.Name, missing[0].String()) + ", with the address of GR_" + node + " on the join switch",
	})
}
