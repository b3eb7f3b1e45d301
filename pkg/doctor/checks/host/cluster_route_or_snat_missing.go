package host

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/node"
)

var ClusterRouteOrSnatMissing = &doctor.Check{
	Name:     "cluster-route-or-snat-missing",
	Category: "node-os",
	Doc: `A host has no route to the pods, or does not SNAT them

The CNI plugin gives each node a route to the pods and, where pods leave through the
host, a rule that translates their addresses.`,
	Causes: []string{"vswitchd-not-running", "kube-ovn-ovn0-wrong", "kube-ovn-node-ip-in-subnet"},
	Settle: true,
	Run: func(p *doctor.Pass) {
		for n := range p.Nodes() {
			g, ok := doctor.Need(p, doctor.NodeObject(n.Name), func() (*facts.PodLink, error) { return facts.PodLinkOf(n.Host) })
			if !ok || g == nil || n.Net.Link(g.Link) == nil {
				continue
			}
			for _, pods := range g.Missing(n.Net) {
				routeMissing(p, n, g, pods)
			}
			if g.Forwards {
				snatMissing(p, n, g)
			}
		}
	},
}

func routeMissing(p *doctor.Pass, n *doctor.Node, g *facts.PodLink, pods facts.PodNetwork) {
	state := "up"
	f := doctor.Finding{
		Object: doctor.Object{Kind: "route", Name: pods.Prefix.String(), Node: n.Name},
		Also:   []doctor.Object{doctor.NodeObject(n.Name), doctor.LinkObject(n.Host, g.Link)},
		Title:  fmt.Sprintf("%s has no route to the pods of %s through %s", n.Name, pods.Prefix, g.Link),
		Cause:  "the link was down for a moment, or a network service removed routes that it does not know",
		Effect: "the host's packets to pods, replies among them, leave by the default route and are lost",
		Fix:    catalog.AddClusterRoute.With(pods.Prefix.String()),
	}
	if !n.Net.Link(g.Link).Up {
		state = "administratively down"
		f.Cause = g.Link + " is down: the kernel dropped the routes through it"
		f.Fix, f.Next = nil, fixes.Command("ip link set %s up; ovnctl fix add-cluster-route %s", g.Link, pods.Prefix)
	}
	f.Evidence = []doctor.Evidence{
		{Source: doctor.Other(pods.Source), Says: "the network of the pods is " + pods.Prefix.String()},
		{Source: doctor.Routes(), Says: fmt.Sprintf("none to %s through %s", pods.Prefix, g.Link)},
		{Source: doctor.Link(g.Link), Says: state},
	}
	p.Report(f)
}

// snatMissing reports each IP version of the pods for which the host translates nothing.
func snatMissing(p *doctor.Pass, n *doctor.Node, g *facts.PodLink) {
	rules, err := n.NAT()
	if err != nil {
		if !errors.Is(err, node.ErrUnavailable) || n.Local {
			p.Unknown(doctor.NodeObject(n.Name), err)
		}
		return
	}
	for _, version := range []struct{ family, label, reason string }{{"ip", "IPv4", "no-snat-ipv4"}, {"ip6", "IPv6", "no-snat-ipv6"}} {
		pods := slices.IndexFunc(g.Pods, func(x facts.PodNetwork) bool { return x.Prefix.Addr().Is6() == (version.family == "ip6") })
		translated := slices.ContainsFunc(rules, func(r node.NATRule) bool {
			return (r.Family == version.family || r.Family == "inet") && (r.Action == "masquerade" || r.Action == "snat")
		})
		if pods < 0 || translated {
			continue
		}
		p.Report(doctor.Finding{
			Object: doctor.NodeObject(n.Name),
			Reason: version.reason,
			Also:   []doctor.Object{doctor.LinkObject(n.Host, g.Link)},
			Title:  fmt.Sprintf("%s has no SNAT rule for %s, and its pods leave through it", n.Name, version.label),
			Evidence: []doctor.Evidence{
				{Source: doctor.Command("nft list ruleset"), Says: "no masquerade or snat rule for " + version.label},
				{Source: doctor.Link(g.Link), Says: g.Why},
			},
			Cause:  "the packet filter was flushed or reloaded, and the rules of the cluster went with it",
			Effect: "packets of pods leave with addresses that nobody outside has a route to: no reply comes back",
			Next: fmt.Sprintf("restart the agent of %s on the node, which writes its rules again; until then: iptables -t nat -A POSTROUTING -s %s ! -d %[2]s -j MASQUERADE",
				g.CMS, g.Pods[pods].Prefix),
		})
	}
}
