package microflow

import (
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Types and flags of generated packets.
const (
	arpRequest   = 1
	neighbourAsk = 135
	neighbourSay = 136
	unreachable4 = 3
	unreachable6 = 1
)

// nested runs actions on a packet made from this one.
func (r *run) nested(a *ovnexpr.Nested) {
	p, name := *r.p, a.Name
	made := true
	switch a.Name {
	case "clone":
	case "arp":
		makeARP(&p)
	case "nd_ns":
		makeSolicitation(&p)
	case "nd_na", "nd_na_router":
		name = "nd_na"
		makeAdvertisement(&p)
	case "reject":
		name, made = makeError(&p, rejectedBy(&p), true)
	case "icmp4_error":
		name, made = makeError(&p, "icmp4", false)
	case "icmp6_error":
		name, made = makeError(&p, "icmp6", false)
	default:
		name, made = makeError(&p, a.Name, false)
	}
	if made {
		r.actions(a.Actions, r.at, &p, r.super.add(Transformation, "%s", name))
	}
}

func copyField(p *packet.Flow, to string, from *packet.Flow, name string) {
	p.Set(packet.MustField(to), from.Get(packet.MustField(name)))
}

func makeARP(p *packet.Flow) {
	for _, name := range []string{"ip_frag", "nw_tos", "nw_ecn", "nw_ttl", "tcp_flags", "arp_tha"} {
		p.SetUint(name, 0)
	}
	p.Set(ethType, packet.Uint(packet.EthARP))
	p.SetUint("arp_op", arpRequest)
	copyField(p, "arp_sha", p, "eth_src")
}

// makeSolicitation leaves the protocol unchanged, as ovn-trace does.
func makeSolicitation(p *packet.Flow) {
	was := *p
	dst := [16]byte(p.Get(&packet.IPv6Dst).Bytes(16))
	solicited := netip.AddrFrom16([16]byte{0: 0xff, 1: 2, 11: 1, 12: 0xff, 13: dst[13], 14: dst[14], 15: dst[15]}).As16()
	mac := append([]byte{0x33, 0x33}, solicited[12:]...)
	p.Set(ethDst, packet.FromBytes(mac))
	tpSrc.Set(p, packet.Uint(neighbourAsk))
	p.SetUint("arp_sha", 0)
	copyField(p, "arp_tha", &was, "eth_dst")
}

func makeAdvertisement(p *packet.Flow) {
	was := *p
	copyField(p, "eth_src", &was, "eth_dst")
	copyField(p, "eth_dst", &was, "eth_src")
	copyField(p, "ipv6_dst", &was, "ipv6_src")
	copyField(p, "ipv6_src", &was, "nd_target")
	tpSrc.Set(p, packet.Uint(neighbourSay))
	p.SetUint("arp_sha", 0)
	copyField(p, "arp_tha", &was, "eth_dst")
}

// rejectedBy returns what a packet is rejected with.
func rejectedBy(p *packet.Flow) string {
	switch {
	case p.Uint("nw_proto") == packet.ProtoTCP:
		return "tcp_reset"
	case p.Uint("nw_proto") == packet.ProtoSCTP:
		return "sctp_abort"
	case p.Meets(packet.NeedsIPv4):
		return "icmp4"
	}
	return "icmp6"
}

// makeError makes an unreachable or a reset, with sender and receiver swapped if it goes back. A packet of the same
// kind gets no reply.
func makeError(p *packet.Flow, name string, back bool) (string, bool) {
	v4 := p.Meets(packet.NeedsIPv4)
	proto, kind := uint64(0), uint64(0)
	switch name {
	case "icmp4":
		proto, kind = packet.ProtoICMP, unreachable4
	case "icmp6":
		proto, kind = packet.ProtoICMPv6, unreachable6
	case "tcp_reset":
		proto = packet.ProtoTCP
	case "sctp_abort":
		proto = packet.ProtoSCTP
		if !v4 {
			proto = packet.ProtoTCP // a bug of ovn-trace
		}
	}
	endless := kind != 0 && tpSrc.Get(p).Lo == kind || kind == 0 && p.Uint("tcp_flags") == packet.TCPReset
	if back && endless {
		return name, false
	}
	if back {
		turn(p, name == "icmp4" || kind == 0 && v4)
	}
	p.SetUint("nw_proto", proto)
	p.SetUint("nw_ttl", 255)
	if kind != 0 {
		tpSrc.Set(p, packet.Uint(kind))
		tpDst.Set(p, packet.Uint(1))
	} else {
		p.SetUint("tcp_flags", packet.TCPReset)
	}
	return name, true
}

// turn swaps sender and receiver.
func turn(p *packet.Flow, v4 bool) {
	was := *p
	src, dst := "ipv6_src", "ipv6_dst"
	if v4 {
		src, dst = "ip_src", "ip_dst"
	}
	copyField(p, "eth_src", &was, "eth_dst")
	copyField(p, "eth_dst", &was, "eth_src")
	copyField(p, src, &was, dst)
	copyField(p, dst, &was, src)
}
