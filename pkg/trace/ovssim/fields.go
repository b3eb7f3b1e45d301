package ovssim

import (
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// The fields that the translation itself looks at.
var (
	inPort       = field("in_port")
	metadata     = field("metadata")
	recircID     = field("recirc_id")
	dpHash       = field("dp_hash")
	skbPriority  = field("skb_priority")
	pktMark      = field("pkt_mark")
	packetType   = field("packet_type")
	actsetOutput = field("actset_output")

	ctState = field("ct_state")
	ctZone  = field("ct_zone")
	ctMark  = field("ct_mark")
	ctLabel = field("ct_label")
	ctProto = field("ct_nw_proto")

	tunID      = field("tun_id")
	tunSrc     = field("tun_src")
	tunDst     = field("tun_dst")
	tunIPv6Src = field("tun_ipv6_src")
	tunIPv6Dst = field("tun_ipv6_dst")
	tunTOS     = field("tun_tos")
	tunTTL     = field("tun_ttl")
	tunFlags   = field("tun_flags")
	tunGBPID   = field("tun_gbp_id")
	tunGBPFlag = field("tun_gbp_flags")

	ethSrc  = field("eth_src")
	ethDst  = field("eth_dst")
	ethType = field("eth_type")
	outer   = field("vlan_tci")
	inner   = field("vlan_tci1")

	mplsLabel = field("mpls_label")
	mplsTC    = field("mpls_tc")
	mplsBOS   = field("mpls_bos")
	mplsTTL   = field("mpls_ttl")
	mplsLSE1  = field("mpls_lse1")
	mplsLSE2  = field("mpls_lse2")

	ipSrc     = field("ip_src")
	ipDst     = field("ip_dst")
	ipv6Src   = field("ipv6_src")
	ipv6Dst   = field("ipv6_dst")
	ipv6Label = field("ipv6_label")
	nwProto   = field("nw_proto")
	nwTOS     = field("nw_tos")
	nwECN     = field("nw_ecn")
	nwTTL     = field("nw_ttl")
	nwFrag    = field("ip_frag")
	arpOp     = field("arp_op")
	arpSHA    = field("arp_sha")
	arpTHA    = field("arp_tha")
	tpSrc     = field("tcp_src")
	tpDst     = field("tcp_dst")
	tcpFlags  = field("tcp_flags")
	icmpType  = field("icmp_type")
	icmpCode  = field("icmp_code")
	ndTarget  = field("nd_target")
)

// field finds a field whose name is written in the program.
func field(name string) *packet.Field {
	f, ok := packet.Lookup(name)
	if !ok {
		panic("ovssim: no field " + name)
	}
	return f
}

// A packet is a flow with what OpenFlow has no field for.
type frame struct {
	packet.Flow
	tagTypes [2]uint16 // the Ethernet types of the tags, outer one first
}

func newPacket(p packet.Flow) frame {
	q := frame{Flow: p}
	for i, tag := range []*packet.Field{outer, inner} {
		if q.number(tag)&tagPresent != 0 {
			q.tagTypes[i] = 0x8100
		}
	}
	return q
}

// tagPresent is the bit of vlan_tci that says that there is a tag.
const tagPresent = 0x1000

// number is the value of a field of at most 64 bits.
func (p *frame) number(f *packet.Field) uint64 {
	_, n := p.Words(f)
	return n
}

func (p *frame) set(f *packet.Field, n uint64) { p.Set(f, packet.Uint(n)) }

func (p *frame) ip() bool {
	t := p.number(ethType)
	return t == packet.EthIPv4 || t == packet.EthIPv6
}

func (p *frame) mpls() bool { return isMPLS(p.number(ethType)) }

func isMPLS(t uint64) bool { return t == packet.EthMPLS || t == packet.EthMPLSMulticast }

func (p *frame) laterFragment() bool { return p.number(nwFrag)&2 != 0 }

func (p *frame) pushTag(ethType uint16) {
	p.Set(inner, p.Get(outer))
	p.tagTypes = [2]uint16{ethType, p.tagTypes[0]}
	p.set(outer, tagPresent)
}

func (p *frame) popTag() {
	if p.number(outer)&tagPresent == 0 {
		return
	}
	p.Set(outer, p.Get(inner))
	p.set(inner, 0)
	p.tagTypes = [2]uint16{p.tagTypes[1], 0}
}

// tags is how many VLAN tags the packet has.
func (p *frame) tags() int {
	switch {
	case p.number(outer)&tagPresent == 0:
		return 0
	case p.number(inner)&tagPresent == 0:
		return 1
	}
	return 2
}

// stack returns the MPLS labels of the packet, outermost first.
func (p *frame) labels() []uint32 {
	if !p.mpls() {
		return nil
	}
	var list []uint32
	for _, e := range p.entries() {
		list = append(list, e)
		if e&bottom != 0 {
			return list
		}
	}
	return list
}

// bottom marks the last entry of a stack of MPLS labels.
const bottom = 0x100

// maxLabels is how many entries Open vSwitch keeps of such a stack.
const maxLabels = 3

func (p *frame) entries() [maxLabels]uint32 {
	first := p.number(mplsLabel)<<12 | p.number(mplsTC)<<9 | p.number(mplsBOS)<<8 | p.number(mplsTTL)
	return [maxLabels]uint32{uint32(first), uint32(p.number(mplsLSE1)), uint32(p.number(mplsLSE2))}
}

func (p *frame) setEntries(list [maxLabels]uint32) {
	first := uint64(list[0])
	p.set(mplsLabel, first>>12)
	p.set(mplsTC, first>>9)
	p.set(mplsBOS, first>>8)
	p.set(mplsTTL, first)
	p.set(mplsLSE1, uint64(list[1]))
	p.set(mplsLSE2, uint64(list[2]))
}
