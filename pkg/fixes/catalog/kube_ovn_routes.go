package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// A kubePolicies finds policies by priority and match.
type kubePolicies map[string]nb.Policy

func policyKey(priority int, match string) string {
	return fmt.Sprint(priority, " ", strings.ReplaceAll(match, " ", ""))
}

func (k *KubeOVN) findGaps() {
	byMatch := kubePolicies{}
	for _, p := range k.policies {
		byMatch[policyKey(p.Priority, p.Match)] = p
	}
	k.defaultRouteGaps()
	for i := range k.Nodes {
		n := &k.Nodes[i]
		switch {
		case n.Port == nil:
			k.nodePortGap(n)
		case n.Bound || n.chassis != nil:
			k.nodePolicyGap(n)
			k.nodeGroupGap(n)
		}
	}
	for i := range k.Subnets {
		s := &k.Subnets[i]
		if s.Underlay && !s.known {
			continue // the physical network is its gateway
		}
		k.subnetPolicyGap(s, byMatch)
		switch {
		case s.join:
		case s.Distributed:
			k.distributedGaps(s, byMatch)
		case s.Centralized:
			k.centralizedGap(s, byMatch)
		default:
			k.noGatewayGap(s)
		}
	}
}

// policy is a change that adds a policy to the default router, or corrects the
// one that is there.
func (g *KubeGap) policy(k *KubeOVN, is nb.Policy, priority int, match, action string, nexthops []string, ids map[string]string) {
	g.guards = append(g.guards, fixes.Guard{Table: "Logical_Router", UUID: k.Router.UUID, Columns: fixes.Row{"policies": []ovsdb.UUID(k.Router.Policies)}})
	words := fmt.Sprintf("lr-policy-add %s %d '%s' %s", k.Router.Name, priority, match, action)
	if len(nexthops) > 0 {
		words += " " + strings.Join(nexthops, ",")
	}
	if is.UUID != "" {
		g.changes = append(g.changes, fixes.Change{
			Table: "Logical_Router_Policy", UUID: is.UUID,
			Before: fixes.Row{"action": is.Action, "nexthops": []string(is.Nexthops)},
			After:  fixes.Row{"action": action, "nexthops": nexthops},
		})
		g.classic = append(g.classic, fixes.Command("ovn-nbctl lr-policy-del %s %d %s -- ", k.Router.Name, priority, is.Match)+words)
		return
	}
	ids["vendor"] = kubeVendor
	row := fixes.Row{"priority": priority, "match": match, "action": action, "external_ids": ids}
	if len(nexthops) > 0 {
		row["nexthops"] = nexthops
	}
	g.changes = append(g.changes, fixes.Change{
		Table: "Logical_Router_Policy", UUID: ovsdb.Named(fmt.Sprintf("policy%d", len(g.changes))), After: row,
		In: []fixes.Ref{{Table: "Logical_Router", UUID: k.Router.UUID, Column: "policies"}},
	})
	g.classic = append(g.classic, "ovn-nbctl "+words)
}

func (g *KubeGap) says(format string, args ...any) {
	g.Says = append(g.Says, fmt.Sprintf(format, args...))
}

// wrong says in what a policy differs from what it should do.
func wrong(p nb.Policy, action string, nexthops []string) string {
	if p.Action != action {
		return "action is " + p.Action
	}
	is := slices.Sorted(slices.Values(p.Nexthops))
	if len(is) == 0 {
		is = p.Nexthop
	}
	if action == "reroute" && !slices.Equal(is, slices.Sorted(slices.Values(nexthops))) {
		return "leads to " + strings.Join(is, ",")
	}
	return ""
}

func (k *KubeOVN) defaultRouteGaps() {
	g := KubeGap{
		Repair: "kube-ovn-default-route", Kind: "router", Name: k.Router.Name,
		Effect:  "what no subnet's route covers is dropped by the router: pods reach neither the nodes nor anything outside",
		touches: "all traffic of pods to nodes and to the outside",
	}
	of := map[ovsdb.UUID]bool{}
	for _, u := range k.Router.StaticRoutes {
		of[u] = true
	}
	for _, f := range families {
		gateway, ok := k.joinNet[f]
		if !ok {
			continue
		}
		all := map[int]string{4: "0.0.0.0/0", 6: "::/0"}[f]
		var other *nb.StaticRoute
		found := false
		for i, r := range k.rows.StaticRoutes {
			if !of[r.UUID] || r.IPPrefix != all || r.RouteTable != "" {
				continue
			}
			if r.Policy.Get() != "src-ip" {
				found = true // by kube-ovn or by whoever manages the routes himself
			} else if r.Nexthop == gateway.Addr().String() {
				other = &k.rows.StaticRoutes[i]
			}
		}
		switch {
		case found:
		case other != nil:
			g.says("static route %s via %s has policy src-ip, not dst-ip", all, other.Nexthop)
			g.changes = append(g.changes, fixes.Change{
				Table: "Logical_Router_Static_Route", UUID: other.UUID,
				Before: fixes.Row{"policy": []string{"src-ip"}}, After: fixes.Row{"policy": []string{"dst-ip"}},
			})
			g.classic = append(g.classic, fixes.Command("ovn-nbctl set Logical_Router_Static_Route %s policy=dst-ip", other.UUID))
			g.Minor = len(g.changes) == 1
		default:
			g.says("no static route %s", all)
			g.Minor = false
			g.changes = append(g.changes, fixes.Change{
				Table: "Logical_Router_Static_Route", UUID: ovsdb.Named(fmt.Sprintf("route%d", f)),
				After: fixes.Row{"ip_prefix": all, "nexthop": gateway.Addr().String(), "policy": []string{"dst-ip"}, "external_ids": map[string]string{"vendor": kubeVendor}},
				In:    []fixes.Ref{{Table: "Logical_Router", UUID: k.Router.UUID, Column: "static_routes"}},
			})
			g.classic = append(g.classic, fixes.Command("ovn-nbctl --policy=dst-ip lr-route-add %s %s %s", k.Router.Name, all, gateway.Addr()))
		}
	}
	if len(g.changes) == 0 {
		return
	}
	g.guards = []fixes.Guard{{Table: "Logical_Router", UUID: k.Router.UUID, Columns: fixes.Row{"static_routes": []ovsdb.UUID(k.Router.StaticRoutes)}}}
	g.Title = fmt.Sprintf("router %s has no default route to the join switch", k.Router.Name)
	if g.Minor {
		g.Title = fmt.Sprintf("the default route of router %s goes by the source address", k.Router.Name)
		g.Effect = "kube-ovn does not find its route again, and any other route of that prefix is preferred to it"
	}
	k.Gaps = append(k.Gaps, g)
}
