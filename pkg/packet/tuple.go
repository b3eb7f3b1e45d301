package packet

import "net/netip"

// A Tuple identifies a packet to conntrack, for one direction. ICMP's ports are 0: an echo and its reply are one
// connection, and a trace follows one echo.
type Tuple struct {
	Proto            uint8
	Src, Dst         netip.Addr
	SrcPort, DstPort uint16 // 0 if the protocol has none
}

// Reverse returns the reply's tuple.
func (t Tuple) Reverse() Tuple {
	return Tuple{Proto: t.Proto, Src: t.Dst, Dst: t.Src, SrcPort: t.DstPort, DstPort: t.SrcPort}
}

// String writes the tuple as "10.0.0.1:1000 → 10.0.0.2:80", without ports if the protocol has none.
func (t Tuple) String() string {
	if !t.HasPorts() {
		return t.Src.String() + " → " + t.Dst.String()
	}
	return t.From().String() + " → " + t.To().String()
}

// From returns the packet's source.
func (t Tuple) From() netip.AddrPort { return netip.AddrPortFrom(t.Src, t.SrcPort) }

// To returns its destination.
func (t Tuple) To() netip.AddrPort { return netip.AddrPortFrom(t.Dst, t.DstPort) }

// HasPorts reports whether the protocol has ports.
func (t Tuple) HasPorts() bool {
	return t.Proto == ProtoTCP || t.Proto == ProtoUDP || t.Proto == ProtoSCTP
}

// Tuple returns the packet's conntrack tuple; false if the packet is not IP.
func (p *Flow) Tuple() (Tuple, bool) {
	if !p.Meets(NeedsIP) {
		return Tuple{}, false
	}
	src, dst := p.AddrFields()
	t := Tuple{Proto: uint8(p.number(&NWProto)), Src: p.Addr(src), Dst: p.Addr(dst)}
	if t.HasPorts() {
		t.SrcPort, t.DstPort = uint16(p.number(&TCPSrc)), uint16(p.number(&TCPDst))
	}
	return t, true
}

// SetTuple writes the addresses and ports of t, which must have the packet's family and protocol.
func (p *Flow) SetTuple(t Tuple) {
	src, dst := p.AddrFields()
	p.Set(src, FromAddr(t.Src))
	p.Set(dst, FromAddr(t.Dst))
	if t.HasPorts() {
		p.Set(&TCPSrc, Uint(uint64(t.SrcPort)))
		p.Set(&TCPDst, Uint(uint64(t.DstPort)))
	}
}

// AddrFields returns the packet's address fields: IPv6's for an IPv6 packet, else IPv4's.
func (p *Flow) AddrFields() (src, dst *Field) {
	if p.Meets(NeedsIPv6) {
		return &IPv6Src, &IPv6Dst
	}
	return &IPSrc, &IPDst
}

// Addr returns the address in a field of 32 or 128 bits.
func (p *Flow) Addr(f *Field) netip.Addr { return p.Get(f).Addr(f.Bits) }

// Addr returns the address in a field of that many bits, 32 or 128.
func (v Value) Addr(bits int) netip.Addr {
	var b [16]byte
	v.put(b[:])
	if bits == 32 {
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	return netip.AddrFrom16(b)
}

// IsBroadcast reports whether a is the limited broadcast address.
func IsBroadcast(a netip.Addr) bool { return a.Is4() && a.As4() == [4]byte{255, 255, 255, 255} }

// LinkLocal returns the address that a host derives from its MAC address (RFC 4291, appendix A).
func LinkLocal(mac Value) netip.Addr {
	b := mac.Bytes(6)
	return netip.AddrFrom16([16]byte{0xfe, 0x80, 8: b[0] ^ 2, 9: b[1], 10: b[2], 11: 0xff, 12: 0xfe, 13: b[3], 14: b[4], 15: b[5]})
}

// FromAddr returns an address as a field value; 0 for the zero Addr.
func FromAddr(a netip.Addr) Value {
	if a.Is4() {
		b := a.As4()
		return FromBytes(b[:])
	}
	b := a.As16()
	return FromBytes(b[:])
}
