package loadbalancer

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var LBOnWrongSwitch = &doctor.Check{
	Name:     "lb-on-wrong-switch",
	Category: "lb",
	Doc: `A load balancer is not attached where its clients are, or cannot work

Connections between pods are balanced on the switch of the client, those from outside on
the gateway router. Where a load balancer belongs is derived from what its CMS gives to all
switches of a kind, or from what all other switches of a router have.`,
	Causes: []string{"port-not-bound", "port-administratively-disabled", "northd-not-active", "gateway-router-without-chassis", "dangling-router-link", "iface-id-without-binding", "port-unplugged"},
	Settle: true,
	Run: func(p *doctor.Pass) {
		for z, l := range p.Northbounds() {
			at, ok := doctor.Need(p, doctor.NorthboundObject, func() (*facts.Placement, error) { return facts.PlacementOf(z) })
			if !ok {
				continue
			}
			b := balancing{Pass: p, z: z, l: l, at: at, reported: map[[2]ovsdb.UUID]bool{}}
			b.groups()
			b.ofKubeOVN()
			b.outliers()
			b.each()
		}
	},
}

// balancing holds the load balancers of a zone.
type balancing struct {
	*doctor.Pass
	z        *snapshot.Zone
	l        *facts.Logical
	at       *facts.Placement
	reported map[[2]ovsdb.UUID]bool // what is missing where
	lost     int                    // load balancers attached nowhere

	closed  doctor.Prefixes                    // networks whose addresses are all known
	holders map[netip.Addr]string              // the port with each address
	bound   map[string]string                  // the node of each port
	served  map[ovsdb.UUID]map[netip.Addr]bool // virtual IPs by router and by group; nil until needed
}

// missing reports a load balancer, or a group, that is not on a switch or router.
func (b *balancing) missing(f doctor.Finding, what, on ovsdb.UUID) {
	if !b.reported[[2]ovsdb.UUID{what, on}] {
		b.reported[[2]ovsdb.UUID{what, on}] = true
		b.Report(f)
	}
}

// groups reports node switches and gateway routers that lack a group which OVN-Kubernetes gives to all of them.
func (b *balancing) groups() {
	for g := range doctor.Each(b.at.Groups) {
		name := strings.ToLower(g.Name)
		if !strings.HasPrefix(name, "cluster") || !strings.HasSuffix(name, "lbgroup") || !b.balances(g) {
			continue
		}
		if name != "clusterrouterlbgroup" {
			b.groupOnSwitches(g)
		}
		if name != "clusterswitchlbgroup" {
			b.groupOnRouters(g)
		}
	}
}

func (b *balancing) groupOnSwitches(g *nb.LoadBalancerGroup) {
	for s := range doctor.Each(b.l.Switches) {
		if s.LoadBalancerGroup.Has(g.UUID) || !b.ofCluster(s) {
			continue
		}
		f := b.group(g, doctor.SwitchObject(s), "Logical_Switch", s.UUID, s.LoadBalancerGroup)
		f.Title = fmt.Sprintf("switch %s does not have the load balancer group %s", doctor.SwitchLabel(s), g.Name)
		f.Effect = fmt.Sprintf("no pod of switch %s reaches a service by its virtual IP", s.Name)
		b.missing(f, g.UUID, s.UUID)
	}
}

func (b *balancing) groupOnRouters(g *nb.LoadBalancerGroup) {
	for r := range doctor.Each(b.l.Routers) {
		if r.LoadBalancerGroup.Has(g.UUID) || !strings.HasPrefix(r.Name, "GR_") || r.Options["chassis"] == "" || !b.onJoinSwitch(r) {
			continue
		}
		f := b.group(g, doctor.RouterObject(r), "Logical_Router", r.UUID, r.LoadBalancerGroup)
		f.Title = fmt.Sprintf("gateway router %s does not have the load balancer group %s", r.Name, g.Name)
		f.Effect = fmt.Sprintf("packets that arrive from outside through router %s reach no service", r.Name)
		b.missing(f, g.UUID, r.UUID)
	}
}

// group starts the finding of a switch or router that lacks a group.
func (b *balancing) group(g *nb.LoadBalancerGroup, on doctor.Object, table string, id ovsdb.UUID, has []ovsdb.UUID) doctor.Finding {
	var names []string
	for _, h := range has {
		if other := b.at.Group[h]; other != nil {
			names = append(names, other.Name)
		}
	}
	return doctor.Finding{
		Object: on,
		Evidence: []doctor.Evidence{
			doctor.NBRow(table, id, "load_balancer_group=%v", names),
			doctor.NBRow("Load_Balancer_Group", g.UUID, "%s: %d load balancers, on %d switches and %d routers", g.Name, len(g.LoadBalancer), len(b.at.SwitchesOf[g.UUID]), len(b.at.RoutersOf[g.UUID])),
		},
		Reason: "group",
		Cause:  "OVN-Kubernetes gives this group to the switch and gateway router of every node; here it was removed or never written",
		Fix:    catalog.AttachLoadBalancerGroup.With(g.Name, on.Kind+":"+on.Name),
	}
}

// balances reports whether a group has a load balancer of OVN-Kubernetes.
func (b *balancing) balances(g *nb.LoadBalancerGroup) bool {
	return slices.ContainsFunc(g.LoadBalancer, func(id ovsdb.UUID) bool {
		lb := b.at.LB[id]
		return lb != nil && lb.ExternalIDs["k8s.ovn.org/kind"] == "Service"
	})
}

// ofCluster reports whether a switch is a node's in the default network of OVN-Kubernetes.
func (b *balancing) ofCluster(s *nb.LogicalSwitch) bool {
	return b.l.Clients(s) && s.ExternalIDs["k8s.ovn.org/network"] == "" && slices.ContainsFunc(b.l.RoutersAt(s), func(r *nb.LogicalRouter) bool {
		return r.ExternalIDs["k8s-cluster-router"] != ""
	})
}

// onJoinSwitch reports whether a gateway router is in the default network of OVN-Kubernetes.
func (b *balancing) onJoinSwitch(r *nb.LogicalRouter) bool {
	if r.ExternalIDs["k8s.ovn.org/network"] != "" {
		return false
	}
	for _, rp := range b.l.RouterPortsOf[r.UUID] {
		for _, port := range b.l.Links[rp.Name] {
			if s := b.l.SwitchOf[port.UUID]; s != nil && s.Name == "join" {
				return true
			}
		}
	}
	return false
}

// ofKubeOVN reports switches with only some of their router's load balancers: Kube-OVN gives a subnet all of its VPC or
// none.
func (b *balancing) ofKubeOVN() {
	for r := range doctor.Each(b.l.Routers) {
		if decode.CMSOf(r.ExternalIDs) != decode.KubeOVN {
			continue
		}
		b.ofVPC(slices.DeleteFunc(b.switchesAt(r), func(s *nb.LogicalSwitch) bool {
			return decode.CMSOf(s.ExternalIDs) != decode.KubeOVN || len(s.LoadBalancer) == 0
		}))
	}
}

func (b *balancing) ofVPC(switches []*nb.LogicalSwitch) {
	var all []ovsdb.UUID
	for _, s := range switches {
		all = append(all, s.LoadBalancer...)
	}
	slices.Sort(all)
	for _, id := range slices.Compact(all) {
		lb := b.at.LB[id]
		if lb == nil || decode.CMSOf(lb.ExternalIDs) != decode.KubeOVN || len(lb.VIPs) == 0 {
			continue
		}
		for _, s := range switches {
			if !s.LoadBalancer.Has(id) {
				f := b.lacks(lb, s)
				f.Cause = "Kube-OVN gives a subnet all load balancers of its VPC or none; this one was removed or never written"
				b.missing(f, id, s.UUID)
			}
		}
	}
}

// switchesAt returns the switches with clients that are connected to a router, sorted.
func (b *balancing) switchesAt(r *nb.LogicalRouter) []*nb.LogicalSwitch {
	var out []*nb.LogicalSwitch
	for _, rp := range b.l.RouterPortsOf[r.UUID] {
		for _, port := range b.l.Links[rp.Name] {
			if s := b.l.SwitchOf[port.UUID]; s != nil && !slices.Contains(out[max(0, len(out)-1):], s) && b.l.Clients(s) {
				out = append(out, s)
			}
		}
	}
	slices.SortFunc(out, func(x, y *nb.LogicalSwitch) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.UUID, y.UUID))
	})
	return slices.Compact(out)
}

// lacks starts the finding of a switch that lacks a load balancer.
func (b *balancing) lacks(lb *nb.LoadBalancer, s *nb.LogicalSwitch) doctor.Finding {
	return doctor.Finding{
		Object: doctor.LoadBalancerObject(lb),
		Also:   []doctor.Object{doctor.SwitchObject(s)},
		Reason: "switch",
		Title:  fmt.Sprintf("switch %s does not have the load balancer %s", doctor.SwitchLabel(s), lb.Name),
		Evidence: []doctor.Evidence{
			doctor.NBRow("Logical_Switch", s.UUID, "%s: %d load balancers, without %.8s", s.Name, len(s.LoadBalancer), lb.UUID),
			b.row(lb),
		},
		Effect: fmt.Sprintf("ports of switch %s do not reach its virtual IPs", doctor.SwitchLabel(s)),
		Fix:    catalog.AttachLoadBalancer.With(nameOf(lb), "switch:"+s.Name),
	}
}

func nameOf(lb *nb.LoadBalancer) string { return cmp.Or(lb.Name, string(lb.UUID)) }

// vipObject is a virtual IP of a load balancer.
func vipObject(lb *nb.LoadBalancer, v facts.VIP) doctor.Object {
	return doctor.Object{Kind: "virtual IP", Name: v.Key + " of load balancer " + nameOf(lb)}
}

// row returns a load balancer's row, with what it is attached to.
func (b *balancing) row(lb *nb.LoadBalancer) doctor.Evidence {
	var on []string
	for _, s := range b.at.SwitchesOf[lb.UUID] {
		on = append(on, "switch "+s.Name)
	}
	for _, r := range b.at.RoutersOf[lb.UUID] {
		on = append(on, "router "+r.Name)
	}
	for _, g := range b.at.GroupsOf[lb.UUID] {
		on = append(on, "group "+g.Name)
	}
	where := "attached nowhere"
	if len(on) > 0 {
		where = "on " + doctor.AtMost(on, 8)
	}
	vips := slices.Sorted(maps.Keys(lb.VIPs))
	if len(vips) > 3 {
		vips = append(vips[:3], fmt.Sprintf("and %d more", len(vips)-3))
	}
	return doctor.NBRow("Load_Balancer", lb.UUID, "%s: protocol=%s, vips=%v, %s", lb.Name, cmp.Or(lb.Protocol.Get(), `""`), vips, where)
}

// outliers reports switches that lack what all others of their router have. ofKubeOVN knows more about Kube-OVN's, and
// Neutron gives a provider network none of its router's.
func (b *balancing) outliers() {
	for r := range doctor.Each(b.l.Routers) {
		switches := slices.DeleteFunc(b.switchesAt(r), func(s *nb.LogicalSwitch) bool {
			return decode.CMSOf(s.ExternalIDs) == decode.Neutron && len(b.l.Localnets(s)) > 0
		})
		if len(switches) < 3 || decode.CMSOf(r.ExternalIDs) == decode.KubeOVN {
			continue
		}
		count := map[ovsdb.UUID]int{}
		for _, s := range switches {
			for _, id := range slices.Concat(s.LoadBalancer, s.LoadBalancerGroup) {
				count[id]++
			}
		}
		for _, id := range slices.Sorted(maps.Keys(count)) {
			if count[id] == len(switches)-1 {
				b.outlier(switches, id)
			}
		}
	}
}

func (b *balancing) outlier(switches []*nb.LogicalSwitch, id ovsdb.UUID) {
	for _, s := range switches {
		if s.LoadBalancer.Has(id) || s.LoadBalancerGroup.Has(id) {
			continue
		}
		var f doctor.Finding
		switch lb, g := b.at.LB[id], b.at.Group[id]; {
		case lb != nil && len(lb.VIPs) > 0 && !b.byGroup(s, lb):
			f = b.lacks(lb, s)
		case g != nil && len(g.LoadBalancer) > 0:
			f = b.group(g, doctor.SwitchObject(s), "Logical_Switch", s.UUID, s.LoadBalancerGroup)
			f.Title = fmt.Sprintf("switch %s does not have the load balancer group %s", doctor.SwitchLabel(s), g.Name)
			f.Effect = fmt.Sprintf("ports of switch %s do not reach the virtual IPs of the group", doctor.SwitchLabel(s))
		default:
			return
		}
		f.Result = doctor.Warning
		f.Cause = fmt.Sprintf("all %d other switches of its router have it", len(switches)-1)
		b.missing(f, id, s.UUID)
	}
}

// byGroup reports whether a switch has a load balancer through a group.
func (b *balancing) byGroup(s *nb.LogicalSwitch, lb *nb.LoadBalancer) bool {
	return slices.ContainsFunc(b.at.GroupsOf[lb.UUID], func(g *nb.LoadBalancerGroup) bool { return s.LoadBalancerGroup.Has(g.UUID) })
}

// each checks the load balancers one by one.
func (b *balancing) each() {
	hairpins := b.hairpinsOfCluster()
	for lb := range doctor.Each(b.at.LoadBalancers) {
		vips := b.at.VIPs[lb]
		if len(vips) == 0 {
			continue
		}
		b.badVIPs(lb, vips)
		if !b.at.Placed(lb) {
			b.nowhere(lb, vips)
			continue
		}
		b.withoutGateway(lb)
		b.protocol(lb)
		b.hairpin(lb, hairpins)
		b.ownSubnet(lb, vips)
		b.deadBackends(lb, vips)
	}
}

func (b *balancing) badVIPs(lb *nb.LoadBalancer, vips []facts.VIP) {
	for _, v := range vips {
		if v.Bad == "" {
			continue
		}
		b.Report(doctor.Finding{
			Object:   vipObject(lb, v),
			Also:     []doctor.Object{doctor.LoadBalancerObject(lb)},
			Reason:   "bad-vip",
			Title:    fmt.Sprintf("load balancer %s: OVN cannot use the virtual IP %s", nameOf(lb), v.Key),
			Evidence: []doctor.Evidence{doctor.NBRow("Load_Balancer", lb.UUID, "vips:%s=%s", v.Key, cmp.Or(lb.VIPs[v.Key], `""`))},
			Cause:    v.Bad,
			Effect:   "ovn-northd ignores it, in whole or in part: " + v.Key + " does not work",
			Next:     fixes.Command("ovn-nbctl lb-del %s %s and add it correctly, or correct it in the CMS", lb.UUID, v.Key),
		})
	}
}

// nowhere reports a load balancer that is attached nowhere.
func (b *balancing) nowhere(lb *nb.LoadBalancer, vips []facts.VIP) {
	if !slices.ContainsFunc(vips, func(v facts.VIP) bool { return len(v.Backends) > 0 }) {
		return
	}
	if groups := b.at.GroupsOf[lb.UUID]; len(groups) > 0 {
		b.groupNowhere(groups[0], lb)
		return
	}
	if b.lost++; b.lost > maxLost {
		return
	}
	f := doctor.Finding{
		Object:   doctor.LoadBalancerObject(lb),
		Reason:   "nowhere",
		Title:    fmt.Sprintf("load balancer %s is on no switch and no router", nameOf(lb)),
		Evidence: []doctor.Evidence{b.row(lb)},
		Cause:    "a load balancer works only where a switch or router names it, or its group",
		Effect:   "its virtual IPs do not work from anywhere",
	}
	if to := b.whereTheOthersAre(lb); to != "" {
		f.Fix = catalog.AttachLoadBalancer.With(nameOf(lb), to)
		f.Evidence = append(f.Evidence, doctor.NB("Load_Balancer", "").Says("all others of its kind are on "+to))
	} else {
		f.Next = fixes.Command("ovnctl fix attach-load-balancer %s SWITCH, where its clients are; or delete it: ovn-nbctl lb-del %s", nameOf(lb), lb.UUID)
	}
	b.Report(f)
}

// maxLost bounds the findings about load balancers attached nowhere: the rest have the same cause.
const maxLost = 20

// groupNowhere reports a group that is attached nowhere, covering all its load balancers.
func (b *balancing) groupNowhere(g *nb.LoadBalancerGroup, lb *nb.LoadBalancer) {
	b.missing(doctor.Finding{
		Result: doctor.Warning,
		Object: doctor.Object{Kind: "load balancer group", Name: g.Name},
		Also:   []doctor.Object{doctor.LoadBalancerObject(lb)},
		Reason: "nowhere",
		Title:  fmt.Sprintf("load balancer group %s is on no switch and no router", g.Name),
		Evidence: []doctor.Evidence{doctor.NBRow("Load_Balancer_Group", g.UUID, "%s: %d load balancers; in load_balancer_group of no switch and no router", g.Name, len(g.LoadBalancer)),
			b.row(lb)},
		Cause:  "a group works only where a switch or router names it",
		Effect: "the virtual IPs of its load balancers do not work from anywhere, unless they are attached elsewhere, too",
		Next:   fixes.Command("ovnctl fix attach-load-balancer-group %s SWITCH, where its clients are", g.Name),
	}, g.UUID, g.UUID)
}

// kindOf returns what load balancers that belong in the same places have in common.
func kindOf(lb *nb.LoadBalancer) string {
	owner := decode.CMSOf(lb.ExternalIDs)
	if owner == decode.OVNKubernetes {
		if i := strings.LastIndexByte(lb.Name, '_'); i >= 0 {
			return string(owner) + lb.Name[i:]
		}
	}
	return string(owner)
}

// whereTheOthersAre returns the one group, or the one switch, with all other load balancers of a kind.
func (b *balancing) whereTheOthersAre(lb *nb.LoadBalancer) string {
	kind := kindOf(lb)
	if kind == "" {
		return ""
	}
	count := map[string]int{}
	others := 0
	for other := range doctor.Each(b.at.LoadBalancers) {
		if other == lb || kindOf(other) != kind || len(other.VIPs) == 0 {
			continue
		}
		others++
		for _, g := range b.at.GroupsOf[other.UUID] {
			count["group:"+g.Name]++
		}
		for _, s := range b.at.SwitchesOf[other.UUID] {
			count["switch:"+s.Name]++
		}
	}
	maps.DeleteFunc(count, func(_ string, n int) bool { return n != others })
	if len(count) != 1 {
		return ""
	}
	return slices.Collect(maps.Keys(count))[0]
}

// withoutGateway reports a load balancer that is only on routers which balance nothing.
func (b *balancing) withoutGateway(lb *nb.LoadBalancer) {
	if len(b.at.SwitchesOf[lb.UUID]) > 0 || len(b.at.GroupsOf[lb.UUID]) > 0 {
		return
	}
	for _, r := range b.at.RoutersOf[lb.UUID] {
		if r.Options["chassis"] != "" || slices.ContainsFunc(b.l.RouterPortsOf[r.UUID], doctor.IsGatewayPort) {
			return
		}
	}
	r := b.at.RoutersOf[lb.UUID][0]
	f := doctor.Finding{
		Object: doctor.LoadBalancerObject(lb),
		Also:   []doctor.Object{doctor.RouterObject(r)},
		Reason: "no-gateway",
		Title:  fmt.Sprintf("load balancer %s is only on router %s, which has no gateway", nameOf(lb), doctor.RouterLabel(r)),
		Evidence: []doctor.Evidence{b.row(lb),
			doctor.NBRow("Logical_Router", r.UUID, "options:chassis is not set; none of its ports has gateway_chassis or ha_chassis_group")},
		Cause:  "a router balances on a chassis: as a gateway router, or at a port with a gateway chassis",
		Effect: "its virtual IPs do not work from anywhere",
		Next:   fixes.Command("ovnctl fix attach-load-balancer %s SWITCH, where its clients are", nameOf(lb)),
	}
	if switches := b.switchesAt(r); len(switches) == 1 {
		f.Fix, f.Next = catalog.AttachLoadBalancer.With(nameOf(lb), "switch:"+switches[0].Name), ""
	}
	b.Report(f)
}

// protocol reports a load balancer named for a protocol other than its own.
func (b *balancing) protocol(lb *nb.LoadBalancer) {
	actual, expected := cmp.Or(lb.Protocol.Get(), "tcp"), facts.NamedProtocol(lb)
	if expected == "" || expected == actual {
		return
	}
	b.Report(doctor.Finding{
		Object:   doctor.LoadBalancerObject(lb),
		Reason:   "protocol",
		Title:    fmt.Sprintf("load balancer %s has protocol %s, but %s in its name", nameOf(lb), actual, expected),
		Evidence: []doctor.Evidence{b.row(lb)},
		Cause:    "its protocol is not that of the service; an empty one means tcp",
		Effect:   expected + " packets to its virtual IPs are not balanced",
		Fix:      catalog.SetLoadBalancerProtocol.With(nameOf(lb), expected),
	})
}

// hairpinsOfCluster returns the common hairpin address of OVN-Kubernetes' load balancers; empty if none.
func (b *balancing) hairpinsOfCluster() string {
	var common string
	for lb := range doctor.Each(b.at.LoadBalancers) {
		a := lb.Options["hairpin_snat_ip"]
		if a == "" || lb.ExternalIDs["k8s.ovn.org/kind"] == "" {
			continue
		}
		if common != "" && common != a {
			return ""
		}
		common = a
	}
	return common
}

// hairpin reports an OVN-Kubernetes load balancer without the hairpin address that the others have.
func (b *balancing) hairpin(lb *nb.LoadBalancer, common string) {
	if common == "" || lb.ExternalIDs["k8s.ovn.org/kind"] == "" || lb.Options["hairpin_snat_ip"] != "" {
		return
	}
	b.Report(doctor.Finding{
		Result:   doctor.Warning,
		Object:   doctor.LoadBalancerObject(lb),
		Reason:   "hairpin",
		Title:    fmt.Sprintf("load balancer %s has no hairpin address", nameOf(lb)),
		Evidence: []doctor.Evidence{doctor.NBRow("Load_Balancer", lb.UUID, "%s: options:hairpin_snat_ip is not set; the others have %q", lb.Name, common)},
		Cause:    "options:hairpin_snat_ip was removed or never written",
		Effect:   "a pod with a network policy does not reach itself through this service: the policies allow only the hairpin address",
		Fix:      catalog.SetHairpinAddress.With(nameOf(lb), common),
	})
}

// serves reports whether a router replies to ARP for a virtual IP.
func (b *balancing) serves(r *nb.LogicalRouter, a netip.Addr) bool {
	if b.served == nil {
		b.served = b.addressesOnRouters()
	}
	return b.served[r.UUID][a] || slices.ContainsFunc(r.LoadBalancerGroup, func(g ovsdb.UUID) bool { return b.served[g][a] })
}

// addressesOnRouters returns the virtual IPs for which routers reply to ARP, by router and by load balancer group.
func (b *balancing) addressesOnRouters() map[ovsdb.UUID]map[netip.Addr]bool {
	of := map[ovsdb.UUID]map[netip.Addr]bool{}
	add := func(to map[netip.Addr]bool, ids []ovsdb.UUID) {
		for _, id := range ids {
			for _, v := range b.at.VIPs[b.at.LB[id]] {
				to[v.Addr] = true
			}
		}
	}
	for g := range doctor.Each(b.at.Groups) {
		of[g.UUID] = map[netip.Addr]bool{}
		add(of[g.UUID], g.LoadBalancer)
	}
	for r := range doctor.Each(b.l.Routers) {
		of[r.UUID] = map[netip.Addr]bool{}
		add(of[r.UUID], r.LoadBalancer)
	}
	return of
}

// ownSubnet reports a virtual IP in a switch's network for which nothing replies to ARP there.
func (b *balancing) ownSubnet(lb *nb.LoadBalancer, vips []facts.VIP) {
	b.networks()
	for _, v := range vips {
		if v.Bad != "" || !b.closed.Contains(v.Addr) || b.holders[v.Addr] != "" {
			continue
		}
		for s := range doctor.Each(b.l.Switches) {
			gateway := b.gatewayFor(s, v.Addr)
			if gateway == nil || !doctor.ClosedSwitch(b.l, s) {
				continue
			}
			r := b.l.RouterOf[gateway.UUID]
			if b.serves(r, v.Addr) {
				continue
			}
			f := doctor.Finding{
				Object: doctor.LoadBalancerObject(lb),
				Also:   []doctor.Object{doctor.SwitchObject(s), doctor.RouterObject(r)},
				Reason: "own-subnet",
				Title:  fmt.Sprintf("load balancer %s: nothing on switch %s replies to ARP for its virtual IP %s", nameOf(lb), doctor.SwitchLabel(s), v.Addr),
				Evidence: []doctor.Evidence{b.row(lb),
					doctor.NBRow("Logical_Router_Port", gateway.UUID, "%s: networks=%v", gateway.Name, []string(gateway.Networks))},
				Cause:  "the address is in the network of the switch, so its ports ask for it by ARP or ND; neither a port nor the router has it",
				Effect: fmt.Sprintf("ports of switch %s do not reach %s", doctor.SwitchLabel(s), v.Key),
				Next:   "use a virtual IP outside the network, or attach the load balancer to the router: ovnctl fix attach-load-balancer " + nameOf(lb) + " router:" + r.Name,
			}
			b.Report(f)
			return
		}
	}
}

// gatewayFor returns the switch's router port whose network contains an address.
func (b *balancing) gatewayFor(s *nb.LogicalSwitch, a netip.Addr) *nb.LogicalRouterPort {
	for _, g := range b.l.Gateways(s) {
		if b.l.RouterOf[g.UUID] != nil && slices.ContainsFunc(facts.Networks(g), func(n netip.Prefix) bool { return n.Contains(a) }) {
			return g
		}
	}
	return nil
}

// networks gathers, on first use, the closed networks and each address' owner.
func (b *balancing) networks() {
	if b.holders != nil {
		return
	}
	b.holders, b.bound = doctor.PortByAddress(b.l), doctor.NodeByPort(b.z)
	for rp := range doctor.Each(b.l.RouterPorts) {
		for _, n := range facts.Networks(rp) {
			b.holders[n.Addr()] = rp.Name
		}
	}
	for nat := range doctor.Each(b.l.NAT) {
		if a, err := netip.ParseAddr(nat.ExternalIP); err == nil && b.holders[a] == "" {
			b.holders[a] = "NAT"
		}
	}
	open := map[netip.Prefix]bool{}
	closed := map[netip.Prefix]bool{}
	for s := range doctor.Each(b.l.Switches) {
		into := open
		if doctor.ClosedSwitch(b.l, s) {
			into = closed
		}
		for _, g := range b.l.Gateways(s) {
			for _, n := range facts.Networks(g) {
				into[n.Masked()] = true
			}
		}
	}
	for n := range closed {
		if !open[n] {
			b.closed.Add(n)
		}
	}
}

// deadBackends reports a virtual IP none of whose backends can reply.
func (b *balancing) deadBackends(lb *nb.LoadBalancer, vips []facts.VIP) {
	b.networks()
	reported := 0
	for _, v := range vips {
		if v.Bad != "" || len(v.Backends) == 0 || reported == 10 {
			continue
		}
		var missing, unbound []string
		var also []doctor.Object
		for _, backend := range v.Backends {
			port := b.holders[backend.Addr()]
			_, held := b.bound[port]
			switch p := b.l.SwitchPort[port]; {
			case port == "" && b.closed.Contains(backend.Addr()):
				missing = append(missing, backend.Addr().String())
				also = append(also, doctor.AddressObject(backend.Addr()))
			case p != nil && p.Type == "" && b.bound != nil && !held:
				unbound = append(unbound, port)
			}
		}
		if len(missing)+len(unbound) < len(v.Backends) {
			continue
		}
		f := doctor.Finding{
			Object:   vipObject(lb, v),
			Also:     append(also, doctor.LoadBalancerObject(lb)),
			Reason:   "dead-backends",
			Title:    fmt.Sprintf("load balancer %s: no backend of %s can reply", nameOf(lb), v.Key),
			Evidence: []doctor.Evidence{doctor.NBRow("Load_Balancer", lb.UUID, "vips:%s=%s", v.Key, lb.VIPs[v.Key])},
			Effect:   "connections to " + v.Key + " get no reply",
		}
		if len(missing) > 0 {
			f.Cause = "no port has the address " + strings.Join(missing, ", ")
			f.Next = "the backend is left over, or its port was removed: set the right backends in the CMS, or: ovn-nbctl lb-add " + nameOf(lb) + " '" + v.Key + "' BACKENDS"
		}
		for _, port := range unbound {
			f.Also = append(f.Also, doctor.PortObject(port))
		}
		if len(unbound) > 0 {
			f.Evidence = append(f.Evidence, doctor.SB("Port_Binding", "").Says("no chassis holds "+strings.Join(unbound, ", ")))
			if len(missing) == 0 {
				f.Result = doctor.Warning
				f.Cause = "no chassis holds the ports of its backends"
				f.Next = "start the pods or VMs of these ports; if they run: ovnctl doctor " + unbound[0]
			}
		}
		b.Report(f)
		reported++
	}
}
