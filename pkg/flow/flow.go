package flow

import "slices"

// A Flow is a packet's headers and metadata. The zero Flow is an empty
// Ethernet packet. Copies made by assignment are independent.
type Flow struct {
	data [flowBytes]byte
	tun  []option // never written in place, so that copies may share it
	port string   // name of in_port when it was given by name
}

// An option is a tunnel option that is present.
type option struct {
	index int // of the tun_metadata field
	value Value
}

// Get returns the value of f. A field that was never set, and a tunnel option
// that is absent, is 0.
func (p *Flow) Get(f *Field) Value {
	if f.tun != 0 {
		for _, o := range p.tun {
			if o.index == f.tun-1 {
				return o.value
			}
		}
		return Value{}
	}
	raw := FromBytes(p.data[f.place.offset : f.place.offset+f.place.size])
	return raw.Shr(f.place.shift).And(f.Mask())
}

// Uint returns the value of the field of that name as an integer; 0 for a name
// that is no field. Of wider fields these are the low 64 bits.
func (p *Flow) Uint(name string) uint64 {
	f, ok := Lookup(name)
	if !ok {
		return 0
	}
	return p.Get(f).Lo
}

// Set makes v the value of f. Bits beyond the width of f are dropped. Writing
// dl_vlan or a priority makes the packet tagged, as ovs-fields(7) says;
// writing in_port forgets the port's name.
func (p *Flow) Set(f *Field, v Value) {
	p.SetMasked(f, v, f.Mask())
}

// SetMasked makes those bits of f that are set in mask equal to v's.
func (p *Flow) SetMasked(f *Field, v, mask Value) {
	mask = mask.And(f.Mask())
	v = p.Get(f).AndNot(mask).Or(v.And(mask))
	if f.tun != 0 {
		p.setOption(f.tun-1, v)
		return
	}
	at := p.data[f.place.offset : f.place.offset+f.place.size]
	old := FromBytes(at).AndNot(f.Mask().Shl(f.place.shift))
	old.Or(v.Shl(f.place.shift)).put(at)
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

// HasOption reports whether the tunnel option of field tun_metadataN is present.
func (p *Flow) HasOption(n int) bool {
	return slices.ContainsFunc(p.tun, func(o option) bool { return o.index == n })
}

// InPort returns the port the packet came in by.
func (p *Flow) InPort() PortID {
	return PortID{Number: uint32(p.Uint("in_port")), Name: p.port}
}

// SetInPort makes the packet come in by a port. A name that is not known by
// number has Number 0.
func (p *Flow) SetInPort(port PortID) {
	p.Set(mustField("in_port"), Uint(uint64(port.Number)))
	p.port = port.Name
}

// Equal reports whether p and q have the same values in all fields. The name of
// in_port counts only where the number is not known.
func (p *Flow) Equal(q *Flow) bool {
	return p.data == q.data && slices.Equal(p.tun, q.tun) && (p.Uint("in_port") != 0 || p.port == q.port)
}

// ClearTunnel makes the packet one that came through no tunnel.
func (p *Flow) ClearTunnel() {
	clear(p.data[atTunID:atInPort])
	p.tun = nil
}

// ClearConntrack makes the packet one that no conntrack has seen: ct_state,
// ct_zone, ct_mark, ct_label and the original tuple become 0.
func (p *Flow) ClearConntrack() {
	clear(p.data[atCTState:atEth])
	clear(p.data[atCTLabel : atCTLabel+16])
}

// ClearRegisters makes all registers and metadata 0.
func (p *Flow) ClearRegisters() {
	clear(p.data[atReg:atCTLabel])
	clear(p.data[atMetadata:atTunID])
}

// Meets reports whether the packet is what the prerequisite asks for.
func (p *Flow) Meets(need Prereq) bool {
	eth, proto := p.Uint("eth_type"), p.Uint("nw_proto")
	ip := eth == EthIPv4 || eth == EthIPv6
	first := !p.Get(fragField).Bit(1)
	icmp6 := eth == EthIPv6 && proto == ProtoICMPv6 && first
	kind := p.Uint("icmp_type")
	nd := icmp6 && (kind == 135 || kind == 136) && p.Uint("icmp_code") == 0
	switch need {
	case NeedsEthernet:
		return p.Uint("packet_type") == 0
	case NeedsVLAN:
		return p.Get(tciField).Bit(12)
	case NeedsMPLS:
		return eth == EthMPLS || eth == EthMPLSMulticast
	case NeedsIPv4:
		return eth == EthIPv4
	case NeedsIPv6:
		return eth == EthIPv6
	case NeedsIP:
		return ip
	case NeedsCT:
		state := p.Get(stateField)
		return ip && state.Bit(5) && !state.Bit(4) // tracked and not invalid
	case NeedsARP:
		return eth == EthARP || eth == EthRARP
	case NeedsNSH:
		return eth == EthNSH
	case NeedsTCP:
		return ip && first && proto == ProtoTCP
	case NeedsUDP:
		return ip && first && proto == ProtoUDP
	case NeedsSCTP:
		return ip && first && proto == ProtoSCTP
	case NeedsICMPv4:
		return eth == EthIPv4 && first && proto == ProtoICMP
	case NeedsICMPv6:
		return icmp6
	case NeedsND:
		return nd
	case NeedsNDSolicit:
		return nd && kind == 135
	case NeedsNDAdvert:
		return nd && kind == 136
	}
	return true
}
