package host

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/pattern"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var TunnelPortBlocked = &doctor.Check{
	Name:     "tunnel-port-blocked",
	Category: "node-os",
	Doc: `Tunnel packets are sent and do not arrive

Something between two nodes drops UDP port 6081 (Geneve) or 4789 (VXLAN): a packet
filter on one of them, firewalld, a security group of the cloud.`,
	Causes: []string{
		"vswitchd-not-running", "bridge-ip-lost-after-reboot", "uplink-not-in-bridge", "bridge-fail-mode-wrong", "ip-on-enslaved-nic", "bridge-link-down",
		"encap-ip-not-local", "system-id-cloned", "two-vswitchds", "kernel-module-missing", "ipsec-down", "ipv6-dad-failed", "tunnel-path-blocked",
	},
	Sample: 12 * time.Second, // ovs-vswitchd writes the counters to the database every 5 seconds
	Run: func(p *doctor.Pass) {
		most := math.MaxInt
		if p.Sample() == 0 {
			most = 1 // nothing to compare them with: without any, there is nothing to say
		}
		read := func(h *snapshot.Host) ([]tunnel, error) { return readTunnels(h, most) }
		all := doctor.TakeSamples(p, read, func(t []tunnel) bool { return len(t) > 0 })
		for i := range all {
			if all[i].Both {
				silentTunnels(p, all, &all[i])
			}
		}
	},
}

// fewSent is too few packets to judge by: the last ones may still be in flight.
const fewSent = 4

// tunnelSamples are two samples of a host's tunnels.
type tunnelSamples = doctor.Samples[[]tunnel]

// A tunnel is a tunnel interface of a host with its counters.
type tunnel struct {
	name, kind string
	remote     string // address
	chassis    string // at the other end
	port       string // UDP
	traffic
}

// traffic counts packets.
type traffic struct{ tx, rx int }

// since returns the tunnel's traffic between two samples.
func (t tunnel) since(second []tunnel) traffic {
	for _, s := range second {
		if s.name == t.name {
			return traffic{doctor.Increase(t.tx, s.tx), doctor.Increase(t.rx, s.rx)}
		}
	}
	return traffic{}
}

// udpPort is the one that tunnels of a type use unless told otherwise; "" if they use none.
func udpPort(tunnel string) string {
	switch tunnel {
	case "geneve":
		return "6081"
	case "vxlan":
		return "4789"
	}
	return ""
}

// readTunnels lists a host's tunnels, at most the given number, if its ovs-vswitchd updates their counters.
func readTunnels(h *snapshot.Host, most int) ([]tunnel, error) {
	return snapshot.Distil(h, fmt.Sprint(most), func() ([]tunnel, error) { return tunnelsOf(h, most) })
}

func tunnelsOf(h *snapshot.Host, most int) ([]tunnel, error) {
	if d, err := h.Daemon("ovs-vswitchd"); err != nil {
		return nil, err
	} else if d.Liveness != snapshot.Answers {
		return nil, doctor.ErrNothing
	}
	s, err := h.Switch()
	if err != nil {
		return nil, err
	}
	peers := map[string]string{} // by the name of the port
	for _, port := range s.Ports {
		peers[port.Name], _, _ = strings.Cut(port.ExternalIDs["ovn-chassis-id"], "@")
	}
	var list []tunnel
	for _, i := range s.Interfaces {
		remote := i.Options["remote_ip"]
		if len(list) == most {
			break
		}
		if udpPort(i.Type) == "" || remote == "" || remote == "flow" {
			continue
		}
		t := tunnel{name: i.Name, kind: i.Type, remote: remote, chassis: peers[i.Name], port: i.Options["dst_port"]}
		if t.port == "" {
			t.port = udpPort(i.Type)
		}
		t.traffic = traffic{i.Statistics["tx_packets"], i.Statistics["rx_packets"]}
		list = append(list, t)
	}
	return list, nil
}

// silentTunnels reports a host's tunnels that send packets of which none arrives.
func silentTunnels(p *doctor.Pass, all []tunnelSamples, s *tunnelSamples) {
	oneEnd := 0
	for _, t := range s.First {
		passed := t.since(s.Second)
		if passed.tx < fewSent {
			continue
		}
		peer := otherEnd(all, s.Host, t)
		if peer == nil {
			if passed.rx == 0 {
				oneEnd++
			}
			continue
		}
		if received, known := receivedFrom(peer, s.SystemID); known && received.rx == 0 {
			blocked(p, s.Host, peer.Host, t, passed, received)
		}
	}
	if oneEnd > 0 {
		p.Unknown(doctor.NodeObject(s.Name), fmt.Errorf("%d nodes send nothing back through their tunnels to %s; their own counters show whether packets arrive there: --node-exec 'ssh {hostname}' reads them", oneEnd, s.Name))
	}
}

// otherEnd returns the host at the other end of a tunnel; nil without two samples of it.
func otherEnd(all []tunnelSamples, h *snapshot.Host, t tunnel) *tunnelSamples {
	at := slices.IndexFunc(all, func(s tunnelSamples) bool {
		return s.Host != h && s.Both && t.chassis != "" && s.SystemID == t.chassis
	})
	if at < 0 {
		return nil
	}
	return &all[at]
}

// receivedFrom returns a host's traffic with a chassis between the samples, through all tunnels to it: packets may come
// from any of its addresses.
func receivedFrom(s *tunnelSamples, chassis string) (sum traffic, known bool) {
	for _, t := range s.First {
		if t.chassis == chassis && chassis != "" {
			passed := t.since(s.Second)
			sum.tx, sum.rx, known = sum.tx+passed.tx, sum.rx+passed.rx, true
		}
	}
	return sum, known
}

func blocked(p *doctor.Pass, from, to *snapshot.Host, t tunnel, sent, received traffic) {
	f := doctor.Finding{
		Object: doctor.Object{Kind: "tunnel", Name: t.name, Node: from.Name},
		Also:   []doctor.Object{doctor.NodeObject(from.Name), doctor.NodeObject(to.Name)},
		Title:  fmt.Sprintf("%s sends to %s through its %s tunnel, and nothing arrives", from.Name, to.Name, t.kind),
		Evidence: []doctor.Evidence{
			{Source: doctor.OVS("Interface", t.name).On(from.Name), Says: fmt.Sprintf("remote_ip=%s, %d packets sent in %s", t.remote, sent.tx, p.Sample())},
			{Source: doctor.Counter("tunnels of " + to.Name + " to " + from.Name), Says: fmt.Sprintf("%d packets received in that time, %d sent", received.rx, received.tx)},
		},
		Cause:  fmt.Sprintf("UDP port %s is dropped between %s and %s", t.port, from.Name, to.Name),
		Effect: fmt.Sprintf("pods on %s cannot reach pods on %s; pods on one node reach each other", from.Name, to.Name),
		Next: fmt.Sprintf("see on %s whether they arrive (tcpdump -ni any udp port %s); if not, open UDP port %[2]s in the security group or firewall between %[3]s and %[1]s",
			to.Name, t.port, from.Name),
	}
	rules := append(filteredBy(from, t.port, "output", "egress", "postrouting"), filteredBy(to, t.port, "input", "ingress", "prerouting")...)
	for _, r := range rules {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Chain(r.chain).On(r.host), Says: r.says})
		f.Also = append(f.Also, doctor.NodeObject(r.host))
	}
	if len(rules) > 0 {
		first := rules[0]
		f.Cause += ": by the packet filter of " + first.host
		f.Next = fmt.Sprintf("on %s remove the rule, or let the port through: nft insert rule %s %s %s udp dport %s accept", first.host, first.chain.Family, first.chain.Table, first.chain.Name, t.port)
		if first.firewalld() {
			f.Next = fmt.Sprintf("on %s: firewall-cmd --add-port=%s/udp --permanent && firewall-cmd --reload", first.host, t.port)
		}
	}
	p.Report(f)
}

// A dropper is a chain that may drop tunnel packets, by a rule or its policy.
type dropper struct {
	host  string
	chain *node.Chain
	says  string
}

func (d dropper) firewalld() bool { return strings.Contains(d.chain.Table, "firewalld") }

// filteredBy returns a host's droppers; none if its packet filter cannot be read.
func filteredBy(h *snapshot.Host, port string, hooks ...string) []dropper {
	chains, err := h.Firewall()
	if err != nil {
		return nil // the counters suffice
	}
	return droppers(h.Name, chains, port, hooks)
}

// ruleText returns a rule with its packet count, if counted.
func ruleText(r node.FilterRule) string {
	if !r.Counted {
		return r.Text
	}
	return fmt.Sprintf("%s (%d packets)", r.Text, r.Packets)
}

var dropWord = pattern.New(`(^|\s)(drop|reject|DROP|REJECT)(\s|$)`)

// droppers returns the rules that drop a UDP port at some hooks; without any, the policies that drop it for lack of an
// accepting rule.
func droppers(host string, chains []node.Chain, port string, hooks []string) []dropper {
	named := regexp.MustCompile(`(dport|--dports?) (\{[^}]*\b` + port + `\b|[\d,:]*\b` + port + `\b)`)
	var rules, policies []dropper
	for c := range doctor.Each(chains) {
		atHook := slices.Contains(hooks, c.Hook)
		accepted := false
		for _, r := range c.Rules {
			if !named.MatchString(r.Text) {
				continue
			}
			switch drops := dropWord.Get().MatchString(r.Text); {
			case !drops:
				accepted = true
			case c.Hook == "" || atHook:
				rules = append(rules, dropper{host, c, ruleText(r)})
			}
		}
		if strings.EqualFold(c.Policy, "drop") && c.Type == "filter" && atHook && !accepted {
			policies = append(policies, dropper{host, c, "policy drop, and no rule lets UDP port " + port + " through"})
		}
	}
	if len(rules) > 0 {
		return rules
	}
	return policies
}
