package packet

import "net/netip"

// A Tuple is what conntrack knows a packet by, for one direction. The ports of ICMP are 0: an echo and its reply are one
// connection, and a trace follows one echo.
type Tuple struct {
	Proto            uint8
	Src, Dst         netip.Addr
	SrcPort, DstPort uint16 // 0 where the protocol has none
}

// Reverse returns the tuple of the reply.
func (t Tuple) Reverse() Tuple {
	return Tuple{Proto: t.Proto, Src: t.Dst, Dst: t.Src, SrcPort: t.DstPort, DstPort: t.SrcPort}
}

// String is the tuple in words: "10.0.0.1:1000 → 10.0.0.2:80", without ports where the protocol has none.
func (t Tuple) String() string {
	if !t.HasPorts() {
		return t.Src.String() + " → " + t.Dst.String()
	}
	return t.From().String() + " → " + t.To().String()
}

// From returns where the packet comes from.
func (t Tuple) From() netip.AddrPort { return netip.AddrPortFrom(t.Src, t.SrcPort) }

// To returns where the packet goes.
func (t Tuple) To() netip.AddrPort { return netip.AddrPortFrom(t.Dst, t.DstPort) }

// HasPorts reports whether the protocol has ports.
func (t Tuple) HasPorts() bool {
	return t.Proto == ProtoTCP || t.Proto == ProtoUDP || t.Proto == ProtoSCTP
}

// Tuple returns what conntrack knows the packet by. It reports false for a packet that is not IP.
func (p *Flow) Tuple() (Tuple, bool) {
	if !p.Meets(NeedsIP) {
		return Tuple{}, false
	}
	src, dst := p.AddrFields()
	t := Tuple{Proto: uint8(p.number(protoField)), Src: p.Addr(src), Dst: p.Addr(dst)}
	if t.HasPorts() {
		t.SrcPort, t.DstPort = uint16(p.number(srcPortField)), uint16(p.number(dstPortField))
	}
	return t, true
}

// SetTuple gives the packet the addresses and ports of t, which must be of its family and protocol.
func (p *Flow) SetTuple(t Tuple) {
	src, dst := p.AddrFields()
	p.Set(src, FromAddr(t.Src))
	p.Set(dst, FromAddr(t.Dst))
	if t.HasPorts() {
		p.Set(srcPortField, Uint(uint64(t.SrcPort)))
		p.Set(dstPortField, Uint(uint64(t.DstPort)))
	}
}

// AddrFields returns the fields of the packet's addresses: of IPv6 if it is that, else of IPv4.
func (p *Flow) AddrFields() (src, dst *Field) {
	if p.Meets(NeedsIPv6) {
		return src6Field, dst6Field
	}
	return src4Field, dst4Field
}

// Addr returns the address in a field of 32 or 128 bits.
func (p *Flow) Addr(f *Field) netip.Addr { return p.Get(f).Addr(f.Bits) }

// Addr returns the address that a field of so many bits holds, 32 or 128.
func (v Value) Addr(bits int) netip.Addr {
	var b [16]byte
	v.put(b[:])
	if bits == 32 {
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return netip.AddrFrom16(b)
}

// Broadcast is the address of all hosts of a network.
var Broadcast = netip.AddrFrom4([4]byte{255, 255, 255, 255})

// LinkLocal returns the address that a host with a MAC address gives itself (RFC 4291, appendix A).
func LinkLocal(mac Value) netip.Addr {
	b := mac.Bytes(6)
	return netip.AddrFrom16([16]byte{0xfe, 0x80, 8: b[0] ^ 2, 9: b[1], 10: b[2], 11: 0xff, 12: 0xfe, 13: b[3], 14: b[4], 15: b[5]})
}

// FromAddr returns an address as a field holds it; 0 for the zero Addr.
func FromAddr(a netip.Addr) Value {
	if a.Is4() {
		b := a.As4()
		return FromBytes(b[:])
	}
	b := a.As16()
	return FromBytes(b[:])
}
