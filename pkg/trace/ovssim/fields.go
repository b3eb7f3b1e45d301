package ovssim

import (
	"maps"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// The fields that the translation itself reads.
var (
	inPort       = &packet.InPort
	metadata     = &packet.Metadata
	conjID       = &packet.ConjID
	recircID     = &packet.RecircID
	dpHash       = &packet.DPHash
	skbPriority  = &packet.SkbPriority
	pktMark      = &packet.PktMark
	packetType   = &packet.PacketType
	actsetOutput = &packet.ActsetOutput

	ctState = &packet.CTState
	ctZone  = &packet.CTZone
	ctMark  = &packet.CTMark
	ctLabel = &packet.CTLabel
	ctProto = &packet.CTNWProto

	tunID      = &packet.TunID
	tunSrc     = &packet.TunSrc
	tunDst     = &packet.TunDst
	tunIPv6Src = &packet.TunIPv6Src
	tunIPv6Dst = &packet.TunIPv6Dst
	tunTOS     = &packet.TunTOS
	tunTTL     = &packet.TunTTL
	tunFlags   = &packet.TunFlags
	tunGBPID   = &packet.TunGBPID
	tunGBPFlag = &packet.TunGBPFlags

	ethSrc  = &packet.EthSrc
	ethDst  = &packet.EthDst
	ethType = &packet.EthType
	outer   = &packet.VLANTCI
	inner   = &packet.VLANTCI1

	mplsLabel = &packet.MPLSLabel
	mplsTC    = &packet.MPLSTC
	mplsBOS   = &packet.MPLSBOS
	mplsTTL   = &packet.MPLSTTL
	mplsLSE1  = &packet.MPLSLSE1
	mplsLSE2  = &packet.MPLSLSE2

	ipSrc     = &packet.IPSrc
	ipDst     = &packet.IPDst
	ipv6Src   = &packet.IPv6Src
	ipv6Dst   = &packet.IPv6Dst
	ipv6Label = &packet.IPv6Label
	nwProto   = &packet.NWProto
	nwTOS     = &packet.NWTOS
	nwECN     = &packet.NWECN
	nwTTL     = &packet.NWTTL
	nwFrag    = &packet.IPFrag
	arpOp     = &packet.ARPOp
	arpSHA    = &packet.ARPSHA
	arpTHA    = &packet.ARPTHA
	tpSrc     = &packet.TCPSrc
	tpDst     = &packet.TCPDst
	tcpFlags  = &packet.TCPFlags
	icmpType  = &packet.ICMPType
	icmpCode  = &packet.ICMPCode
	ndTarget  = &packet.NDTarget
)

// A frame is a packet with what OpenFlow has no field for.
type frame struct {
	packet.Flow
	tagTypes [2]uint16 // the tags' Ethernet types, outer one first
	deleted  map[*packet.Field]packet.Value
}

// deleteOption removes a tunnel option. Nothing matches it from then on, but what reads it still gets its value, and a part of it that
// is written brings back the rest.
func (p *frame) deleteOption(f *packet.Field) {
	if p.Has(f) {
		p.deleted = maps.Clone(p.deleted)
		if p.deleted == nil {
			p.deleted = map[*packet.Field]packet.Value{}
		}
		p.deleted[f] = p.Get(f)
	}
	p.ClearOption(f)
}

// revive brings a deleted option back, a part of which is written.
func (p *frame) revive(f *packet.Field) {
	if v, ok := p.deleted[f]; ok && !p.Has(f) {
		p.Set(f, v)
	}
}

// read returns the value of a sub-field.
func (p *frame) read(s packet.Subfield) packet.Value {
	if v, ok := p.deleted[s.Field]; ok && !p.Has(s.Field) {
		return v.Shr(s.Lo).And(packet.Ones(s.Bits))
	}
	return s.Get(&p.Flow)
}

func newPacket(p packet.Flow) frame {
	q := frame{Flow: p}
	if t := q.number(packetType); t>>16 == etherTypes>>16 {
		q.set(ethType, t&0xffff)
	}
	for i, tag := range []*packet.Field{outer, inner} {
		if q.number(tag)&tagPresent != 0 {
			q.tagTypes[i] = 0x8100
		}
	}
	return q
}

// tagPresent is the bit of vlan_tci for the presence of a tag.
const tagPresent = 0x1000

// number returns the value of a field of at most 64 bits.
func (p *frame) number(f *packet.Field) uint64 {
	_, n := p.Words(f)
	return n
}

func (p *frame) set(f *packet.Field, n uint64) { p.Set(f, packet.Uint(n)) }

func (p *frame) ip() bool { return p.Meets(packet.NeedsIP) }

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

// tags returns the number of VLAN tags in the packet.
func (p *frame) tags() int {
	switch {
	case p.number(outer)&tagPresent == 0:
		return 0
	case p.number(inner)&tagPresent == 0:
		return 1
	}
	return 2
}

// labels returns the packet's MPLS labels, outermost first.
func (p *frame) labels() []uint32 {
	if !p.mpls() {
		return nil
	}
	entries := p.entries()
	for i, e := range entries {
		if e&bottom != 0 {
			return entries[:i+1]
		}
	}
	for i, e := range entries {
		if e == 0 {
			return entries[:i]
		}
	}
	return entries[:]
}

// bottom marks the last entry of an MPLS label stack.
const bottom = 0x100

// maxLabels is how many entries of the stack Open vSwitch keeps.
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
