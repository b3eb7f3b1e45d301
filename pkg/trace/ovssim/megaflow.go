package ovssim

import (
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// megaflow estimates which packets share the fate of this one: those equal to it in all bits that were examined.
func (x *translation) megaflow(start *packet.Flow) string {
	if start.Meets(packet.NeedsIP) {
		x.touch(nwFrag, nwFrag.Mask())
	}
	var room [512]byte
	b := append(room[:0], "recirc_id="...)
	b = append(b, start.Get(recircID).Hex()...)
	add := func(f *packet.Field) {
		m := x.mask.Get(f)
		if !m.IsZero() && start.Meets(f.Needs) {
			b = append(append(append(b, ','), f.Label()...), '=')
			b = f.AppendMatch(b, start.Get(f).And(m), m)
		}
	}
	for _, f := range []*packet.Field{dpHash, pktMark, ctState, ctZone, ctMark, ctLabel} {
		add(f)
	}
	b = append(b, ",eth"...)
	kind := start.Kind()
	if kind == "" {
		x.mask.Set(ethType, ethType.Mask())
		add(ethType)
	} else {
		b = append(append(b, ','), kind...)
	}
	b = append(append(b, ",in_port="...), start.InPort().String()...)
	if start.Get(outer).Bit(12) || !x.mask.Get(outer).IsZero() {
		add(outer)
	}
	for _, f := range headers {
		if f == nwTOS {
			tos, ecn := x.mask.Get(nwTOS), x.mask.Get(nwECN)
			x.mask.SetMasked(nwTOS, packet.Value{}, packet.Uint(3))
			add(nwTOS)
			x.mask.Set(nwTOS, tos)
			if !ecn.IsZero() {
				add(nwECN)
			}
			continue
		}
		add(f)
	}
	return string(b)
}

// headers are the packet fields that a megaflow may match, in print order.
var headers = []*packet.Field{ethSrc, ethDst, packet.MustField("arp_spa"), packet.MustField("arp_tpa"), ipSrc, ipDst, ipv6Src, ipv6Dst, ipv6Label, arpOp, arpSHA, arpTHA,
	nwTOS, nwTTL, nwFrag, mplsLabel, mplsTC, mplsTTL, mplsBOS, icmpType, icmpCode, packet.MustField("icmpv6_type"), packet.MustField("icmpv6_code"),
	ndTarget, packet.MustField("nd_sll"), packet.MustField("nd_tll"), tpSrc, tpDst, packet.MustField("udp_src"), packet.MustField("udp_dst"), packet.MustField("sctp_src"), packet.MustField("sctp_dst"), tcpFlags}
