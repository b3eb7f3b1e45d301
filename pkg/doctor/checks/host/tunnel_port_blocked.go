package host

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var TunnelPortBlocked = &doctor.Check{
	Name:     "tunnel-port-blocked",
	Category: "node-os",
	Doc: `Tunnel packets are sent, and do not arrive

Something between two nodes drops UDP port 6081 (Geneve) or 4789 (VXLAN): a packet
filter on one of them, firewalld, a security group of the cloud.`,
	Causes: []string{
		"vswitchd-not-running", "bridge-ip-lost-after-reboot", "uplink-not-in-bridge", "bridge-fail-mode-wrong", "ip-on-enslaved-nic", "bridge-link-down",
		"encap-ip-not-local", "system-id-cloned", "two-vswitchds", "kernel-module-missing", "ipsec-down", "ipv6-dad-failed",
	},
	Sample: 12 * time.Second, // the counters in the database are written every 5 seconds
	Run: func(p *doctor.Pass) {
		looks := doctor.Sampled(p, readTunnels, func(t []tunnelLoad) bool { return len(t) > 0 })
		for _, l := range looks {
			if !l.Both {
				continue
			}
			oneEnd := 0
			for _, t := range l.First {
				sent := t.grew(l.Second).tx
				if sent < fewSent {
					continue
				}
				peer := otherEnd(looks, l.Host, t)
				if peer == nil {
					if t.grew(l.Second).rx == 0 {
						oneEnd++
					}
					continue
				}
				arrived, known := peer.from(l.Host.SystemID, t.local)
				if known && arrived.rx == 0 {
					blocked(p, &l, peer, t, sent)
				}
			}
			if oneEnd > 0 {
				p.Unknown(doctor.NodeObject(l.Name), fmt.Errorf("%d nodes send nothing back through their tunnels to %s; whether packets arrive there tell their counters: --node-exec 'ssh {hostname}' reaches them", oneEnd, l.Name))
			}
		}
	},
}

// fewSent are fewer packets than one would judge by: the last ones may be under way.
const fewSent = 4

// A tunnelLoad is a tunnel interface of a host with its counters.
type tunnelLoad struct {
	name, kind    string
	local, remote string // addresses; local may be empty
	chassis       string // at the other end
	port          string // UDP
	traffic
}

// traffic counts packets.
type traffic struct{ tx, rx int }

func (t tunnelLoad) grew(second []tunnelLoad) traffic {
	for _, s := range second {
		if s.name == t.name {
			return traffic{doctor.Grew(t.tx, s.tx), doctor.Grew(t.rx, s.rx)}
		}
	}
	return traffic{}
}

// readTunnels lists the tunnels of a host whose ovs-vswitchd keeps its counters.
func readTunnels(h *snapshot.Host) ([]tunnelLoad, error) {
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
	var list []tunnelLoad
	for _, i := range s.Interfaces {
		if i.Type != "geneve" && i.Type != "vxlan" || i.Options["remote_ip"] == "" || i.Options["remote_ip"] == "flow" {
			continue
		}
		t := tunnelLoad{name: i.Name, kind: i.Type, local: i.Options["local_ip"], remote: i.Options["remote_ip"], port: i.Options["dst_port"]}
		t.chassis = peers[i.Name]
		if t.port == "" {
			t.port = map[string]string{"geneve": "6081", "vxlan": "4789"}[i.Type]
		}
		t.traffic = traffic{i.Statistics["tx_packets"], i.Statistics["rx_packets"]}
		list = append(list, t)
	}
	return list, nil
}

// otherEnd is the look at the host at the other end of a tunnel; nil: it was not read twice.
func otherEnd(looks []doctor.Samples[[]tunnelLoad], h *snapshot.Host, t tunnelLoad) *peerLook {
	for i := range looks {
		l := &looks[i]
		if l.Host != h && l.Both && t.chassis != "" && l.SystemID == t.chassis {
			return &peerLook{l}
		}
	}
	return nil
}

type peerLook struct{ *doctor.Samples[[]tunnelLoad] }

// from is what came from a chassis between the looks. With several tunnels to it
// all of them count: packets may come from any of its addresses.
func (l *peerLook) from(chassis, local string) (sum traffic, known bool) {
	for _, t := range l.First {
		if t.chassis == chassis && chassis != "" {
			g := t.grew(l.Second)
			sum.tx, sum.rx, known = sum.tx+g.tx, sum.rx+g.rx, true
		}
	}
	return sum, known
}

func blocked(p *doctor.Pass, l *doctor.Samples[[]tunnelLoad], peer *peerLook, t tunnelLoad, sent int) {
	arrived, _ := peer.from(l.SystemID, t.local)
	f := doctor.Finding{
		Object: doctor.Object{Kind: "tunnel", Name: t.name, Node: l.Name},
		Also:   []doctor.Object{doctor.NodeObject(l.Name), doctor.NodeObject(peer.Name)},
		Title:  fmt.Sprintf("%s sends to %s through its %s tunnel, and nothing arrives there", l.Name, peer.Name, t.kind),
		Evidence: []doctor.Evidence{
			{Source: doctor.OVS("Interface", t.name+" on "+l.Name), Says: fmt.Sprintf("remote_ip=%s, %d packets sent in %s", t.remote, sent, p.Sample())},
			{Source: doctor.Other("tunnels of " + peer.Name + " from " + l.Name), Says: fmt.Sprintf("%d packets received meanwhile, %d sent", arrived.rx, arrived.tx)},
		},
		Cause:  fmt.Sprintf("UDP port %s is dropped on the way from %s to %s", t.port, l.Name, peer.Name),
		Effect: fmt.Sprintf("pods on %s reach pods on %s no more; those on one node reach each other", l.Name, peer.Name),
	}
	rules := append(droppers(l.Host, t.port, "output", "egress", "postrouting"), droppers(peer.Host, t.port, "input", "ingress", "prerouting")...)
	for _, r := range rules {
		f.Evidence = append(f.Evidence, r.evidence)
		f.Also = append(f.Also, doctor.NodeObject(r.host))
	}
	f.Next = fmt.Sprintf("look at %s whether they get there (tcpdump -ni any udp port %s); if not, open UDP port %[2]s in the security group or firewall between %[3]s and %[1]s", peer.Name, t.port, l.Name)
	if len(rules) > 0 {
		f.Cause += ": by a rule of " + rules[0].host
		f.Next = fmt.Sprintf("on %s remove the rule, or let the port through: nft insert rule %s udp dport %s accept", rules[0].host, rules[0].chain, t.port)
		if rules[0].firewalld {
			f.Next = fmt.Sprintf("on %s: firewall-cmd --add-port=%s/udp --permanent && firewall-cmd --reload", rules[0].host, t.port)
		}
	}
	p.Report(f)
}

// A dropper is a rule or a policy that may be what drops the packets of tunnels.
type dropper struct {
	evidence  doctor.Evidence
	host      string
	chain     string // "inet filter input"
	firewalld bool
}

var dropWord = regexp.MustCompile(`(^|\s)(drop|reject|DROP|REJECT)(\s|$)`)

// droppers are the rules of a host that drop a UDP port, and chains that drop what no rule lets in.
func droppers(h *snapshot.Host, port string, hooks ...string) []dropper {
	chains, err := h.Firewall()
	if err != nil {
		return nil // the counters tell without it
	}
	named := regexp.MustCompile(`(dport|--dports?) (\{[^}]*\b` + port + `\b|[\d,:]*\b` + port + `\b)`)
	var rules, policies []dropper
	for _, c := range chains {
		at := fmt.Sprintf("%s %s %s", c.Family, c.Table, c.Name)
		d := dropper{host: h.Name, chain: at, firewalld: strings.Contains(c.Table, "firewalld")}
		lets := false
		for _, r := range c.Rules {
			if !named.MatchString(r.Text) {
				continue
			}
			if !dropWord.MatchString(r.Text) {
				lets = true
				continue
			}
			if c.Hook != "" && !slices.Contains(hooks, c.Hook) {
				continue
			}
			d.evidence = doctor.Evidence{Source: doctor.Other("packet filter of " + h.Name + ", chain " + at), Says: r.Text}
			if r.Counted {
				d.evidence.Says += fmt.Sprintf(" (%d packets)", r.Packets)
			}
			rules = append(rules, d)
		}
		if strings.EqualFold(c.Policy, "drop") && c.Type == "filter" && slices.Contains(hooks, c.Hook) && !lets {
			d.evidence = doctor.Evidence{Source: doctor.Other("packet filter of " + h.Name + ", chain " + at), Says: "policy drop, and no rule of it lets UDP port " + port + " through"}
			policies = append(policies, d)
		}
	}
	if len(rules) > 0 {
		return rules
	}
	return policies
}
