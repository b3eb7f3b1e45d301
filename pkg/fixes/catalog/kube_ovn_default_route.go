package catalog

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// KubeOVNDefaultRoute adds the default routes of the default router.
var KubeOVNDefaultRoute = kubeRepair("kube-ovn-default-route",
	"Route traffic out of the cluster to the join switch again\n\nAdds the static routes 0.0.0.0/0 and ::/0 of kube-ovn's default router, to the router's own address on the join switch.")

func (k *KubeOVN) defaultRouteGaps() {
	g := KubeGap{
		Repair: "kube-ovn-default-route", Kind: "router", Name: k.Router.Name,
		Effect:  "the router drops what no subnet's route covers: pods reach neither the nodes nor anything outside",
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
			switch {
			case !of[r.UUID] || r.IPPrefix != all || r.RouteTable != "":
			case r.Policy.Get() != "src-ip":
				found = true // by kube-ovn, or by whoever manages the routes
			case r.Nexthop == gateway.Addr().String():
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
		g.Title = fmt.Sprintf("the default route of router %s matches the source address", k.Router.Name)
		g.Effect = "kube-ovn does not recognize its route, and any other route of that prefix takes precedence"
	}
	k.Gaps = append(k.Gaps, g)
}
