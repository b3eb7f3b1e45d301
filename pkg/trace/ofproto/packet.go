package ofproto

import (
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/flow"
)

// TupleOf returns what conntrack knows the packet by. It is not valid for a packet that is not IP.
func TupleOf(p *flow.Flow) (Tuple, bool) {
	t := Tuple{Proto: uint8(p.Uint("nw_proto"))}
	switch p.Uint("eth_type") {
	case flow.EthIPv4:
		t.Src, t.Dst = address(p, "nw_src", 4), address(p, "nw_dst", 4)
	case flow.EthIPv6:
		t.Src, t.Dst = address(p, "ipv6_src", 16), address(p, "ipv6_dst", 16)
	default:
		return Tuple{}, false
	}
	switch t.Proto {
	case flow.ProtoTCP, flow.ProtoUDP, flow.ProtoSCTP:
		t.SrcPort, t.DstPort = uint16(p.Uint("tp_src")), uint16(p.Uint("tp_dst"))
	}
	return t, true
}

// SetTuple gives the packet the addresses and ports of t, which must be of its family and protocol.
func SetTuple(p *flow.Flow, t Tuple) {
	src, dst := "nw_src", "nw_dst"
	if t.Src.Is6() {
		src, dst = "ipv6_src", "ipv6_dst"
	}
	Set(p, src, flow.FromBytes(t.Src.AsSlice()))
	Set(p, dst, flow.FromBytes(t.Dst.AsSlice()))
	switch t.Proto {
	case flow.ProtoTCP, flow.ProtoUDP, flow.ProtoSCTP:
		Set(p, "tp_src", flow.Uint(uint64(t.SrcPort)))
		Set(p, "tp_dst", flow.Uint(uint64(t.DstPort)))
	}
}

// Set writes the field of that name, which must be in the registry.
func Set(p *flow.Flow, name string, v flow.Value) {
	f, ok := flow.Lookup(name)
	if !ok {
		panic("ofproto: no field " + name)
	}
	p.Set(f, v)
}

func address(p *flow.Flow, name string, size int) netip.Addr {
	f, _ := flow.Lookup(name)
	a, _ := netip.AddrFromSlice(p.Get(f).Bytes(size))
	return a
}

// Answer is the packet that answers p as it arrived: addresses and ports the other way round, what it
// carries turned from a question into its answer, and nothing that p met on its way. In_port, registers
// and metadata are zero.
func Answer(p flow.Flow) (flow.Flow, bool) {
	t, ok := TupleOf(&p)
	if !ok {
		return flow.Flow{}, false
	}
	eth := func(name string) flow.Value { f, _ := flow.Lookup(name); return p.Get(f) }
	src, dst := eth("eth_src"), eth("eth_dst")
	p.ClearConntrack()
	p.ClearRegisters()
	p.ClearTunnel()
	p.SetInPort(flow.PortID{})
	Set(&p, "eth_src", dst)
	Set(&p, "eth_dst", src)
	Set(&p, "nw_ttl", flow.Uint(64))
	SetTuple(&p, t.Reverse())
	switch t.Proto {
	case flow.ProtoTCP:
		Set(&p, "tcp_flags", flow.Uint(tcpSYN|tcpACK))
	case flow.ProtoICMP:
		Set(&p, "icmp_type", flow.Uint(0))
	case flow.ProtoICMPv6:
		Set(&p, "icmp_type", flow.Uint(129))
	}
	return p, true
}

const (
	tcpSYN = 0x02
	tcpACK = 0x10
)

// answers reports whether p is a TCP segment that only answers, and so starts no connection.
func answers(p *flow.Flow) bool {
	return p.Uint("nw_proto") == flow.ProtoTCP && p.Uint("tcp_flags")&(tcpSYN|tcpACK) == tcpSYN|tcpACK
}
