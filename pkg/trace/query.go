package trace

import (
	"net/netip"
	"time"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A Query is the question of a trace.
type Query struct {
	From, To   string
	Protocol   string // icmp, tcp, udp; empty: what the service speaks, else icmp
	Port       int    // destination port; 0: the service's
	SourcePort int
	Family     int // 4 or 6; 0: either, IPv4 first

	// Logical reads no node: only the logical flows.
	Logical bool
	// Backend is the only backend of a load balancer to follow; not valid: all of them. Its port is 0 for any.
	Backend netip.AddrPort
	// Length is that of the packet in bytes, from its Ethernet header on; 0: as short as it can be.
	Length int
	// Evidence asks of each logical flow on the path which parts of its match decided.
	Evidence bool
	// WhyNot asks what would let the packet pass where it does not.
	WhyNot bool
	// Name is what a DNS question asks for; empty: the packet is none.
	Name string
	// Observe is for how long the counters of the flows on the path are watched; 0: not at all.
	Observe time.Duration
	// Progress is called with what is being waited for; it may be nil.
	Progress func(text string)
}

// A Packet is the first packet of a connection, as it is asked for.
type Packet struct {
	Protocol   string // icmp, tcp, udp
	Src, Dst   netip.Addr
	SourcePort int
	Port       int // destination port
}

// frame returns the packet as its sender puts it on the wire. The protocol is one of those of Packet.
func (p Packet) frame(srcMAC, dstMAC string) packet.Flow {
	var f packet.Flow
	v6 := p.Dst.Is6()
	setMAC(&f, "eth_src", srcMAC)
	setMAC(&f, "eth_dst", dstMAC)
	proto := protocols[p.Protocol]
	if v6 && proto == packet.ProtoICMP {
		proto = packet.ProtoICMPv6
	}
	f.SetUint("eth_type", packet.EthIPv4)
	if v6 {
		f.SetUint("eth_type", packet.EthIPv6)
	}
	f.SetUint("nw_proto", uint64(proto))
	f.SetUint("nw_ttl", 64)
	f.SetTuple(packet.Tuple{Proto: proto, Src: p.Src, Dst: p.Dst, SrcPort: uint16(p.SourcePort), DstPort: uint16(p.Port)})
	switch proto {
	case packet.ProtoTCP:
		f.SetUint("tcp_flags", 2) // SYN
	case packet.ProtoICMP:
		f.SetUint("icmp_type", 8) // echo request
	case packet.ProtoICMPv6:
		f.SetUint("icmp_type", 128)
	}
	return f
}

// protocols are those of Packet by their numbers over IPv4.
var protocols = map[string]uint8{"icmp": packet.ProtoICMP, "tcp": packet.ProtoTCP, "udp": packet.ProtoUDP}

// String is the packet in words, as describe has it.
func (p Packet) String() string {
	if p.Protocol == "icmp" {
		return p.Src.String() + " → " + p.Dst.String()
	}
	return joinPort(p.Src, uint16(p.SourcePort)) + " → " + joinPort(p.Dst, uint16(p.Port))
}

// describe is the packet in words: addresses, and ports where it has them.
func describe(p packet.Flow) string {
	t, ok := p.Tuple()
	if !ok {
		return p.String()
	}
	switch t.Proto {
	case packet.ProtoTCP, packet.ProtoUDP, packet.ProtoSCTP:
		return netip.AddrPortFrom(t.Src, t.SrcPort).String() + " → " + netip.AddrPortFrom(t.Dst, t.DstPort).String()
	}
	return t.Src.String() + " → " + t.Dst.String()
}

func joinPort(a netip.Addr, port uint16) string { return netip.AddrPortFrom(a, port).String() }
