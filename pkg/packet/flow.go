package packet

import (
	"encoding/binary"
	"slices"
)

// A Flow is a packet's headers and metadata. The zero Flow is an empty Ethernet packet. Assignment makes independent
// copies.
type Flow struct {
	data [flowBytes]byte
	tun  []option // never modified in place, so copies may share it
	port string   // name of in_port, if given by name
}

// An option is a tunnel option that is present.
type option struct {
	index int // of the tun_metadata field
	value Value
}

// Get returns the value of f; 0 for a field that was never set or an absent tunnel option.
func (p *Flow) Get(f *Field) Value {
	if f.tun != 0 {
		for _, o := range p.tun {
			if o.index == f.tun-1 {
				return o.value
			}
		}
		return Value{}
	}
	at := p.data[f.place.offset : f.place.offset+f.place.size]
	switch {
	case len(at) <= 8:
		return Value{Lo: number(at) >> f.place.shift & lowBits(f.Bits)}
	case len(at) == 16 && f.Bits == 128:
		return Value{Hi: binary.BigEndian.Uint64(at), Lo: binary.BigEndian.Uint64(at[8:])}
	}
	return FromBytes(at).Shr(f.place.shift).And(f.Mask())
}

// number reads at most 8 bytes, big-endian.
func number(b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.BigEndian.Uint16(b))
	case 4:
		return uint64(binary.BigEndian.Uint32(b))
	case 8:
		return binary.BigEndian.Uint64(b)
	}
	var n uint64
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n
}

// putNumber writes n into at most 8 bytes, big-endian.
func putNumber(b []byte, n uint64) {
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte(n)
		n >>= 8
	}
}

// lowBits is a mask of n bits, at most 64.
func lowBits(n int) uint64 { return ^uint64(0) >> (64 - n) }

// number is the value of a field of at most 64 bits, no tunnel option.
func (p *Flow) number(f *Field) uint64 {
	return number(p.data[f.place.offset:f.place.offset+f.place.size]) >> f.place.shift & lowBits(f.Bits)
}

// Words returns the low 128 bits of f's value as two numbers, faster than Get.
func (p *Flow) Words(f *Field) (hi, lo uint64) {
	at := p.data[f.place.offset : f.place.offset+f.place.size]
	switch {
	case f.tun == 0 && len(at) == 16:
		return binary.BigEndian.Uint64(at), binary.BigEndian.Uint64(at[8:])
	case f.tun == 0 && len(at) <= 8:
		return 0, p.number(f)
	}
	v := p.Get(f)
	return v.Hi, v.Lo
}

// Uint returns the value of the field with that name as an integer; 0 if there is none. Of wider fields it returns the
// low 64 bits.
func (p *Flow) Uint(name string) uint64 {
	f, ok := Lookup(name)
	if !ok {
		return 0
	}
	return p.Get(f).Lo
}

// SetUint writes a field whose name is hard-coded.
func (p *Flow) SetUint(name string, n uint64) { p.Set(MustField(name), Uint(n)) }

// Set sets f to v. Bits beyond the width of f are dropped. Writing dl_vlan or a priority makes the packet tagged, as in
// ovs-fields(7); writing in_port clears the port's name.
func (p *Flow) Set(f *Field, v Value) {
	p.SetMasked(f, v, f.Mask())
}

// SetMasked copies the bits selected by mask from v to f.
func (p *Flow) SetMasked(f *Field, v, mask Value) {
	if f.tun != 0 {
		if mask != f.Mask() {
			v = p.Get(f).AndNot(mask).Or(v.And(mask))
		}
		p.setOption(f.tun-1, v)
		return
	}
	at := p.data[f.place.offset : f.place.offset+f.place.size]
	switch {
	case len(at) <= 8:
		m := mask.Lo & lowBits(f.Bits)
		putNumber(at, number(at)&^(m<<f.place.shift)|v.Lo&m<<f.place.shift)
	case len(at) == 16 && f.Bits == 128:
		binary.BigEndian.PutUint64(at, binary.BigEndian.Uint64(at)&^mask.Hi|v.Hi&mask.Hi)
		binary.BigEndian.PutUint64(at[8:], binary.BigEndian.Uint64(at[8:])&^mask.Lo|v.Lo&mask.Lo)
	default:
		mask = mask.And(f.Mask()).Shl(f.place.shift)
		FromBytes(at).AndNot(mask).Or(v.Shl(f.place.shift).And(mask)).put(at)
	}
	switch f.Name {
	case "dl_vlan", "dl_vlan1", "dl_vlan_pcp", "dl_vlan_pcp1", "vlan_pcp":
		p.data[f.place.offset] |= 0x10
	case "in_port", "in_port_oxm":
		p.port = ""
	}
}

func (p *Flow) setOption(index int, v Value) {
	tun := slices.Clone(p.tun)
	i, found := slices.BinarySearchFunc(tun, index, func(o option, n int) int { return o.index - n })
	if found {
		tun[i].value = v
	} else {
		tun = slices.Insert(tun, i, option{index, v})
	}
	p.tun = tun
}

// ClearOption removes the tunnel option that f stands for.
func (p *Flow) ClearOption(f *Field) {
	p.tun = slices.DeleteFunc(slices.Clone(p.tun), func(o option) bool { return o.index == f.tun-1 })
}

// HasOption reports whether the tunnel option of field tun_metadataN is present.
func (p *Flow) HasOption(n int) bool {
	return slices.ContainsFunc(p.tun, func(o option) bool { return o.index == n })
}

// Has reports whether the packet has the tunnel option that f stands for; always true for other fields.
func (p *Flow) Has(f *Field) bool { return f.tun == 0 || p.HasOption(f.tun-1) }

// InPort returns the packet's input port.
func (p *Flow) InPort() PortID {
	return PortID{Number: uint32(p.Get(&InPort).Lo), Name: p.port}
}

// SetInPort sets the packet's input port. A port known only by name has Number 0.
func (p *Flow) SetInPort(port PortID) {
	p.Set(&InPort, Uint(uint64(port.Number)))
	p.port = port.Name
}

// Equal reports whether p and q have the same values in all fields. The name of in_port counts only if its number is
// unknown.
func (p *Flow) Equal(q *Flow) bool {
	return p.data == q.data && slices.Equal(p.tun, q.tun) && (p.Uint("in_port") != 0 || p.port == q.port)
}

// ClearTunnel removes all tunnel metadata.
func (p *Flow) ClearTunnel() {
	clear(p.data[atTunID:atInPort])
	p.tun = nil
}

// ClearConntrack resets the conntrack state: ct_state, ct_zone, ct_mark, ct_label and the original tuple become 0.
func (p *Flow) ClearConntrack() {
	clear(p.data[atCTState:atEth])
	clear(p.data[atCTLabel : atCTLabel+16])
}

// ClearRegisters zeroes all registers and metadata.
func (p *Flow) ClearRegisters() {
	clear(p.data[atReg:atCTLabel])
	clear(p.data[atMetadata:atTunID])
}

// Meets reports whether the packet meets the prerequisite.
func (p *Flow) Meets(need Prereq) bool {
	switch need {
	case None:
		return true
	case NeedsEthernet:
		return p.number(&PacketType) == 0
	case NeedsVLAN:
		return p.number(&VLANTCI)&0x1000 != 0
	}
	eth := p.number(&EthType)
	ip := eth == EthIPv4 || eth == EthIPv6
	switch need {
	case NeedsMPLS:
		return eth == EthMPLS || eth == EthMPLSMulticast
	case NeedsIPv4:
		return eth == EthIPv4
	case NeedsIPv6:
		return eth == EthIPv6
	case NeedsIP:
		return ip
	case NeedsCT:
		return ip && p.number(&CTState)&(CTTracked|CTInvalid) == CTTracked
	case NeedsARP:
		return eth == EthARP || eth == EthRARP
	case NeedsNSH:
		return eth == EthNSH
	}
	if !ip || p.number(&IPFrag)&2 != 0 { // nothing more is known of later fragments
		return false
	}
	proto := p.number(&NWProto)
	switch need {
	case NeedsTCP:
		return proto == ProtoTCP
	case NeedsUDP:
		return proto == ProtoUDP
	case NeedsSCTP:
		return proto == ProtoSCTP
	case NeedsICMPv4:
		return eth == EthIPv4 && proto == ProtoICMP
	}
	if eth != EthIPv6 || proto != ProtoICMPv6 {
		return false
	}
	const solicit, advert = 135, 136
	kind := p.number(&ICMPType)
	discovery := (kind == solicit || kind == advert) && p.number(&ICMPCode) == 0
	switch need {
	case NeedsICMPv6:
		return true
	case NeedsND:
		return discovery
	case NeedsNDSolicit:
		return discovery && kind == solicit
	case NeedsNDAdvert:
		return discovery && kind == advert
	}
	return true
}
