package ovs

import (
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// TupleOf returns what conntrack knows the packet by. It is not valid for a packet that is not IP.
func TupleOf(p *packet.Flow) (Tuple, bool) {
	t := Tuple{Proto: uint8(p.Uint("nw_proto"))}
	switch p.Uint("eth_type") {
	case packet.EthIPv4:
		t.Src, t.Dst = address(p, "nw_src", 4), address(p, "nw_dst", 4)
	case packet.EthIPv6:
		t.Src, t.Dst = address(p, "ipv6_src", 16), address(p, "ipv6_dst", 16)
	default:
		return Tuple{}, false
	}
	switch t.Proto {
	case packet.ProtoTCP, packet.ProtoUDP, packet.ProtoSCTP:
		t.SrcPort, t.DstPort = uint16(p.Uint("tp_src")), uint16(p.Uint("tp_dst"))
	}
	return t, true
}

// SetTuple gives the packet the addresses and ports of t, which must be of its family and protocol.
func SetTuple(p *packet.Flow, t Tuple) {
	src, dst := "nw_src", "nw_dst"
	if t.Src.Is6() {
		src, dst = "ipv6_src", "ipv6_dst"
	}
	Set(p, src, packet.FromBytes(t.Src.AsSlice()))
	Set(p, dst, packet.FromBytes(t.Dst.AsSlice()))
	switch t.Proto {
	case packet.ProtoTCP, packet.ProtoUDP, packet.ProtoSCTP:
		Set(p, "tp_src", packet.Uint(uint64(t.SrcPort)))
		Set(p, "tp_dst", packet.Uint(uint64(t.DstPort)))
	}
}

// Set writes the field of that name, which must be in the registry.
func Set(p *packet.Flow, name string, v packet.Value) {
	f, ok := packet.Lookup(name)
	if !ok {
		panic("ovs: no field " + name)
	}
	p.Set(f, v)
}

func address(p *packet.Flow, name string, size int) netip.Addr {
	f, _ := packet.Lookup(name)
	a, _ := netip.AddrFromSlice(p.Get(f).Bytes(size))
	return a
}

// Answer returns the reply to p as it arrived: addresses and ports swapped, a request turned into its
// reply, and nothing of what p met on its path. In_port, registers
// and metadata are zero.
func Answer(p packet.Flow) (packet.Flow, bool) {
	t, ok := TupleOf(&p)
	if !ok {
		return packet.Flow{}, false
	}
	eth := func(name string) packet.Value { f, _ := packet.Lookup(name); return p.Get(f) }
	src, dst := eth("eth_src"), eth("eth_dst")
	p.ClearConntrack()
	p.ClearRegisters()
	p.ClearTunnel()
	p.SetInPort(packet.PortID{})
	Set(&p, "eth_src", dst)
	Set(&p, "eth_dst", src)
	Set(&p, "nw_ttl", packet.Uint(64))
	SetTuple(&p, t.Reverse())
	switch t.Proto {
	case packet.ProtoTCP:
		Set(&p, "tcp_flags", packet.Uint(tcpSYN|tcpACK))
	case packet.ProtoICMP:
		Set(&p, "icmp_type", packet.Uint(0))
	case packet.ProtoICMPv6:
		Set(&p, "icmp_type", packet.Uint(129))
	}
	return p, true
}

const (
	tcpSYN = 0x02
	tcpACK = 0x10
)

// answers reports whether p is a TCP segment that can only be a reply, and so starts no connection.
func answers(p *packet.Flow) bool {
	return p.Uint("nw_proto") == packet.ProtoTCP && p.Uint("tcp_flags")&(tcpSYN|tcpACK) == tcpSYN|tcpACK
}
