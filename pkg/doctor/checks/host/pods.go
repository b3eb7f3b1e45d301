package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/node"
)

var HostForwardingOff = &doctor.Check{
	Name:     "host-forwarding-off",
	Category: "node-os",
	Doc: `A host does not forward packets of its pods

Where pods leave through the host, its sysctls (net.ipv4.ip_forward and the like for IPv6)
and its packet filter must let it forward. A strict reverse path filter drops packets that
arrive by another link than their replies leave.`,
	Causes: []string{"vswitchd-not-running"},
	Host: doctor.OnNode(func(p *doctor.Pass, n *doctor.Node) {
		g, ok := doctor.Need(p, doctor.NodeObject(n.Name), func() (*facts.PodLink, error) { return facts.PodLinkOf(n.Host) })
		if !ok || g == nil {
			return
		}
		strictFilter(p, n, g)
		if !g.Forwards || n.Net.Link(g.Link) == nil {
			return
		}
		for _, v6 := range []bool{false, true} {
			if slices.ContainsFunc(g.Pods, func(x facts.PodNetwork) bool { return x.Prefix.Addr().Is6() == v6 }) {
				forwardingOff(p, n, g, v6)
			}
		}
		forwardDropped(p, n, g)
	}),
}

func forwardingOff(p *doctor.Pass, n *doctor.Node, g *facts.PodLink, v6 bool) {
	all, own, version, reason := "net/ipv4/ip_forward", "net/ipv4/conf/"+g.Link+"/forwarding", "IPv4", "ipv4-off"
	if v6 {
		all, own, version, reason = "net/ipv6/conf/all/forwarding", "net/ipv6/conf/"+g.Link+"/forwarding", "IPv6", "ipv6-off"
	}
	if n.Net.Sysctl[own] != "0" {
		return // the link's own sysctl decides
	}
	sysctl := own
	if n.Net.Sysctl[all] == "0" {
		sysctl = all
	}
	p.Report(doctor.Finding{
		Object:   doctor.NodeObject(n.Name),
		Reason:   reason,
		Also:     []doctor.Object{doctor.LinkObject(n.Host, g.Link)},
		Title:    fmt.Sprintf("%s does not forward %s, and its pods need it", n.Name, version),
		Evidence: []doctor.Evidence{sysctlEvidence(n, all), sysctlEvidence(n, own), {Source: doctor.Link(g.Link), Says: g.Why}},
		Cause:    "a file in /etc/sysctl.d, a hardening tool or a person switched it off after the cluster had switched it on",
		Effect:   "pods of this node reach each other, but nothing outside over " + version,
		Fix:      catalog.EnableForwarding.With(sysctl),
	})
}

func sysctlEvidence(n *doctor.Node, path string) doctor.Evidence {
	return doctor.Evidence{Source: doctor.Sysctl(path), Says: n.Net.Sysctl[path]}
}

// forwardDropped reports a packet filter whose policy drops forwarded packets, with no rule that accepts any.
func forwardDropped(p *doctor.Pass, n *doctor.Node, g *facts.PodLink) {
	chains, err := n.Firewall()
	if err != nil {
		if !errors.Is(err, node.ErrUnavailable) {
			p.Unknown(doctor.NodeObject(n.Name), err)
		}
		return
	}
	var evidence []doctor.Evidence
	for c := range doctor.Each(chains) {
		if c.Hook == "forward" && strings.EqualFold(c.Policy, "drop") && !accepts(chains, c, map[*node.Chain]bool{}) {
			evidence = append(evidence, doctor.Evidence{Source: doctor.Chain(c), Says: "hook forward, policy drop, and no rule accepts"})
		}
	}
	if len(evidence) == 0 {
		return
	}
	p.Report(doctor.Finding{
		Object:   doctor.NodeObject(n.Name),
		Reason:   "forward-dropped",
		Also:     []doctor.Object{doctor.LinkObject(n.Host, g.Link)},
		Title:    fmt.Sprintf("the packet filter of %s drops all forwarded packets", n.Name),
		Evidence: append(evidence, doctor.Evidence{Source: doctor.Link(g.Link), Says: g.Why}),
		Cause:    "a container runtime or a firewall set the policy, and the accept rules of the cluster are missing",
		Effect:   "pods of this node reach nothing outside",
		Next:     fmt.Sprintf("iptables -I FORWARD -i %[1]s -j ACCEPT; iptables -I FORWARD -o %[1]s -j ACCEPT; then find what set the policy", g.Link),
	})
}

// accepts reports whether a chain, or one that it calls, accepts anything.
func accepts(chains []node.Chain, c *node.Chain, seen map[*node.Chain]bool) bool {
	if seen[c] {
		return false
	}
	seen[c] = true
	return slices.ContainsFunc(c.Rules, func(r node.FilterRule) bool {
		words := strings.Fields(r.Text)
		if slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, "accept") }) {
			return true
		}
		at := slices.IndexFunc(words, func(w string) bool { return slices.Contains([]string{"jump", "goto", "-j", "-g"}, w) })
		if at < 0 || at+1 == len(words) {
			return false
		}
		called := slices.IndexFunc(chains, func(x node.Chain) bool {
			return x.Family == c.Family && x.Table == c.Table && x.Name == strings.Trim(words[at+1], `"`)
		})
		return called >= 0 && accepts(chains, &chains[called], seen)
	})
}

// strictFilter reports strict reverse path filters on links that pod packets cross.
func strictFilter(p *doctor.Pass, n *doctor.Node, g *facts.PodLink) {
	links := []string{g.Link}
	for _, u := range n.Uplinks {
		links = append(links, u.Bridge.Name)
	}
	for _, name := range links {
		if mode, known := n.Net.RPFilter(name); n.Net.Link(name) == nil || !known || mode != 1 {
			continue
		}
		own := "net/ipv4/conf/" + name + "/rp_filter"
		p.Report(doctor.Finding{
			Result:   doctor.Warning,
			Object:   doctor.LinkObject(n.Host, name),
			Reason:   "strict-rp-filter",
			Also:     []doctor.Object{doctor.NodeObject(n.Name)},
			Title:    fmt.Sprintf("the reverse path filter of %s on %s is strict", name, n.Name),
			Evidence: []doctor.Evidence{sysctlEvidence(n, own), sysctlEvidence(n, "net/ipv4/conf/all/rp_filter")},
			Cause:    "the distribution's default, or a hardening tool",
			Effect:   "the kernel drops packets whose replies would leave by another link: egress IPs, services with externalTrafficPolicy Local, hosts with two uplinks",
			Fix:      catalog.EnableForwarding.With(own),
		})
	}
}

var ClusterRouteOrSnatMissing = &doctor.Check{
	Name:     "cluster-route-or-snat-missing",
	Category: "node-os",
	Doc: `A host has no route to the pods, or does not SNAT them

The CNI plugin gives each node a route to the pods and, where pods leave through the
host, a rule that translates their addresses.`,
	Causes:   []string{"vswitchd-not-running", "kube-ovn-ovn0-wrong", "kube-ovn-node-ip-in-subnet"},
	CausesOn: []doctor.Kind{{Check: "pod-address-mismatch", Reason: "link"}}, // it is down
	Settle:   true,
	Host: doctor.OnNode(func(p *doctor.Pass, n *doctor.Node) {
		g, ok := doctor.Need(p, doctor.NodeObject(n.Name), func() (*facts.PodLink, error) { return facts.PodLinkOf(n.Host) })
		if !ok || g == nil || n.Net.Link(g.Link) == nil {
			return
		}
		for _, pods := range g.Missing(n.Net) {
			routeMissing(p, n, g, pods)
		}
		if g.Forwards {
			snatMissing(p, n, g)
		}
	}),
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

// snatMissing reports each IP version of the pods that the host does not translate.
func snatMissing(p *doctor.Pass, n *doctor.Node, g *facts.PodLink) {
	chains, err := n.Firewall()
	if err != nil {
		if !errors.Is(err, node.ErrUnavailable) || n.Local {
			p.Unknown(doctor.NodeObject(n.Name), err)
		}
		return
	}
	for _, version := range []struct{ family, label, reason string }{{"ip", "IPv4", "no-snat-ipv4"}, {"ip6", "IPv6", "no-snat-ipv6"}} {
		pods := slices.IndexFunc(g.Pods, func(x facts.PodNetwork) bool { return x.Prefix.Addr().Is6() == (version.family == "ip6") })
		translated := slices.ContainsFunc(node.NATRules(chains), func(r node.NATRule) bool {
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
