package catalog

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// AddClusterRoute gives the host its route to a pod network.
var AddClusterRoute = &fixes.Repair{
	Name: "add-cluster-route",
	Doc: `Give the host its route to the pods

Adds the route that the cluster's management system creates on each node, through its
link to the pods (ovn-k8s-mp0, ovn0, tun0). The next hop is the logical router's
address in that link's network.`,
	Params: []fixes.Param{{Name: "NETWORK", Doc: "a pod network, 10.244.0.0/16"}},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "cluster-route-or-snat-missing",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		want, err := netip.ParsePrefix(a["NETWORK"])
		if err != nil {
			return nil, fmt.Errorf("network %q: not of the form 10.244.0.0/16", a["NETWORK"])
		}
		h, n, err := localNetwork(d)
		if err != nil {
			return nil, err
		}
		g, err := facts.PodLinkOf(h)
		if err != nil {
			return nil, err
		}
		if g == nil {
			return nil, fixes.Refuse("", "this node has no link to the pods: no port ovn-k8s-mp0, ovn0 or tun0")
		}
		l, err := link(n, g.Link)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(g.Pods, func(p facts.PodNetwork) bool { return p.Prefix == want.Masked() })
		if i < 0 {
			return nil, fmt.Errorf("no pod network %s; this node has %s", want, several(namesOf(g.Pods, func(p facts.PodNetwork) string { return p.Prefix.String() })))
		}
		p := g.Pods[i]
		switch {
		case g.Routed(n, p):
			return nil, fixes.Refuse("", "%s already has a route through %s", want, l.Name)
		case !l.Up:
			return nil, fixes.Refuse(fixes.Command("ip link set %s up", l.Name), "%s is down", l.Name)
		}
		r := node.Route{Type: "unicast", Dst: p.Prefix, Table: 254, Via: p.Via, Dev: l.Name, Src: p.Src, Protocol: "boot", Scope: "global"}
		if !p.Via.IsValid() && p.Prefix.Addr().Is4() {
			r.Scope = "link"
		}
		if p.Prefix.Addr().Is6() {
			r.Metric = 1024
		}
		return &fixes.Plan{
			Title: fmt.Sprintf("route %s through %s", p.Prefix, l.Name),
			Host:  h.Name,
			Steps: []fixes.Step{fixes.Network{
				Changes: []fixes.LinkChange{{Route: &r, Link: l.Name, Index: l.Index}},
				What:    fmt.Sprintf("add the route to %s through %s", p.Prefix, l.Name),
			}},
			Touches:  "what this host sends to the pods of " + p.Prefix.String(),
			Warnings: []string{fmt.Sprintf("%s creates this route on the node: if it disappears again, look there for the reason", g.CMS)},
		}, nil
	},
}
