package host

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var ClusterRouteOrSnatMissing = &doctor.Check{
	Name:     "cluster-route-or-snat-missing",
	Category: "node-os",
	Doc: `A host has no route to the pods, or does not hide them behind its address

The cluster's management system gives each node a route to the pods through its link
to them, and where pods leave through the host, a rule that translates their addresses.`,
	Causes: []string{"vswitchd-not-running", "kube-ovn-ovn0-wrong", "kube-ovn-node-ip-in-subnet"},
	Settle: true,
	Run: func(p *doctor.Pass) {
		p.NetNodes(func(e *doctor.NetNode) {
			g, err := e.Gate()
			if err != nil {
				p.Unknown(doctor.NodeObject(e.Name), err)
				return
			}
			if g == nil || e.Net.Link(g.Link) == nil {
				return
			}
			for _, x := range g.Missing(e.Net) {
				routeMissing(p, e, g, x)
			}
			if g.Forwards {
				translationMissing(p, e, g)
			}
		})
	},
}

func routeMissing(p *doctor.Pass, e *doctor.NetNode, g *snapshot.Gate, x snapshot.PodNetwork) {
	proof := []doctor.Evidence{
		{Source: doctor.Other(x.Source), Says: "the pods' network is " + x.Prefix.String()},
		{Source: doctor.Routes(), Says: fmt.Sprintf("none to %s through %s", x.Prefix, g.Link)},
	}
	l := e.Net.Link(g.Link)
	f := doctor.Finding{
		Object:   doctor.NodeObject(e.Name),
		Also:     []doctor.Object{e.LinkObject(g.Link)},
		Title:    fmt.Sprintf("%s has no route to the pods of %s through %s", e.Name, x.Prefix, g.Link),
		Evidence: append(proof, doctor.Evidence{Source: doctor.Link(g.Link), Says: upOrDown(l.Up)}),
		Cause:    "the link went down and came up again, or a network service cleaned up what it does not know",
		Effect:   "what the host sends to pods, answers to their requests among them, goes out of the default route and is lost",
		Fix:      catalog.AddClusterRoute.With(x.Prefix.String()),
	}
	if !l.Up {
		f.Fix, f.Next = nil, fixes.Command("ip link set %s up; ovnctl fix add-cluster-route %s", g.Link, x.Prefix)
		f.Cause = g.Link + " is down: the kernel dropped the routes through it"
	}
	p.Report(f)
}

func upOrDown(up bool) string {
	if up {
		return "up"
	}
	return "administratively down"
}

// translationMissing looks for a host that translates nothing of a family.
func translationMissing(p *doctor.Pass, e *doctor.NetNode, g *snapshot.Gate) {
	rules, err := e.NAT()
	if err != nil {
		if !errors.Is(err, node.ErrUnavailable) || e.Local {
			p.Unknown(doctor.NodeObject(e.Name), err)
		}
		return
	}
	for _, family := range []struct{ name, other string }{{"ip", "IPv4"}, {"ip6", "IPv6"}} {
		six := family.name == "ip6"
		pods := slices.IndexFunc(g.Pods, func(x snapshot.PodNetwork) bool { return x.Prefix.Addr().Is6() == six })
		translated := slices.ContainsFunc(rules, func(r node.NATRule) bool {
			return (r.Family == family.name || r.Family == "inet") && (r.Action == "masquerade" || r.Action == "snat")
		})
		if pods < 0 || translated {
			continue
		}
		p.Report(doctor.Finding{
			Object:   doctor.NodeObject(e.Name),
			Also:     []doctor.Object{e.LinkObject(g.Link)},
			Title:    fmt.Sprintf("%s translates no %s address, and its pods leave through it", e.Name, family.other),
			Evidence: []doctor.Evidence{{Source: doctor.Command("nft list ruleset"), Says: "no masquerade or snat rule of " + family.other}, {Source: doctor.Link(g.Link), Says: g.Why}},
			Cause:    "the packet filter was flushed or loaded anew, and the cluster's rules went with the old one",
			Effect:   "packets of pods go out with addresses that nobody outside has a route for: there is no answer",
			Next: fmt.Sprintf("restart the node's agent of %s, which writes its rules again; until then: iptables -t nat -A POSTROUTING -s %s ! -d %[2]s -j MASQUERADE",
				g.CMS, g.Pods[pods].Prefix),
		})
	}
}
