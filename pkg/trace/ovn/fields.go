package ovn

import (
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// fields are those that the engine itself reads and writes, resolved once.
type fields struct {
	inport, outport, loopback, localnet                  ovnexpr.Ref
	registers                                            []ovnexpr.Ref // reg0 to reg9
	ctState, ctMark, ctLabel, ctProto                    ovnexpr.Ref
	ctSrc4, ctDst4, ctSrc6, ctDst6, ctSrcPort, ctDstPort ovnexpr.Ref
	ethSrc, ethDst, ethType                              ovnexpr.Ref
	src4, dst4, src6, dst6, proto, ttl, frag             ovnexpr.Ref
	srcPort, dstPort, tcpFlags                           ovnexpr.Ref // TCP, UDP and SCTP share one place for ports
	icmpType, icmpCode, icmp6Type, icmp6Code             ovnexpr.Ref
	arpOp, arpSPA, arpTPA, arpSHA, arpTHA                ovnexpr.Ref
	ndTarget, ndSLL, ndTLL                               ovnexpr.Ref
	mark                                                 ovnexpr.Ref
}

func newFields(table *ovnexpr.Symbols) *fields {
	ref := func(name string) ovnexpr.Ref {
		s, ok := table.Lookup(name)
		if !ok {
			return ovnexpr.Ref{} // the release does without it
		}
		return ovnexpr.Ref{Symbol: s, Field: s.Field, Lo: s.Lo, Bits: s.Bits}
	}
	// original returns a conntrack field that only some tables name.
	original := func(name string) ovnexpr.Ref {
		f, _ := packet.Lookup(name)
		return ovnexpr.Ref{Symbol: &ovnexpr.Symbol{Name: name, Level: ovnexpr.Ordinal, Bits: f.Bits, Field: f}, Field: f, Bits: f.Bits}
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
func (f *fields) source(p *packet.Flow) ovnexpr.Ref {
	if isIPv6(f, p) {
		return f.src6
	}
	return f.src4
}

func (f *fields) destination(p *packet.Flow) ovnexpr.Ref {
	if isIPv6(f, p) {
		return f.dst6
	}
	return f.dst4
}

func isIPv4(f *fields, p *packet.Flow) bool { return f.ethType.Get(p).Lo == packet.EthIPv4 }

func isIPv6(f *fields, p *packet.Flow) bool { return f.ethType.Get(p).Lo == packet.EthIPv6 }

func isARP(f *fields, p *packet.Flow) bool { return f.ethType.Get(p).Lo == packet.EthARP }

// tuple returns the packet's conntrack tuple.
func (w *walker) tuple() packet.Tuple {
	t, _ := w.packet.Tuple()
	return t
}

// address reads an address from a field of 32 or 128 bits.
func address(r ovnexpr.Ref, p *packet.Flow) netip.Addr { return r.Get(p).Addr(r.Bits) }

// mac parses an Ethernet address; 0 if it is none.
func mac(text string) packet.Value {
	v, _ := packet.ParseMAC(text)
	return v
}
