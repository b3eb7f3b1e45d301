package host

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var HostForwardingOff = &doctor.Check{
	Name:     "host-forwarding-off",
	Category: "node-os",
	Doc: `A host does not pass on the packets of its pods

Where the pods' way outside leads through the host, the host must forward: by
net.ipv4.ip_forward or its IPv6 twin, and by its packet filter. A strict reverse path
filter drops what comes back another way than it went.`,
	Causes: []string{"vswitchd-not-running"},
	Run: func(p *doctor.Pass) {
		p.NetNodes(func(e *doctor.NetNode) {
			g, err := e.Gate()
			if err != nil {
				p.Unknown(doctor.NodeObject(e.Name), err)
				return
			}
			strictFilter(p, e, g)
			if g == nil || !g.Forwards || e.Net.Link(g.Link) == nil {
				return
			}
			for _, six := range []bool{false, true} {
				if slices.ContainsFunc(g.Pods, func(x snapshot.PodNetwork) bool { return x.Prefix.Addr().Is6() == six }) {
					forwardingOff(p, e, g, six)
				}
			}
			forwardDropped(p, e, g)
		})
	},
}

func forwardingOff(p *doctor.Pass, e *doctor.NetNode, g *snapshot.Gate, six bool) {
	all, own, family := "net/ipv4/ip_forward", "net/ipv4/conf/"+g.Link+"/forwarding", "IPv4"
	if six {
		all, own, family = "net/ipv6/conf/all/forwarding", "net/ipv6/conf/"+g.Link+"/forwarding", "IPv6"
	}
	setting := own
	if e.Net.Sysctl[all] == "0" {
		setting = all
	}
	// It is the link that counts; IPv6 has no other switch that matters here.
	if e.Net.Sysctl[own] != "0" {
		return
	}
	p.Report(doctor.Finding{
		Object:   doctor.NodeObject(e.Name),
		Also:     []doctor.Object{e.LinkObject(g.Link)},
		Title:    fmt.Sprintf("%s does not forward %s, and the pods need it to", e.Name, family),
		Evidence: []doctor.Evidence{{Source: doctor.Other("setting " + all), Says: e.Net.Sysctl[all]}, {Source: doctor.Other("setting " + own), Says: e.Net.Sysctl[own]}, {Source: doctor.Link(g.Link), Says: g.Why}},
		Cause:    "a file of /etc/sysctl.d, a hardening tool or a person switched it off after the cluster had switched it on",
		Effect:   "pods of this node reach each other, but nothing outside by " + family,
		Fix:      catalog.EnableForwarding.With(setting),
	})
}

// forwardDropped looks for a packet filter that drops what is forwarded by its
// policy, with no rule that could let pods through.
func forwardDropped(p *doctor.Pass, e *doctor.NetNode, g *snapshot.Gate) {
	chains, err := e.Firewall()
	if err != nil {
		if !errors.Is(err, node.ErrUnavailable) {
			p.Unknown(doctor.NodeObject(e.Name), err)
		}
		return
	}
	for _, c := range chains {
		if c.Hook != "forward" || c.Policy != "drop" && c.Policy != "DROP" || accepts(chains, c, map[string]bool{}) {
			continue
		}
		p.Report(doctor.Finding{
			Object:   doctor.NodeObject(e.Name),
			Also:     []doctor.Object{e.LinkObject(g.Link)},
			Title:    fmt.Sprintf("the packet filter of %s drops all that is forwarded", e.Name),
			Evidence: []doctor.Evidence{{Source: doctor.Other(fmt.Sprintf("nft chain %s %s %s", c.Family, c.Table, c.Name)), Says: "hook forward, policy drop, and no rule accepts"}, {Source: doctor.Link(g.Link), Says: g.Why}},
			Cause:    "a container runtime or a firewall set the policy, and the cluster's accept rules are not there",
			Effect:   "pods of this node reach nothing outside",
			Next:     fmt.Sprintf("iptables -I FORWARD -i %[1]s -j ACCEPT; iptables -I FORWARD -o %[1]s -j ACCEPT; then find who set the policy", g.Link),
		})
	}
}

// accepts says whether a chain, or one that it calls, lets anything through.
func accepts(chains []node.Chain, c node.Chain, seen map[string]bool) bool {
	if key := c.Family + " " + c.Table + " " + c.Name; seen[key] {
		return false
	} else {
		seen[key] = true
	}
	for _, r := range c.Rules {
		words := strings.Fields(r.Text)
		for i, w := range words {
			switch {
			case strings.EqualFold(w, "accept"):
				return true
			case i > 0 && slices.Contains([]string{"jump", "goto", "-j", "-g"}, words[i-1]):
				for _, called := range chains {
					if called.Family == c.Family && called.Table == c.Table && called.Name == strings.Trim(w, `"`) && accepts(chains, called, seen) {
						return true
					}
				}
			}
		}
	}
	return false
}

// strictFilter looks for a strict reverse path filter on the links that pods'
// packets pass.
func strictFilter(p *doctor.Pass, e *doctor.NetNode, g *snapshot.Gate) {
	var links []string
	if g != nil {
		links = append(links, g.Link)
		for _, u := range e.Uplinks {
			links = append(links, u.Bridge.Name)
		}
	}
	for _, name := range links {
		if mode, known := e.Net.RPFilter(name); e.Net.Link(name) == nil || !known || mode != 1 {
			continue
		}
		own, all := "net/ipv4/conf/"+name+"/rp_filter", "net/ipv4/conf/all/rp_filter"
		p.Report(doctor.Finding{
			Result:   doctor.Warning,
			Object:   e.LinkObject(name),
			Also:     []doctor.Object{doctor.NodeObject(e.Name)},
			Title:    fmt.Sprintf("the reverse path filter of %s on %s is strict", name, e.Name),
			Evidence: []doctor.Evidence{{Source: doctor.Other("setting " + own), Says: e.Net.Sysctl[own]}, {Source: doctor.Other("setting " + all), Says: e.Net.Sysctl[all]}},
			Cause:    "the distribution's default, or a hardening tool",
			Effect:   "the kernel drops packets whose answer would leave by another link: of egress IPs, of services with a local traffic policy, of hosts with two ways out",
			Fix:      catalog.EnableForwarding.With(own),
		})
	}
}
