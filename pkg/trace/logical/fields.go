package logical

import (
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/expr"
	"github.com/ovnctl/ovnctl/pkg/flow"
)

// fields are those that the engine itself reads and writes, resolved once.
type fields struct {
	inport, outport, loopback, localnet                  expr.Ref
	registers                                            []expr.Ref // reg0 to reg9
	ctState, ctMark, ctLabel, ctProto                    expr.Ref
	ctSrc4, ctDst4, ctSrc6, ctDst6, ctSrcPort, ctDstPort expr.Ref
	ethSrc, ethDst, ethType                              expr.Ref
	src4, dst4, src6, dst6, proto, ttl, frag             expr.Ref
	srcPort, dstPort, tcpFlags                           expr.Ref // ports of TCP, UDP and SCTP lie in one place
	icmpType, icmpCode, icmp6Type, icmp6Code             expr.Ref
	arpOp, arpSPA, arpTPA, arpSHA, arpTHA                expr.Ref
	ndTarget, ndSLL, ndTLL                               expr.Ref
	mark                                                 expr.Ref
}

func newFields(table *expr.Symbols) *fields {
	ref := func(name string) expr.Ref {
		s, ok := table.Lookup(name)
		if !ok {
			return expr.Ref{} // a release that lacks it does without
		}
		return expr.Ref{Symbol: s, Field: s.Field, Lo: s.Lo, Bits: s.Bits}
	}
	// original are fields of conntrack that only some tables have names for.
	original := func(name string) expr.Ref {
		f, _ := flow.Lookup(name)
		return expr.Ref{Symbol: &expr.Symbol{Name: name, Level: expr.Ordinal, Bits: f.Bits, Field: f}, Field: f, Bits: f.Bits}
	}
	f := &fields{
		inport: ref("inport"), outport: ref("outport"), loopback: ref("flags.loopback"), localnet: ref("flags.localnet"),
		ctState: ref("ct_state"), ctMark: ref("ct_mark"), ctLabel: ref("ct_label"), ctProto: original("ct_nw_proto"),
		ctSrc4: original("ct_nw_src"), ctDst4: original("ct_nw_dst"), ctSrc6: original("ct_ipv6_src"), ctDst6: original("ct_ipv6_dst"),
		ctSrcPort: original("ct_tp_src"), ctDstPort: original("ct_tp_dst"),
		ethSrc: ref("eth.src"), ethDst: ref("eth.dst"), ethType: ref("eth.type"),
		src4: ref("ip4.src"), dst4: ref("ip4.dst"), src6: ref("ip6.src"), dst6: ref("ip6.dst"),
		proto: ref("ip.proto"), ttl: ref("ip.ttl"), frag: ref("ip.frag"),
		srcPort: ref("tcp.src"), dstPort: ref("tcp.dst"), tcpFlags: ref("tcp.flags"),
		icmpType: ref("icmp4.type"), icmpCode: ref("icmp4.code"), icmp6Type: ref("icmp6.type"), icmp6Code: ref("icmp6.code"),
		arpOp: ref("arp.op"), arpSPA: ref("arp.spa"), arpTPA: ref("arp.tpa"), arpSHA: ref("arp.sha"), arpTHA: ref("arp.tha"),
		ndTarget: ref("nd.target"), ndSLL: ref("nd.sll"), ndTLL: ref("nd.tll"), mark: ref("pkt.mark"),
	}
	for _, name := range []string{"reg0", "reg1", "reg2", "reg3", "reg4", "reg5", "reg6", "reg7", "reg8", "reg9"} {
		f.registers = append(f.registers, ref(name))
	}
	return f
}

// source and destination return the fields of a packet's addresses.
func (f *fields) source(p *flow.Flow) expr.Ref {
	if isIPv6(f, p) {
		return f.src6
	}
	return f.src4
}

func (f *fields) destination(p *flow.Flow) expr.Ref {
	if isIPv6(f, p) {
		return f.dst6
	}
	return f.dst4
}

func isIPv4(f *fields, p *flow.Flow) bool { return f.ethType.Get(p).Lo == flow.EthIPv4 }

func isIPv6(f *fields, p *flow.Flow) bool { return f.ethType.Get(p).Lo == flow.EthIPv6 }

func isARP(f *fields, p *flow.Flow) bool { return f.ethType.Get(p).Lo == flow.EthARP }

// tuple is what conntrack knows a packet by.
func (f *fields) tuple(p *flow.Flow) Tuple {
	t := Tuple{Proto: uint8(f.proto.Get(p).Lo)}
	var src, dst uint16
	if t.Proto == flow.ProtoTCP || t.Proto == flow.ProtoUDP || t.Proto == flow.ProtoSCTP {
		src, dst = uint16(f.srcPort.Get(p).Lo), uint16(f.dstPort.Get(p).Lo)
	}
	t.Src = netip.AddrPortFrom(address(f.source(p), p), src)
	t.Dst = netip.AddrPortFrom(address(f.destination(p), p), dst)
	return t
}

// address reads an address from a field of 32 or 128 bits.
func address(r expr.Ref, p *flow.Flow) netip.Addr {
	v := r.Get(p)
	if r.Bits <= 32 {
		return netip.AddrFrom4([4]byte{byte(v.Lo >> 24), byte(v.Lo >> 16), byte(v.Lo >> 8), byte(v.Lo)})
	}
	return address6(v)
}

func address6(v flow.Value) netip.Addr {
	var b [16]byte
	for i := range 8 {
		b[i], b[8+i] = byte(v.Hi>>(56-8*i)), byte(v.Lo>>(56-8*i))
	}
	return netip.AddrFrom16(b)
}

// value is an address as a field holds it.
func value(a netip.Addr) flow.Value {
	if a.Is4() {
		b := a.As4()
		return flow.FromBytes(b[:])
	}
	b := a.As16()
	return flow.FromBytes(b[:])
}

// mac reads an Ethernet address such as 0a:00:00:00:00:01; 0 for what is none.
func mac(text string) flow.Value {
	var v uint64
	digits := 0
	for i := range len(text) {
		c := text[i]
		switch {
		case c == ':':
			continue
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return flow.Value{}
		}
		v = v<<4 | uint64(c)
		digits++
	}
	if digits != 12 {
		return flow.Value{}
	}
	return flow.Uint(v)
}
