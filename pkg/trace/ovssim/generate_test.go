package ovssim_test

import (
	"math/rand/v2"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/trace/ovssim"
)

// A generator makes packets for a node: half of them as the pods and the network
// outside send them, half of values that its flows ask for, put together at random.
type generator struct {
	*rand.Rand
	bridges []ovssim.BridgeSource
	pods    []lab.Pod
	values  map[string]map[string][]packet.Value // by bridge and field, what matches ask for
}

func newGenerator(r *rand.Rand, topology lab.Topology, s *ovssim.Source) *generator {
	g := &generator{Rand: r, bridges: s.Bridges, pods: topology.Pods, values: map[string]map[string][]packet.Value{}}
	for _, b := range s.Bridges {
		fields := map[string][]packet.Value{}
		for _, e := range b.Flows {
			for _, t := range e.Match.Terms {
				if t.Field != nil && !t.Absent && len(fields[t.Field.Name]) < 2000 {
					fields[t.Field.Name] = append(fields[t.Field.Name], t.Value)
				}
			}
		}
		g.values[b.Name] = fields
	}
	return g
}

func set(p *packet.Flow, name string, v packet.Value) {
	f, ok := packet.Lookup(name)
	if !ok {
		panic("no field " + name)
	}
	p.Set(f, v)
}

func number(n uint64) packet.Value { return packet.Uint(n) }

func text(p *packet.Flow, name, s string) {
	f, _ := packet.Lookup(name)
	v, _, err := f.ParseValue(s)
	if err != nil {
		panic(err)
	}
	p.Set(f, v)
}

// packet makes a packet, the bridge that it comes to and the states of connection
// tracking that it meets.
func (g *generator) packet() (bridge string, p packet.Flow, next []string) {
	b := g.bridges[g.IntN(len(g.bridges))]
	if g.IntN(2) == 0 {
		p = g.valid(b)
	} else {
		p = g.random(b)
	}
	for range g.IntN(4) {
		next = append(next, []string{"trk,new", "trk,est", "trk,est,rpl", "trk,rel", "trk,rel,rpl", "trk,inv", "trk,new,dnat", "trk,est,snat"}[g.IntN(8)])
	}
	return b.Name, p, next
}

func (g *generator) pick(b ovssim.BridgeSource, name string, otherwise packet.Value) packet.Value {
	list := g.values[b.Name][name]
	if len(list) == 0 || g.IntN(8) == 0 {
		return otherwise
	}
	return list[g.IntN(len(list))]
}

func (g *generator) kind(p *packet.Flow, words ...string) string {
	word := words[g.IntN(len(words))]
	k, _ := packet.LookupKeyword(word)
	k.Apply(p)
	return word
}

func (g *generator) port(b ovssim.BridgeSource) packet.PortID {
	if len(b.Ports) == 0 || g.IntN(40) == 0 {
		return packet.PortID{Number: uint32(1 + g.IntN(20))}
	}
	return packet.PortID{Number: b.Ports[g.IntN(len(b.Ports))].Port.Number}
}

// valid is a packet as a pod, a peer of a tunnel or somebody outside sends it.
func (g *generator) valid(b ovssim.BridgeSource) packet.Flow {
	var p packet.Flow
	p.SetInPort(g.port(b))
	from, to := g.pods[g.IntN(len(g.pods))], g.pods[g.IntN(len(g.pods))]
	for range 20 { // a port that a pod is at
		if g.portOf(b, from) != 0 {
			break
		}
		from = g.pods[g.IntN(len(g.pods))]
	}
	if n := g.portOf(b, from); n != 0 && g.IntN(10) > 0 {
		p.SetInPort(packet.PortID{Number: n})
	}
	text(&p, "eth_src", from.MAC)
	text(&p, "eth_dst", to.MAC)
	if g.IntN(2) == 0 {
		set(&p, "eth_dst", g.pick(b, "eth_dst", number(g.Uint64()>>16)))
	}
	kind := g.kind(&p, "tcp", "udp", "icmp", "tcp6", "udp6", "icmp6", "arp", "tcp", "udp", "tcp", "sctp")
	g.addresses(b, &p, from, to)
	switch kind {
	case "arp":
		set(&p, "arp_op", number(uint64(1+g.IntN(2))))
		text(&p, "arp_spa", from.IPv4.Addr().String())
		set(&p, "arp_tpa", g.pick(b, "arp_tpa", g.pick(b, "ip_dst", number(g.Uint64()))))
		text(&p, "arp_sha", from.MAC)
		if g.IntN(2) == 0 {
			text(&p, "eth_dst", "ff:ff:ff:ff:ff:ff")
		}
		return p
	case "icmp":
		set(&p, "icmp_type", number([]uint64{8, 0, 3, 11}[g.IntN(4)]))
	case "icmp6":
		set(&p, "icmpv6_type", number([]uint64{128, 129, 133, 134, 135, 136}[g.IntN(6)]))
		set(&p, "nd_target", g.pick(b, "nd_target", packet.Value{}))
		text(&p, "nd_sll", from.MAC)
	default:
		set(&p, "tcp_src", number(40000+uint64(g.IntN(100))))
		set(&p, "tcp_dst", g.pick(b, "tcp_dst", number(8080)))
		switch g.IntN(6) {
		case 0:
			set(&p, "tcp_dst", g.pick(b, "udp_dst", number(53)))
			set(&p, "tcp_src", g.pick(b, "udp_src", number(68)))
		case 1:
			set(&p, "tcp_dst", number(6081))
		}
	}
	set(&p, "nw_ttl", number([]uint64{64, 64, 255, 1, 2}[g.IntN(5)]))
	if g.IntN(4) == 0 {
		set(&p, "dp_hash", number(1+uint64(g.IntN(1000))))
	}
	switch g.IntN(12) {
	case 0:
		set(&p, "ip_frag", number(1))
	case 1:
		set(&p, "ip_frag", number(3))
	case 2:
		set(&p, "dl_vlan", g.pick(b, "dl_vlan", number(uint64(g.IntN(4096)))))
	case 3:
		g.tunnelled(b, &p)
	case 4:
		set(&p, "nw_tos", number(g.Uint64()&0xff))
	}
	return p
}

func (g *generator) portOf(b ovssim.BridgeSource, pod lab.Pod) uint32 {
	for _, d := range b.Ports {
		if d.Port.Name == pod.Link {
			return d.Port.Number
		}
	}
	return 0
}

func (g *generator) addresses(b ovssim.BridgeSource, p *packet.Flow, from, to lab.Pod) {
	if p.Meets(packet.NeedsIPv6) {
		if from.IPv6.IsValid() {
			text(p, "ipv6_src", from.IPv6.Addr().String())
		}
		if to.IPv6.IsValid() {
			text(p, "ipv6_dst", to.IPv6.Addr().String())
		}
		if g.IntN(2) == 0 {
			set(p, "ipv6_dst", g.pick(b, "ipv6_dst", p.Get(mustField("ipv6_dst"))))
		}
		return
	}
	if p.Meets(packet.NeedsIPv4) {
		text(p, "ip_src", from.IPv4.Addr().String())
		text(p, "ip_dst", to.IPv4.Addr().String())
		if g.IntN(2) == 0 {
			set(p, "ip_dst", g.pick(b, "ip_dst", number(g.Uint64())))
		}
	}
}

func mustField(name string) *packet.Field {
	f, _ := packet.Lookup(name)
	return f
}

// tunnelled makes a packet one that a tunnel has brought.
func (g *generator) tunnelled(b ovssim.BridgeSource, p *packet.Flow) {
	set(p, "tun_id", g.pick(b, "tun_id", number(uint64(1+g.IntN(20)))))
	text(p, "tun_src", "172.30.0.12")
	text(p, "tun_dst", "172.30.0.11")
	for _, tlv := range b.TLVs {
		p.Set(tlv.Field, number(uint64(1+g.IntN(5))<<16|uint64(1+g.IntN(5))))
	}
}

// random is a packet of values that flows ask for.
func (g *generator) random(b ovssim.BridgeSource) packet.Flow {
	var p packet.Flow
	p.SetInPort(g.port(b))
	g.kind(&p, "tcp", "udp", "icmp", "tcp6", "udp6", "icmp6", "arp", "rarp", "sctp", "ip", "ipv6", "eth", "mpls")
	if !p.Meets(packet.NeedsIP) && !p.Meets(packet.NeedsARP) && !p.Meets(packet.NeedsMPLS) {
		set(&p, "eth_type", number(0x88cc))
	}
	for _, name := range []string{"eth_src", "eth_dst", "ip_src", "ip_dst", "ipv6_src", "ipv6_dst", "arp_spa", "arp_tpa", "arp_op", "arp_sha", "nw_ttl",
		"tcp_src", "tcp_dst", "udp_src", "udp_dst", "icmp_type", "icmpv6_type", "icmp_code", "nd_target", "nd_sll", "nd_tll", "nw_tos", "ipv6_label", "tcp_flags", "mpls_label", "mpls_ttl"} {
		f := mustField(name)
		if g.IntN(4) > 0 && p.Meets(f.Needs) {
			v := g.pick(b, name, packet.Value{Hi: g.Uint64(), Lo: g.Uint64()}.And(f.Mask()))
			if name == "arp_op" {
				v = v.And(number(0xff)) // Open vSwitch keeps eight bits of it
			}
			p.Set(f, v)
		}
	}
	for _, name := range []string{"pkt_mark", "ct_mark", "reg0", "reg10", "reg14", "reg15", "metadata"} {
		if g.IntN(15) == 0 {
			set(&p, name, g.pick(b, name, number(g.Uint64())))
		}
	}
	switch g.IntN(10) {
	case 0:
		set(&p, "ct_state", number([]uint64{0x21, 0x22, 0x2a, 0x30, 0x24}[g.IntN(5)]))
		set(&p, "ct_zone", number(uint64(g.IntN(20))))
	case 1:
		set(&p, "dp_hash", number(g.Uint64()&0xffff))
	case 2:
		if p.Meets(packet.NeedsIP) {
			set(&p, "ip_frag", number([]uint64{1, 3}[g.IntN(2)]))
		}
	case 3:
		set(&p, "dl_vlan", number(uint64(g.IntN(4096))))
		set(&p, "dl_vlan_pcp", number(uint64(g.IntN(8))))
	case 4:
		g.tunnelled(b, &p)
	case 5:
		text(&p, "eth_dst", []string{"ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "33:33:00:00:00:01", "01:80:c2:00:00:02"}[g.IntN(4)])
	}
	return p
}
