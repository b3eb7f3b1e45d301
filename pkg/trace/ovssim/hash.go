package ovssim

import (
	"encoding/binary"
	"math/bits"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Open vSwitch's hashes: 32-bit murmur3 and Bob Jenkins'.

func hashAdd(hash, data uint32) uint32 {
	data = bits.RotateLeft32(data*0xcc9e2d51, 15) * 0x1b873593
	return bits.RotateLeft32(hash^data, 13)*5 + 0xe6546b64
}

func hashFinish(hash, n uint32) uint32 {
	hash ^= n
	hash = (hash ^ hash>>16) * 0x85ebca6b
	hash = (hash ^ hash>>13) * 0xc2b2ae35
	return hash ^ hash>>16
}

// hashWords hashes two words.
func hashWords(a, b uint32) uint32 { return hashFinish(hashAdd(hashAdd(a, 0), b), 8) }

func hashBytes(b []byte, basis uint32) uint32 {
	hash, n := basis, uint32(len(b))
	for len(b) >= 4 {
		hash = hashAdd(hash, binary.LittleEndian.Uint32(b))
		b = b[4:]
	}
	if len(b) > 0 {
		var rest [4]byte
		copy(rest[:], b)
		hash = hashAdd(hash, binary.LittleEndian.Uint32(rest[:]))
	}
	return hashFinish(hash, n)
}

// jenkins hashes bytes like lookup3.
func jenkins(data []byte, basis uint32) uint32 {
	a := 0xdeadbeef + uint32(len(data)) + basis
	b, c := a, a
	for ; len(data) >= 12; data = data[12:] {
		a += binary.LittleEndian.Uint32(data)
		b += binary.LittleEndian.Uint32(data[4:])
		c += binary.LittleEndian.Uint32(data[8:])
		a = (a - c) ^ bits.RotateLeft32(c, 4)
		c += b
		b = (b - a) ^ bits.RotateLeft32(a, 6)
		a += c
		c = (c - b) ^ bits.RotateLeft32(b, 8)
		b += a
		a = (a - c) ^ bits.RotateLeft32(c, 16)
		c += b
		b = (b - a) ^ bits.RotateLeft32(a, 19)
		a += c
		c = (c - b) ^ bits.RotateLeft32(b, 4)
		b += a
	}
	if len(data) > 0 {
		var rest [12]byte
		copy(rest[:], data)
		a += binary.LittleEndian.Uint32(rest[:])
		b += binary.LittleEndian.Uint32(rest[4:])
		c += binary.LittleEndian.Uint32(rest[8:])
		c = (c ^ b) - bits.RotateLeft32(b, 14)
		a = (a ^ c) - bits.RotateLeft32(c, 11)
		b = (b ^ a) - bits.RotateLeft32(a, 25)
		c = (c ^ b) - bits.RotateLeft32(b, 16)
		a = (a ^ c) - bits.RotateLeft32(c, 4)
		b = (b ^ a) - bits.RotateLeft32(a, 14)
		c = (c ^ b) - bits.RotateLeft32(b, 24)
	}
	return c
}

// hash hashes the fields of a packet that bundle and multipath refer to by a name (ovs-actions(7), "The bundle and
// bundle_load actions").
func (p *frame) hash(fields string, basis uint32) uint32 {
	switch fields {
	case "eth_src":
		return jenkins(p.Get(ethSrc).Bytes(6), basis)
	case "nw_src", "nw_dst":
		src, dst := p.ends()
		if fields == "nw_dst" {
			src = dst
		}
		if len(src) == 0 {
			return basis
		}
		return jenkins(src, basis)
	case "symmetric_l3":
		var all [20]byte // in Open vSwitch's layout
		copy(all[:], crossed(p.ends()))
		binary.BigEndian.PutUint16(all[16:], uint16(p.number(ethType)))
		return jenkins(all[:], basis)
	case "symmetric_l3l4":
		return p.hashTransport(basis, false)
	case "symmetric_l3l4+udp":
		return p.hashTransport(basis, true)
	}
	return p.hashSymmetric(basis)
}

// hashTransport hashes addresses, protocol and ports, with udp those of UDP too, so that both directions have the same
// hash.
func (p *frame) hashTransport(basis uint32, udp bool) uint32 {
	if !p.ip() {
		var header [12]byte
		binary.BigEndian.PutUint16(header[:], uint16(p.number(ethType)))
		binary.BigEndian.PutUint16(header[2:], p.vlanIDs())
		copy(header[4:], crossed(p.Get(ethSrc).Bytes(6), p.Get(ethDst).Bytes(6)))
		return hashFinish(hashAll(basis, header[:]), basis)
	}
	proto := p.number(nwProto)
	hash := hashAdd(hashAll(basis, crossed(p.ends())), uint32(proto))
	if p.number(nwFrag) == 0 && (proto == packet.ProtoTCP || proto == packet.ProtoSCTP || udp && proto == packet.ProtoUDP) {
		hash = hashAdd(hash, uint32(bits.ReverseBytes16(uint16(p.number(tpSrc)^p.number(tpDst)))))
	}
	return hashFinish(hash, basis)
}

// hashAll adds words to a hash.
func hashAll(hash uint32, words []byte) uint32 {
	for ; len(words) > 0; words = words[4:] {
		hash = hashAdd(hash, binary.LittleEndian.Uint32(words))
	}
	return hash
}

// hashSymmetric hashes addresses, VLANs and TCP and SCTP ports, so that both directions have the same hash.
func (p *frame) hashSymmetric(basis uint32) uint32 {
	var all [32]byte // in Open vSwitch's layout
	copy(all[:], crossed(p.ends()))
	binary.BigEndian.PutUint16(all[16:], uint16(p.number(ethType)))
	binary.BigEndian.PutUint16(all[18:], p.vlanIDs())
	if p.ip() {
		proto := p.number(nwProto)
		all[28] = byte(proto)
		if proto == packet.ProtoTCP || proto == packet.ProtoSCTP {
			binary.BigEndian.PutUint16(all[20:], uint16(p.number(tpSrc)^p.number(tpDst)))
		}
	}
	copy(all[22:], crossed(p.Get(ethSrc).Bytes(6), p.Get(ethDst).Bytes(6)))
	return jenkins(all[:], basis)
}

// vlanIDs combines the packet's VLANs regardless of their order.
func (p *frame) vlanIDs() uint16 { return uint16(p.number(outer)^p.number(inner)) & 0xfff }

// ends returns the bytes of an IP packet's addresses.
func (p *frame) ends() (src, dst []byte) {
	if !p.ip() {
		return nil, nil
	}
	a, b := p.AddrFields()
	return p.Get(a).Bytes(a.Bits / 8), p.Get(b).Bytes(b.Bits / 8)
}

// crossed combines two addresses regardless of direction.
func crossed(a, b []byte) []byte {
	x := make([]byte, len(a))
	for i := range a {
		x[i] = a[i] ^ b[i]
	}
	return x
}
