package probe

import (
	"encoding/binary"
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/journey"
)

// What a packet in a tunnel is addressed to, so that whoever takes it by mistake does nothing with it: locally administered
// MAC addresses, and addresses for documentation (RFC 5737).
var (
	insideSrc, insideDst = netip.AddrFrom4([4]byte{192, 0, 2, 1}), netip.AddrFrom4([4]byte{192, 0, 2, 2})
	insideMACs           = []byte{0x02, 0x6f, 0x76, 0x6e, 0, 2, 0x02, 0x6f, 0x76, 0x6e, 0, 1}
)

// insideFrame returns an Ethernet frame with an echo request that has a word and a size, in bytes from the IP header on.
func insideFrame(word uint32, size int) []byte {
	p := &Packet{Protocol: "icmp", Src: insideSrc, Dst: insideDst, Size: size, TTL: defaultTTL}
	ip := p.marked(word, size)
	frame := binary.BigEndian.AppendUint16(append([]byte{}, insideMACs...), etherIPv4)
	return append(frame, ip...)
}

// frameAt returns a packet in a frame as a sender's port gets it.
func frameAt(in *journey.Ingress, packet []byte) []byte {
	var mac [8]byte
	binary.BigEndian.PutUint64(mac[:], in.DstMAC)
	frame := append([]byte{}, mac[2:]...)
	binary.BigEndian.PutUint64(mac[:], in.SrcMAC)
	frame = append(frame, mac[2:]...)
	if in.VLAN != 0 {
		frame = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(frame, etherVLAN), uint16(in.VLAN))
	}
	kind := uint16(etherIPv4)
	if packet[0]>>4 == 6 {
		kind = etherIPv6
	}
	return append(binary.BigEndian.AppendUint16(frame, kind), packet...)
}

// An encapsulated is one of our frames as a link carries it.
type encapsulated struct {
	vni    uint32
	word   uint32
	remote netip.Addr // the address that the outer packet is sent to
}

// readEncapsulated finds a frame of ours in a packet of Geneve or VXLAN.
func readEncapsulated(protocol uint16, b []byte) (e encapsulated, ok bool) {
	for (protocol == etherVLAN || protocol == etherQinQ) && len(b) >= 4 {
		protocol, b = binary.BigEndian.Uint16(b[2:]), b[4:]
	}
	outer, ok := readIP(b)
	if !ok || protocol != etherIPv4 && protocol != etherIPv6 {
		return e, false
	}
	inner, ok := outer.decapsulated()
	if !ok || binary.BigEndian.Uint16(inner[12:]) != etherIPv4 {
		return e, false
	}
	h, ok := readIP(inner[14:])
	if !ok || h.src != insideSrc || h.dst != insideDst || len(h.t) < 12 || h.proto != protoICMP {
		return e, false
	}
	return encapsulated{vni: binary.BigEndian.Uint32(outer.t[12:]) >> 8, word: binary.BigEndian.Uint32(h.t[8:]), remote: outer.dst}, true
}
