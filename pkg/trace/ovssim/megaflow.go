package ovssim

import (
	"slices"
	"strconv"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// megaflow returns which packets share the fate of this one: those equal to it in all bits that were examined.
func (x *translation) megaflow(start *packet.Flow) string {
	w := megaflowWriter{start: start, mask: &x.mask}
	for _, f := range []*packet.Field{pktMark, recircID, dpHash, conjID, skbPriority, ctState, ctZone, ctMark, ctLabel} {
		w.add(f)
	}
	for _, f := range ctTuple {
		w.always(f)
	}
	if start.Meets(packet.NeedsEthernet) {
		w.word("eth")
	} else {
		w.add(packetType)
	}
	kind := w.kind()
	if kind != "" {
		w.word(kind)
	}
	if x.failure != "" { // Open vSwitch does not come to forget these
		for i := range 32 {
			w.add(packet.Reg(i))
		}
	}
	for _, f := range tunnelHeaders {
		w.add(f)
	}
	for i := range 64 {
		if f := packet.TunMetadata(i); x.mask.HasOption(i) {
			switch {
			case !start.HasOption(i):
				w.word(f.Name + "=NP")
			case x.mask.Get(f).IsZero():
				w.word(f.Name)
			case x.home.covers(f, x.mask.Get(f)):
				w.word(f.Name + "=" + f.Print(start.Get(f)))
			default:
				w.add(f)
			}
		}
	}
	if x.failure != "" {
		w.add(metadata)
	}
	w.word("in_port=" + start.InPort().String())
	w.vlan(outer, "")
	if !x.mask.Get(outer).IsZero() {
		w.vlan(inner, "1")
	}
	if start.Meets(packet.NeedsEthernet) {
		w.add(ethSrc)
		w.add(ethDst)
		if kind == "" {
			w.add(ethType)
		}
	}
	proto := saysProtocol(kind)
	for _, f := range headers {
		switch {
		case f == nwProto && proto:
		case f == nwTOS:
			if m := x.mask.Get(nwTOS).Lo &^ 3; m != 0 {
				w.word("nw_tos=" + strconv.FormatUint(start.Get(nwTOS).Lo&^3, 10))
			}
		case f == nwProto && start.Meets(packet.NeedsARP):
		case f == nwProto || f == nwTTL || f == nwECN, f.Needs >= packet.NeedsND && start.Meets(packet.NeedsICMPv6):
			w.always(f)
		case x.failure != "" && slices.Contains(mplsFields, f): // nor to forget those of a packet without labels
			w.always(f)
		case slices.Contains(nshContext, f): // Open vSwitch writes them where it writes their kind
			if start.Get(nshType).Lo == 1 && !x.mask.Get(nshType).IsZero() {
				w.add(f)
			}
		case f == tcpFlags:
			if start.Get(nwProto).Lo == packet.ProtoTCP { // also of a later fragment
				w.always(f)
			}
		case f == tpSrc || f == tpDst:
			if !start.Meets(packet.NeedsICMPv4) && !start.Meets(packet.NeedsICMPv6) {
				w.always(f)
			}
		default:
			w.add(f)
		}
	}
	return string(w.b)
}

// covers reports whether a mask has all bits of a tunnel option.
func (b *bridge) covers(f *packet.Field, mask packet.Value) bool {
	return slices.ContainsFunc(b.tlvs, func(t openflow.TLV) bool { return t.Field == f && packet.Ones(8*t.Length).AndNot(mask).IsZero() })
}

// A megaflowWriter writes the bits of a flow that a mask has.
type megaflowWriter struct {
	start, mask *packet.Flow
	b           []byte
}

func (w *megaflowWriter) word(s string) {
	if len(w.b) > 0 {
		w.b = append(w.b, ',')
	}
	w.b = append(w.b, s...)
}

func (w *megaflowWriter) add(f *packet.Field) {
	m := w.mask.Get(f)
	if !m.IsZero() && w.start.Meets(f.Needs) {
		w.always(f)
	}
}

// always writes a field even if the packet has none.
func (w *megaflowWriter) always(f *packet.Field) {
	m := w.mask.Get(f)
	if m.IsZero() {
		return
	}
	if f == arpOp { // Open vSwitch has eight bits of it
		m = f.Mask()
	}
	w.word(f.Label())
	w.b = append(w.b, '=')
	w.b = f.AppendMatch(w.b, w.start.Get(f).And(m), m)
}

// saysProtocol reports whether a keyword says the IP protocol, too.
func saysProtocol(keyword string) bool {
	switch keyword {
	case "tcp", "tcp6", "udp", "udp6", "sctp", "sctp6", "icmp", "icmp6":
		return true
	}
	return false
}

// kind returns the keyword for what was examined; "" if there is none.
func (w *megaflowWriter) kind() string {
	p := *w.start
	p.Set(packetType, packet.Value{}) // also of one without an Ethernet header
	if w.mask.Get(nwProto).IsZero() {
		p.Set(nwProto, packet.Value{})
	}
	return p.Kind()
}

// vlan writes the bits of a tag: as a VLAN if there is one and its fields count as a whole.
func (w *megaflowWriter) vlan(f *packet.Field, ending string) {
	m, tci := w.mask.Get(f).Lo, w.start.Get(f).Lo
	vid, priority := m&0xfff, m&0xe000
	switch {
	case m == 0:
	case m&tagPresent != 0 && tci&tagPresent != 0 && (vid == 0 || vid == 0xfff) && (priority == 0 || priority == 0xe000) && vid|priority != 0:
		if vid != 0 {
			w.word("dl_vlan" + ending + "=" + strconv.FormatUint(tci&0xfff, 10))
		}
		if priority != 0 {
			w.word("dl_vlan_pcp" + ending + "=" + strconv.FormatUint(tci>>13, 10))
		}
	default:
		w.add(f)
	}
}

var (
	nshContext    = []*packet.Field{&packet.NSHC1, &packet.NSHC2, &packet.NSHC3, &packet.NSHC4}
	nshType       = &packet.NSHMDType
	ctTuple       = []*packet.Field{&packet.CTNWSrc, &packet.CTNWDst, &packet.CTIPv6Src, &packet.CTIPv6Dst, &packet.CTNWProto, &packet.CTTPSrc, &packet.CTTPDst}
	tunnelHeaders = []*packet.Field{&packet.TunID, &packet.TunSrc, &packet.TunDst, &packet.TunIPv6Src, &packet.TunIPv6Dst, &packet.TunGBPID, &packet.TunGBPFlags, &packet.TunTOS, &packet.TunTTL,
		&packet.TunErspanVer, &packet.TunErspanIdx, &packet.TunErspanDir, &packet.TunErspanHWID, &packet.TunGTPUFlags, &packet.TunGTPUMsgType, &packet.TunFlags}
)

// headers are the packet fields that a megaflow may match, in print order.
var headers = []*packet.Field{&packet.ARPSPA, &packet.ARPTPA, &packet.IPSrc, &packet.IPDst, &packet.IPv6Src, &packet.IPv6Dst, &packet.IPv6Label, &packet.ARPOp, &packet.ARPSHA, &packet.ARPTHA,
	&packet.NWProto, &packet.NWTOS, &packet.NWECN, &packet.NWTTL, &packet.MPLSLabel, &packet.MPLSTC, &packet.MPLSTTL, &packet.MPLSBOS, &packet.MPLSLSE1, &packet.MPLSLSE2, &packet.IPFrag,
	&packet.NSHFlags, &packet.NSHTTL, &packet.NSHMDType, &packet.NSHNP, &packet.NSHSPI, &packet.NSHSI, &packet.NSHC1, &packet.NSHC2, &packet.NSHC3, &packet.NSHC4,
	&packet.ICMPType, &packet.ICMPCode, &packet.ICMPv6Type, &packet.ICMPv6Code, &packet.NDTarget, &packet.NDSLL, &packet.NDTLL, &packet.TCPSrc, &packet.TCPDst, &packet.TCPFlags}

// received marks what is examined of every packet.
func (x *translation) received() {
	p := &x.packet
	x.touch(recircID, recircID.Mask())
	x.touch(ethType, ethType.Mask())
	if p.ip() {
		x.touch(nwFrag, nwFrag.Mask())
	}
	if p.destination().IsUnspecified() {
		return
	}
	x.touch(tunID, tunID.Mask())
	src, dst := tunSrc, tunDst
	if p.Get(tunDst).IsZero() {
		src, dst = tunIPv6Src, tunIPv6Dst
	}
	x.touch(src, src.Mask())
	x.touch(dst, dst.Mask())
	flags := uint64(flagKey)
	if !x.sw.eager {
		flags |= flagFragment | flagChecksum
	}
	x.touch(tunFlags, packet.Uint(flags))
	x.touch(tunTOS, tunTOS.Mask())
	if p.ip() && p.number(tunTOS)&3 == 3 {
		x.touch(nwTOS, packet.Uint(3))
	}
}

// forget clears the bits that the datapath does not match, and marks others that it needs with them.
func (x *translation) forget(start *packet.Flow) {
	x.mask.Set(conjID, packet.Value{})
	if start.Get(tunDst).IsZero() && start.Get(tunIPv6Dst).IsZero() {
		x.mask.ClearTunnel()
	}
	if !start.Meets(packet.NeedsMPLS) {
		for _, f := range mplsFields {
			x.mask.Set(f, packet.Value{})
		}
	}
	for _, tag := range []*packet.Field{outer, inner} {
		switch {
		case !start.Get(tag).Bit(12):
			x.mask.Set(tag, packet.Value{})
		case !x.mask.Get(tag).IsZero():
			x.touch(tag, packet.Uint(tagPresent))
		}
	}
	if start.Meets(packet.NeedsICMPv4) || start.Meets(packet.NeedsICMPv6) {
		for _, f := range []*packet.Field{tpSrc, tpDst} {
			x.mask.Set(f, x.mask.Get(f).And(packet.Uint(0xff)))
		}
	}
	if start.Get(nwFrag).Bit(1) {
		x.mask.Set(tpSrc, packet.Value{})
		x.mask.Set(tpDst, packet.Value{})
	}
}

var mplsFields = []*packet.Field{mplsLabel, mplsTC, mplsTTL, mplsBOS, mplsLSE1, mplsLSE2}

// meets reports whether the packet meets a field's prerequisites, which are examined by that.
func (x *translation) meets(f *packet.Field) bool {
	p := &x.packet
	switch f.Needs {
	case packet.NeedsVLAN:
		x.touch(outer, outer.Mask())
	case packet.NeedsTCP, packet.NeedsUDP, packet.NeedsSCTP, packet.NeedsICMPv4, packet.NeedsICMPv6, packet.NeedsND, packet.NeedsNDSolicit, packet.NeedsNDAdvert:
		if p.ip() {
			x.touch(nwProto, nwProto.Mask())
		}
		if f.Needs >= packet.NeedsND && p.Meets(packet.NeedsICMPv6) {
			x.touch(tpDst, tpDst.Mask())
			if p.number(tpDst) == 0 {
				x.touch(tpSrc, tpSrc.Mask())
			}
		}
	}
	return p.Meets(f.Needs)
}
