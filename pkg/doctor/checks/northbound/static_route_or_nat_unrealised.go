package northbound

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

var StaticRouteOrNATUnrealised = &doctor.Check{
	Name:     "static-route-or-nat-unrealised",
	Category: "northd",
	Doc: `A route, routing policy or NAT in the Northbound has no effect

ovn-northd writes no flows for a route or policy whose next hop is in none of the router's
networks, nor for NAT on a router without a gateway. Only its log shows that. NAT of a port to an
address that the port does not have translates to nobody, and a next hop that no port of the switch
has answers nobody.`,
	Causes: []string{"gateway-router-without-chassis", "dgp-chassis-not-bound", "dangling-router-link", "kube-ovn-join-gap"},
	Settle: true,
	Run: func(p *doctor.Pass) {
		for _, l := range p.Northbounds() {
			u := unrealised{
				Pass: p, l: l, alike: map[rowKind]*alike{}, nat: doctor.Index(l.NAT, func(r *nb.NAT) ovsdb.UUID { return r.UUID }),
				routes:   doctor.Index(l.StaticRoutes, func(r *nb.StaticRoute) ovsdb.UUID { return r.UUID }),
				policies: doctor.Index(l.Policies, func(r *nb.Policy) ovsdb.UUID { return r.UUID }),
			}
			for r := range doctor.Each(l.Routers) {
				if !facts.Off(r.Enabled) {
					u.router(r)
				}
			}
		}
	},
}

// unrealised finds the rows that ovn-northd ignores, router by router.
type unrealised struct {
	*doctor.Pass
	l        *facts.Logical
	routes   map[ovsdb.UUID]*nb.StaticRoute
	policies map[ovsdb.UUID]*nb.Policy
	nat      map[ovsdb.UUID]*nb.NAT
	holders  map[netip.Addr]string // the port with each address
	alike    map[rowKind]*alike
}

// A rowKind is what makes two rows one finding: the same is wrong with both, on one router.
type rowKind struct {
	router doctor.Object
	reason string
}

// alike is the first finding about rows of a kind, and how many rows there are beyond it.
type alike struct {
	at    int // in the findings
	title string
	more  int
}

// mostRows is how many rows of a kind are shown as evidence.
const mostRows = 10

// report reports what is wrong with a row; once for all rows of a router with which the same is.
func (u *unrealised) report(f doctor.Finding) {
	kind := rowKind{f.Object, f.Reason}
	first := u.alike[kind]
	if first == nil {
		u.alike[kind] = &alike{at: len(u.Findings), title: f.Title}
		u.Report(f)
		return
	}
	first.more++
	of := &u.Findings[first.at]
	of.Title = fmt.Sprintf("%s, and %d more likewise", first.title, first.more)
	if f.Result != doctor.Warning {
		of.Result = doctor.Error
	}
	if first.more < mostRows {
		of.Evidence = append(of.Evidence, f.Evidence...)
	}
}

// routerNetworks are the ports and networks of a router.
type routerNetworks struct {
	doctor.Prefixes
	ports   map[string]*nb.LogicalRouterPort
	byID    map[ovsdb.UUID]*nb.LogicalRouterPort
	tables  map[string]bool // route tables used by its ports
	gateway []*nb.LogicalRouterPort
}

func networksOf(ports []*nb.LogicalRouterPort) *routerNetworks {
	n := &routerNetworks{ports: map[string]*nb.LogicalRouterPort{}, byID: map[ovsdb.UUID]*nb.LogicalRouterPort{}, tables: map[string]bool{}}
	for _, rp := range ports {
		n.ports[rp.Name], n.byID[rp.UUID] = rp, rp
		if t := rp.Options["route_table"]; t != "" {
			n.tables[t] = true
		}
		if doctor.IsGatewayPort(rp) {
			n.gateway = append(n.gateway, rp)
		}
		for _, p := range facts.Networks(rp) {
			n.Add(p)
		}
	}
	return n
}

// reaches reports whether an address is in one of the router's networks. Every port has a link-local IPv6 address.
func (n *routerNetworks) reaches(a netip.Addr) bool {
	return a.Is6() && a.IsLinkLocalUnicast() || n.Contains(a)
}

func (u *unrealised) router(r *nb.LogicalRouter) {
	n := networksOf(u.l.RouterPortsOf[r.UUID])
	for _, id := range r.StaticRoutes {
		if route := u.routes[id]; route != nil {
			u.route(r, n, route)
		}
	}
	for _, id := range r.Policies {
		if policy := u.policies[id]; policy != nil {
			u.policy(r, n, policy)
		}
	}
	if len(r.NAT) == 0 {
		return
	}
	if r.Options["chassis"] == "" && len(n.gateway) == 0 {
		u.noGateway(r)
		return
	}
	for _, id := range r.NAT {
		if nat := u.nat[id]; nat != nil {
			u.translation(r, n, nat)
		}
	}
}

// finding starts a finding about a router's row.
func (u *unrealised) finding(r *nb.LogicalRouter, reason, table string, id ovsdb.UUID, row string) doctor.Finding {
	return doctor.Finding{
		Object:   doctor.RouterObject(r),
		Reason:   reason,
		Evidence: []doctor.Evidence{doctor.NBRow(table, id, "%s", row)},
	}
}

func (u *unrealised) route(r *nb.LogicalRouter, n *routerNetworks, route *nb.StaticRoute) {
	f := u.finding(r, "route", "Logical_Router_Static_Route", route.UUID, fmt.Sprintf("ip_prefix=%s, nexthop=%s, output_port=%s", route.IPPrefix, cmp.Or(route.Nexthop, `""`), cmp.Or(route.OutputPort.Get(), `""`)))
	why, next := u.whyNoRoute(r, n, route)
	if t := route.RouteTable; why == "" && t != "" && !n.tables[t] {
		f.Result = doctor.Warning
		why, next = fmt.Sprintf("no port of the router uses route table %s", t), "set the table on the port through which packets arrive: ovn-nbctl lrp-set-options ROUTER-PORT route_table="+t
	}
	if why == "" {
		u.deadHop(r, n, f, "route", "the route to "+route.IPPrefix, route.Nexthop)
		return
	}
	f.Title = fmt.Sprintf("the route to %s on router %s has no effect", route.IPPrefix, doctor.RouterLabel(r))
	f.Cause, f.Effect, f.Next = why, "packets to "+route.IPPrefix+" take another route, or none", next
	if route.Policy.Get() == "src-ip" {
		f.Title = fmt.Sprintf("the route for packets from %s on router %s has no effect", route.IPPrefix, doctor.RouterLabel(r))
		f.Effect = "packets from " + route.IPPrefix + " take another route, or none"
	}
	u.report(f)
}

// prefixOf parses an address or a prefix.
func prefixOf(s string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(s); err == nil {
		return p, true
	}
	if a, err := netip.ParseAddr(s); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	return netip.Prefix{}, false
}

func (u *unrealised) whyNoRoute(r *nb.LogicalRouter, n *routerNetworks, route *nb.StaticRoute) (why, next string) {
	del := fixes.Command("ovn-nbctl remove Logical_Router %s static_routes %s", r.Name, route.UUID)
	_, ok := prefixOf(route.IPPrefix)
	if !ok {
		return fmt.Sprintf("%q is not a network", route.IPPrefix), del
	}
	out := route.OutputPort.Get()
	rp := n.ports[out]
	hop, ok := prefixOf(route.Nexthop)
	switch {
	case out != "" && rp == nil && u.l.RouterPort[out] != nil:
		return fmt.Sprintf("its output port %s is a port of another router", out), "name a port of this router, or delete the route: " + del
	case out != "" && rp == nil:
		return fmt.Sprintf("its output port %s does not exist", out), "name a port of this router, or delete the route: " + del
	case route.Nexthop == "discard" || route.Nexthop == "" && rp != nil:
		return "", ""
	case !ok:
		return fmt.Sprintf("its next hop %s is not an address", cmp.Or(route.Nexthop, `""`)), "set the right one, or delete the route: " + del
	case !hop.IsSingleIP():
		return fmt.Sprintf("its next hop %s is a network, not an address", route.Nexthop), "set the right one, or delete the route: " + del
	case rp == nil && !n.reaches(hop.Addr()):
		return fmt.Sprintf("its next hop %s is in none of the router's networks", hop.Addr()),
			fmt.Sprintf("give the router an address there, set another next hop, or delete the route: %s", del)
	case rp != nil && !hop.Addr().IsLinkLocalUnicast() && !hasFamily(rp, hop.Addr()):
		return fmt.Sprintf("its output port %s has no address of the next hop's family", out), "give the port an address, or delete the route: " + del
	}
	return "", "" // newer releases can route IPv4 via an IPv6 next hop, too
}

// deadHop reports a next hop that can be on one switch alone, whose ports all have known addresses, and none has it.
func (u *unrealised) deadHop(r *nb.LogicalRouter, n *routerNetworks, f doctor.Finding, reason, what, text string) {
	hop, err := netip.ParseAddr(text)
	if err != nil || hop.IsLinkLocalUnicast() {
		return
	}
	var on *nb.LogicalSwitch
	for _, rp := range n.ports {
		if !slices.ContainsFunc(facts.Networks(rp), func(p netip.Prefix) bool { return p.Contains(hop) }) {
			continue
		}
		s := u.l.SwitchAt(rp.Name)
		if s == nil || on != nil && s != on || u.mayAnswer(s, hop) {
			return
		}
		on = s
	}
	if on == nil {
		return
	}
	f.Reason, f.Result = reason+"-next-hop", doctor.Warning
	f.Title = fmt.Sprintf("%s on router %s leads to %s, which no port of switch %s has", what, doctor.RouterLabel(r), hop, on.Name)
	f.Concern(doctor.Object{Kind: "switch", Name: on.Name})
	f.Evidence = append(f.Evidence, doctor.NB("Logical_Switch", on.Name).Says("no port with "+text+", and none with unknown addresses"))
	f.Cause = "what had the address is gone, or the next hop was mistyped"
	f.Effect = "packets that take it are lost; of several next hops, those that are sent to this one"
	f.Next = "set another next hop, or delete the row: ovn-nbctl lr-route-list " + r.Name + "; ovn-nbctl lr-policy-list " + r.Name
	u.report(f)
}

// mayAnswer reports whether something on a switch may answer for an address. What is missing between zones is a finding of its
// own.
func (u *unrealised) mayAnswer(s *nb.LogicalSwitch, a netip.Addr) bool {
	if s.OtherConfig["interconn-ts"] != "" {
		return true
	}
	for _, p := range u.l.PortsOf[s.UUID] {
		if (p.Type != "" && p.Type != "router" && p.Type != "localport") || p.Addresses.Has("unknown") || p.Options["arp_proxy"] != "" || doctor.HasIP(p, a) {
			return true
		}
		rp := u.l.RouterPort[facts.RouterPortOf(p)]
		if p.Type == "router" && (rp == nil || slices.ContainsFunc(facts.Networks(rp), func(x netip.Prefix) bool { return x.Addr() == a })) {
			return true
		}
	}
	return slices.ContainsFunc(u.l.NAT, func(n nb.NAT) bool { return n.ExternalIP == a.String() })
}

func hasFamily(rp *nb.LogicalRouterPort, a netip.Addr) bool {
	return slices.ContainsFunc(facts.Networks(rp), func(n netip.Prefix) bool { return n.Addr().Is4() == a.Is4() })
}

func (u *unrealised) policy(r *nb.LogicalRouter, n *routerNetworks, policy *nb.Policy) {
	if policy.Action != "reroute" || len(policy.OutputPort) > 0 {
		return
	}
	hops := slices.Concat([]string(policy.Nexthops), []string(policy.Nexthop))
	f := u.finding(r, "policy", "Logical_Router_Policy", policy.UUID, fmt.Sprintf("priority=%d, match=%s, nexthops=%v", policy.Priority, policy.Match, hops))
	var lost []string
	for _, hop := range hops {
		a, err := netip.ParseAddr(hop)
		if err != nil || !n.reaches(a) {
			lost = append(lost, hop)
		}
	}
	if len(lost) == 0 {
		for _, hop := range hops {
			u.deadHop(r, n, f, "policy", fmt.Sprintf("routing policy %d", policy.Priority), hop)
		}
		return
	}
	f.Title = fmt.Sprintf("routing policy %d of router %s has no effect", policy.Priority, doctor.RouterLabel(r))
	f.Cause = fmt.Sprintf("its next hop %s is in none of the router's networks", strings.Join(lost, ", "))
	f.Effect = "packets with " + policy.Match + " are routed without the policy"
	f.Next = fixes.Command("set a next hop in one of the router's networks, or delete the policy: ovn-nbctl lr-policy-del %s %d %s", r.Name, policy.Priority, policy.Match)
	u.report(f)
}

func (u *unrealised) noGateway(r *nb.LogicalRouter) {
	f := doctor.Finding{
		Object: doctor.RouterObject(r),
		Reason: "no-gateway",
		Title:  fmt.Sprintf("router %s has NAT but no gateway", doctor.RouterLabel(r)),
		Cause:  "NAT takes place on a chassis: on a gateway router (options:chassis) or at a port with a gateway chassis; this router has neither",
		Effect: "no address is translated",
		Next:   fixes.Command("ovn-nbctl set Logical_Router %s options:chassis=SYSTEM-ID, or ovn-nbctl lrp-set-gateway-chassis ROUTER-PORT SYSTEM-ID", r.Name),
	}
	for _, id := range r.NAT {
		if nat := u.nat[id]; nat != nil && len(f.Evidence) < 5 {
			f.Evidence = append(f.Evidence, natRow(nat))
		}
	}
	f.Evidence = append(f.Evidence, doctor.NBRow("Logical_Router", r.UUID, "options:chassis is not set; none of its ports has gateway_chassis or ha_chassis_group"))
	u.report(f)
}

func natRow(nat *nb.NAT) doctor.Evidence {
	return doctor.NBRow("NAT", nat.UUID, "type=%s, external_ip=%s, logical_ip=%s, logical_port=%s", nat.Type, nat.ExternalIP, nat.LogicalIP, cmp.Or(nat.LogicalPort.Get(), `""`))
}

func (u *unrealised) translation(r *nb.LogicalRouter, n *routerNetworks, nat *nb.NAT) {
	f := doctor.Finding{
		Object:   doctor.RouterObject(r),
		Reason:   "nat",
		Title:    fmt.Sprintf("NAT (%s) of %s to %s on router %s has no effect", nat.Type, nat.LogicalIP, nat.ExternalIP, doctor.RouterLabel(r)),
		Evidence: []doctor.Evidence{natRow(nat)},
		Effect:   nat.LogicalIP + " is not translated",
		Next:     fixes.Command("delete it and add it correctly: ovn-nbctl lr-nat-del %s %s %s", r.Name, nat.Type, natKey(nat)),
	}
	external, okExternal := prefixOf(nat.ExternalIP)
	logical, okLogical := prefixOf(nat.LogicalIP)
	gateway := nat.GatewayPort.Get()
	port := nat.LogicalPort.Get()
	switch {
	case !okExternal:
		f.Cause = fmt.Sprintf("its external address %q is not an address", nat.ExternalIP)
	case !okLogical || nat.Type != "snat" && !logical.IsSingleIP():
		f.Cause = fmt.Sprintf("its logical address %q is not an address", nat.LogicalIP)
	case external.Addr().Is4() != logical.Addr().Is4():
		f.Cause = "one address is IPv4 and the other IPv6"
	case r.Options["chassis"] == "" && len(nat.GatewayPort) > 0 && (n.byID[gateway] == nil || !doctor.IsGatewayPort(n.byID[gateway])):
		name := u.routerPortName(gateway)
		f.Cause = fmt.Sprintf("its gateway port %s is not a port of this router with a gateway chassis", name)
	case len(nat.AllowedExtIPs) > 0 && len(nat.ExemptedExtIPs) > 0:
		f.Cause = "it has both allowed_ext_ips and exempted_ext_ips"
	case r.Options["chassis"] == "" && len(nat.GatewayPort) == 0 && len(n.gateway) > 1 && !slices.ContainsFunc(n.gateway, func(rp *nb.LogicalRouterPort) bool {
		return slices.ContainsFunc(facts.Networks(rp), func(p netip.Prefix) bool { return p.Contains(external.Addr()) })
	}):
		f.Cause = fmt.Sprintf("the router has %d gateway ports, none in a network with %s, and the row does not name one (gateway_port)", len(n.gateway), nat.ExternalIP)
	case r.Options["chassis"] == "" && nat.Type == "dnat_and_snat" && port != "" && len(nat.ExternalMAC) > 0 && u.l.SwitchPort[port] == nil:
		holder := u.holder(logical.Addr())
		f.Cause = fmt.Sprintf("it is bound to port %s, which does not exist", port)
		f.Evidence = append(f.Evidence, doctor.NB("Logical_Switch_Port", "").Says("has no row named "+port))
		if holder == "" {
			f.Result = doctor.Warning
			f.Effect = "no port has " + nat.LogicalIP + " either"
			break
		}
		f.Evidence = append(f.Evidence, doctor.NB("Logical_Switch_Port", holder).Says("has "+nat.LogicalIP))
		f.Next = fixes.Command("ovn-nbctl set NAT %s logical_port=%s", nat.UUID, holder)
	case nat.Type == "dnat_and_snat" && u.stale(port, logical.Addr()):
		holder := u.l.SwitchPort[port]
		f.Reason = "stale"
		f.Title = fmt.Sprintf("NAT of %s on router %s leads to %s, which its port %s does not have", nat.ExternalIP, doctor.RouterLabel(r), nat.LogicalIP, doctor.PortLabel(holder))
		f.Evidence = append(f.Evidence, doctor.NBRow("Logical_Switch_Port", holder.UUID, "%s: addresses=%q", port, []string(holder.Addresses)))
		f.Also = append(f.Also, doctor.PortObject(port))
		f.Cause = "the address of the port, or the row, was changed, and the other was not"
		f.Effect = fmt.Sprintf("what is sent to %s does not reach the port", nat.ExternalIP)
		f.Next = cmp.Or(doctor.Rewrite(decode.CMSOf(holder.ExternalIDs)), f.Next)
	default:
		return
	}
	u.report(f)
}

// stale reports whether a port exists and has other addresses than a.
func (u *unrealised) stale(port string, a netip.Addr) bool {
	p := u.l.SwitchPort[port]
	return p != nil && !p.Addresses.Has("unknown") && len(facts.PortAddresses(p)) > 0 && !doctor.HasIP(p, a)
}

func natKey(nat *nb.NAT) string {
	if nat.Type == "snat" {
		return nat.LogicalIP
	}
	return nat.ExternalIP
}

func (u *unrealised) routerPortName(id ovsdb.UUID) string {
	for i := range u.l.RouterPorts {
		if u.l.RouterPorts[i].UUID == id {
			return u.l.RouterPorts[i].Name
		}
	}
	return fmt.Sprintf("%.8s", id)
}

// holder returns the switch port with an address.
func (u *unrealised) holder(a netip.Addr) string {
	if u.holders == nil {
		u.holders = doctor.PortByAddress(u.l)
	}
	return u.holders[a]
}
