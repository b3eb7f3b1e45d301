package microflow

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// flagged are the fields printed before the packet's type if they are not zero.
var flagged = []*packet.Field{&packet.PktMark, &packet.CTState, &packet.CTZone, &packet.CTMark, &packet.CTLabel}

var (
	tuple4     = []*packet.Field{&packet.CTNWSrc, &packet.CTNWDst, &packet.CTNWProto, &packet.CTTPSrc, &packet.CTTPDst}
	tuple6     = []*packet.Field{&packet.CTIPv6Src, &packet.CTIPv6Dst, &packet.CTNWProto, &packet.CTTPSrc, &packet.CTTPDst}
	ipHeader   = []*packet.Field{&packet.NWECN, &packet.NWTTL}
	arpHeader  = []*packet.Field{&packet.ARPSPA, &packet.ARPTPA, &packet.ARPOp, &packet.ARPSHA, &packet.ARPTHA}
	mplsHeader = []*packet.Field{&packet.MPLSLabel, &packet.MPLSTC, &packet.MPLSTTL, &packet.MPLSBOS}
	ndHeader   = []*packet.Field{&packet.NDTarget, &packet.NDSLL, &packet.NDTLL}
)

// A packetText prints a packet term by term.
type packetText struct {
	p     *packet.Flow
	terms []string
}

// printPacket formats a packet as the OVS library does for people: metadata only if not zero.
func printPacket(p *packet.Flow) string {
	t := &packetText{p: p}
	t.set(flagged)
	t.tuple()
	keyword, typed := kind(p)
	if keyword != "" {
		t.terms = append(t.terms, keyword)
	}
	for i := range 32 {
		t.set([]*packet.Field{packet.Reg(i)})
	}
	t.vlan()
	t.all([]*packet.Field{&packet.EthSrc, &packet.EthDst})
	if keyword == "" {
		t.all([]*packet.Field{&packet.EthType})
	}
	switch {
	case p.Meets(packet.NeedsIPv4):
		t.all([]*packet.Field{&packet.IPSrc, &packet.IPDst})
		t.ip(typed)
	case p.Meets(packet.NeedsIPv6):
		t.all([]*packet.Field{&packet.IPv6Src, &packet.IPv6Dst, &packet.IPv6Label})
		t.ip(typed)
	case p.Meets(packet.NeedsARP):
		t.all(arpHeader)
	case p.Meets(packet.NeedsMPLS):
		t.all(mplsHeader)
		t.terms = append(t.terms, "mpls_lse1=0", "mpls_lse2=0")
	}
	return strings.Join(t.terms, ",")
}

// tuple writes the connection as conntrack knows it, if it does.
func (t *packetText) tuple() {
	state := t.p.Get(ctState).Lo
	switch {
	case state&^(packet.CTTracked|packet.CTInvalid) == 0 && state != packet.CTTracked, t.p.Uint("ct_nw_proto") == 0:
	case t.p.Meets(packet.NeedsIPv4):
		t.all(tuple4)
	case t.p.Meets(packet.NeedsIPv6):
		t.all(tuple6)
	}
}

// kind returns a packet's keyword, and whether it implies the protocol above IP.
func kind(p *packet.Flow) (keyword string, typed bool) {
	protocols := map[uint64]string{packet.ProtoICMP: "icmp", packet.ProtoTCP: "tcp", packet.ProtoUDP: "udp", packet.ProtoSCTP: "sctp"}
	name, known := protocols[p.Uint("nw_proto")]
	switch p.Uint("eth_type") {
	case packet.EthIPv4:
		if known {
			return name, true
		}
		return "ip", false
	case packet.EthIPv6:
		switch {
		case p.Uint("nw_proto") == packet.ProtoICMPv6:
			return "icmp6", true
		case known && name != "icmp":
			return name + "6", true
		}
		return "ipv6", false
	case packet.EthARP:
		return "arp", false
	case packet.EthRARP:
		return "rarp", false
	case packet.EthMPLS:
		return "mpls", false
	case packet.EthMPLSMulticast:
		return "mplsm", false
	}
	return "", false
}

// all writes fields.
func (t *packetText) all(list []*packet.Field) {
	for _, f := range list {
		t.terms = append(t.terms, f.Label()+"="+f.PrintMatch(t.p.Get(f), f.Mask()))
	}
}

// set writes those of some fields that are not zero.
func (t *packetText) set(list []*packet.Field) {
	for _, f := range list {
		if !t.p.Get(f).IsZero() {
			t.all([]*packet.Field{f})
		}
	}
}

func (t *packetText) vlan() {
	tci := t.p.Uint("vlan_tci")
	if tci == 0 {
		t.terms = append(t.terms, "vlan_tci=0x0000")
		return
	}
	if tci&0x1000 == 0 {
		t.terms = append(t.terms, fmt.Sprintf("vlan_tci=0x%04x", tci))
	} else {
		t.terms = append(t.terms, fmt.Sprintf("dl_vlan=%d", tci&0xfff), fmt.Sprintf("dl_vlan_pcp=%d", tci>>13))
	}
	t.terms = append(t.terms, "vlan_tci1=0x0000")
}

// ip writes what follows the addresses.
func (t *packetText) ip(typed bool) {
	proto := t.p.Uint("nw_proto")
	if !typed {
		t.all([]*packet.Field{&packet.NWProto})
	}
	t.terms = append(t.terms, fmt.Sprintf("nw_tos=%d", t.p.Uint("nw_tos")&0xfc))
	t.all(ipHeader)
	if frag := &packet.IPFrag; t.p.Get(frag).Lo == 2 { // a later fragment of nothing, possible only in a microflow
		t.terms = append(t.terms, "nw_frag=<error>")
	} else {
		t.all([]*packet.Field{frag})
	}
	v4 := t.p.Meets(packet.NeedsIPv4)
	src, dst := tpSrc.Get(t.p).Lo, tpDst.Get(t.p).Lo
	names := "tp_src=%d,tp_dst=%d"
	switch later := t.p.Uint("ip_frag")&2 != 0; {
	case later && proto == packet.ProtoICMPv6 && !v4 && dst != 0: // the library checks the code before fragments
		t.terms = append(t.terms, fmt.Sprintf("icmp_code=%d", dst))
		return
	case later && (proto != packet.ProtoICMPv6 || v4): // the ports are in the first fragment
		return
	case proto == packet.ProtoICMP && v4, proto == packet.ProtoICMPv6 && !v4:
		names = "icmp_type=%d,icmp_code=%d"
	case proto == packet.ProtoTCP, proto == packet.ProtoUDP, proto == packet.ProtoSCTP, proto == protoIGMP:
	default:
		return
	}
	t.terms = append(t.terms, fmt.Sprintf(names, src, dst))
	if proto == packet.ProtoICMPv6 && !v4 && (src == neighbourAsk || src == neighbourSay) && dst == 0 {
		t.all(ndHeader)
	}
	if proto == packet.ProtoTCP {
		t.all([]*packet.Field{&packet.TCPFlags})
	}
}
