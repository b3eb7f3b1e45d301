package catalog

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// AddClusterRoute gives the host its route to a network of pods.
var AddClusterRoute = &fixes.Repair{
	Name: "add-cluster-route",
	Doc: `Give the host its route to the pods

Adds the route that the cluster's management system makes on each node, through its
link to the pods (ovn-k8s-mp0, ovn0, tun0). The next hop is the logical router's
address in that link's network.`,
	Params: []fixes.Param{{Name: "NETWORK", Doc: "a network of pods, 10.244.0.0/16"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "cluster-route-or-snat-missing",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h, err := localHost(d)
		if err != nil {
			return nil, err
		}
		want, err := netip.ParsePrefix(a["NETWORK"])
		if err != nil {
			return nil, fmt.Errorf("network %q: not of the form 10.244.0.0/16", a["NETWORK"])
		}
		g, err := h.Gate()
		if err != nil {
			return nil, err
		}
		if g == nil {
			return nil, fixes.Refuse("", "this node has no link to pods: no ovn-k8s-mp0, ovn0 or tun0 among its ports")
		}
		n, err := h.Network()
		if err != nil {
			return nil, err
		}
		l, err := link(n, g.Link)
		if err != nil {
			return nil, err
		}
		var names []string
		for _, p := range g.Pods {
			names = append(names, p.Prefix.String())
			if p.Prefix != want.Masked() {
				continue
			}
			if g.Routed(n, p) {
				return nil, fixes.Refuse("", "there is a route to %s through %s", want, l.Name)
			}
			if !l.Up {
				return nil, fixes.Refuse("ip link set "+l.Name+" up", "%s is down", l.Name)
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
				Warnings: []string{fmt.Sprintf("%s makes this route on the node: if it is gone again, look there why", g.CMS)},
			}, nil
		}
		return nil, fmt.Errorf("no network of pods %s; this node's are %s", want, strings.Join(names, ", "))
	},
}
