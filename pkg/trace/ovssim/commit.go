package ovssim

import (
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A part is a field of a datapath action set(…).
type part struct {
	name  string
	field *packet.Field
	hex   bool // a number written with 0x
}

var (
	ethParts   = []part{{"src", ethSrc, false}, {"dst", ethDst, false}}
	ipv4Parts  = []part{{"src", ipSrc, false}, {"dst", ipDst, false}, {"tos", nwTOS, true}, {"ttl", nwTTL, false}}
	ipv6Parts  = []part{{"src", ipv6Src, false}, {"dst", ipv6Dst, false}, {"label", ipv6Label, true}, {"tclass", nwTOS, true}, {"hlimit", nwTTL, false}}
	arpParts   = []part{{"sip", ipSrc, false}, {"tip", ipDst, false}, {"op", arpOp, false}, {"sha", arpSHA, false}, {"tha", arpTHA, false}}
	portParts  = []part{{"src", tpSrc, false}, {"dst", tpDst, false}}
	ndParts    = []part{{"target", ndTarget, false}, {"sll", arpSHA, false}, {"tll", arpTHA, false}}
	ndExtParts = []part{{"nd_reserved", &packet.NDReserved, true}, {"nd_options_type", &packet.NDOptionsType, false}}
)

// commit updates the datapath's packet to what the actions have made of it.
func (x *translation) commit() {
	x.commitWrapping()
	if x.packet.number(packetType) == typeEthernet {
		x.commitSet("eth", ethParts)
	}
	if x.base.mpls() && !x.packet.mpls() {
		x.commitMPLS()
	}
	x.commitNetwork()
	x.commitTransport()
	x.commitMPLS()
	x.commitVLAN()
	if n := x.packet.number(skbPriority); n != x.base.number(skbPriority) {
		x.emit(fmt.Sprintf("set(skb_priority(%s))", hex(n)))
		x.base.set(skbPriority, n)
	}
	if n := x.packet.number(pktMark); n != x.base.number(pktMark) {
		m := x.mask.Get(pktMark).Lo
		if m == pktMark.Mask().Lo || m == 0 || !x.bridge.can.masked {
			x.touch(pktMark, pktMark.Mask())
			x.emit(fmt.Sprintf("set(skb_mark(%s))", hex(n)))
		} else {
			x.emit(fmt.Sprintf("set(skb_mark(%s/%s))", hex(n&m), hex(m)))
		}
		x.base.set(pktMark, n)
	}
}

// hex formats a number like C's %#x.
func hex(n uint64) string { return packet.Uint(n).Hex() }

func (x *translation) commitNetwork() {
	if x.packet.number(ethType) == packet.EthNSH {
		x.commitSet("nsh", nshParts)
	}
	if x.packet.number(nwProto) == 0 {
		return
	}
	switch x.base.number(ethType) {
	case packet.EthIPv4:
		x.commitSet("ipv4", ipv4Parts)
	case packet.EthIPv6:
		x.commitSet("ipv6", ipv6Parts)
		if x.base.Meets(packet.NeedsND) {
			x.commitSet("nd", ndParts)
			x.commitSet("nd_ext", ndExtParts)
		}
	case packet.EthARP:
		x.viaUserspace(x.commitSet("arp", arpParts))
	}
}

func (x *translation) commitTransport() {
	if !x.base.ip() || x.packet.number(nwProto) == 0 {
		return
	}
	switch x.packet.number(nwProto) {
	case packet.ProtoTCP:
		x.commitSet("tcp", portParts)
	case packet.ProtoUDP:
		x.commitSet("udp", portParts)
	case packet.ProtoSCTP:
		x.commitSet("sctp", portParts)
	case packet.ProtoICMP:
		x.viaUserspace(x.base.number(ethType) == packet.EthIPv4 && x.commitICMP("icmp"))
	case packet.ProtoICMPv6:
		x.viaUserspace(x.base.number(ethType) == packet.EthIPv6 && x.commitICMP("icmpv6"))
	}
}

// viaUserspace records a set(…) that the datapath leaves to ovs-vswitchd, if there was one.
func (x *translation) viaUserspace(set bool) {
	if set {
		x.unsupported()
	}
}

// commitICMP adds set(…), which has no masks there, and reports whether it added one.
func (x *translation) commitICMP(name string) bool {
	kind, code := x.packet.Get(icmpType), x.packet.Get(icmpCode)
	if kind == x.base.Get(icmpType) && code == x.base.Get(icmpCode) {
		return false
	}
	x.touch(icmpType, icmpType.Mask())
	x.touch(icmpCode, icmpCode.Mask())
	x.base.Set(icmpType, kind)
	x.base.Set(icmpCode, code)
	x.emit(fmt.Sprintf("set(%s(type=%d,code=%d))", name, kind.Lo, code.Lo))
	return true
}

// commitSet adds set(…) with the changed parts, and reports whether there are any.
func (x *translation) commitSet(name string, parts []part) bool {
	if !x.bridge.can.masked && name != "arp" && name != "nsh" { // no datapath has NSH without
		return x.commitWhole(name, parts)
	}
	var words []string
	changed := false
	for _, p := range parts {
		v := x.packet.Get(p.field)
		mask := x.mask.Get(p.field)
		if v == x.base.Get(p.field) {
			if name == "nsh" && !mask.IsZero() { // what was examined is written with it
				words = append(words, p.name+"="+p.print(v, mask))
			}
			continue
		}
		changed = true
		x.base.Set(p.field, v)
		if mask.IsZero() {
			if x.wrapped { // what was written before the tunnel's headers were there
				continue
			}
			mask = p.field.Mask()
		}
		words = append(words, p.name+"="+p.print(v, mask))
	}
	if !changed {
		return false
	}
	x.emit("set(" + name + "(" + join(words) + "))")
	return true
}

// commitWhole adds set(…) with all parts, for a datapath that cannot write some, and reports whether any has changed.
func (x *translation) commitWhole(name string, parts []part) bool {
	if !slices.ContainsFunc(parts, func(p part) bool { return x.packet.Get(p.field) != x.base.Get(p.field) }) {
		return false
	}
	whole := parts
	if name == "ipv4" || name == "ipv6" {
		last := len(parts) - 2 // before them is the protocol, behind them whether it is a fragment
		whole = slices.Concat(parts[:last], []part{{"proto", nwProto, false}}, parts[last:], []part{{"frag", nwFrag, false}})
	}
	var words []string
	for _, p := range whole {
		x.touch(p.field, p.field.Mask())
		words = append(words, p.name+"="+p.print(x.packet.Get(p.field), p.field.Mask()))
		x.base.Set(p.field, x.packet.Get(p.field))
	}
	x.emit("set(" + name + "(" + join(words) + "))")
	return true
}

func (p part) print(v, mask packet.Value) string {
	v = v.And(mask)
	switch {
	case (p.field.Format == packet.IPv4 || p.field.Format == packet.IPv6) && mask != p.field.Mask():
		return p.field.Print(v) + "/" + p.field.Print(mask)
	case !p.hex:
		return p.field.PrintMasked(v, mask)
	case mask == p.field.Mask() && p.field.Needs == packet.NeedsNSH:
		return hex128(v)
	case mask == p.field.Mask():
		return v.Hex()
	case slices.Contains(nshContext, p.field):
		return fmt.Sprintf("0x%x/0x%08x", v.Lo, mask.Lo)
	}
	return v.Hex() + "/" + mask.Hex()
}

// commitVLAN pops tags that the packet no longer has, and pushes those that it has.
func (x *translation) commitVLAN() {
	have, want := x.base.tags(), x.packet.tags()
	same := 0 // counted from the innermost
	for same < have && same < want && x.base.tag(have-1-same) == x.packet.tag(want-1-same) {
		same++
	}
	for ; have > same; have-- {
		x.emit("pop_vlan")
		tag := []*packet.Field{outer, inner}[have-1]
		x.touch(tag, tag.Mask())
		x.base.popTag()
	}
	for i := want - same - 1; i >= 0; i-- {
		t := x.packet.tag(i)
		words := ""
		if t.ethType != 0x8100 {
			words = fmt.Sprintf("tpid=0x%04x,", t.ethType)
		}
		x.emit(fmt.Sprintf("push_vlan(%svid=%d,pcp=%d)", words, t.tci&0xfff, t.tci>>13))
		x.base.pushTag(t.ethType)
		x.base.set(outer, uint64(t.tci))
	}
}

type tagValue struct{ ethType, tci uint16 }

// tag returns the VLAN tag at a position, the outer one first.
func (p *frame) tag(i int) tagValue {
	return tagValue{p.tagTypes[i], uint16(p.number([]*packet.Field{outer, inner}[i]))}
}

// commitMPLS pops, writes and pushes labels.
func (x *translation) commitMPLS() {
	have, want := x.base.labels(), x.packet.labels()
	same := 0 // counted from the innermost
	for same < len(have) && same < len(want) && have[len(have)-1-same] == want[len(want)-1-same] {
		same++
	}
	for len(have) > same {
		if len(have)-1 == same && len(want) > same {
			have[0] = want[len(want)-len(have)]
			x.emit("set(mpls(" + printEntry(have[0]) + "))")
			same++
			continue
		}
		next := uint64(packet.EthMPLS)
		if len(have) == 1 {
			next = x.packet.number(ethType)
		}
		x.emit(fmt.Sprintf("pop_mpls(eth_type=0x%x)", next))
		have = have[1:]
		x.base.set(ethType, next)
	}
	for len(have) < len(want) {
		entry := want[len(want)-len(have)-1]
		t := x.packet.number(ethType)
		x.emit(fmt.Sprintf("push_mpls(%s,eth_type=0x%x)", printEntry(entry), t))
		have = append([]uint32{entry}, have...)
		x.base.set(ethType, t)
	}
	var list [maxLabels]uint32
	copy(list[:], have)
	if x.base.mpls() {
		x.base.setEntries(list)
	}
}

func printEntry(e uint32) string {
	return fmt.Sprintf("label=%d,tc=%d,ttl=%d,bos=%d", e>>12, e>>9&7, e&0xff, e>>8&1)
}
