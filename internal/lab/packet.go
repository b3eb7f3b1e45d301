package lab

import (
	"encoding/binary"
	"net/netip"
)

// IP protocol numbers and the ICMP types that a probe sees.
const (
	protoICMP   = 1
	protoTCP    = 6
	protoUDP    = 17
	protoICMPv6 = 58

	echoRequest4, echoReply4 = 8, 0
	echoRequest6, echoReply6 = 128, 129

	tcpSYN, tcpRST, tcpACK = 0x02, 0x04, 0x10
)

// A packet is a captured packet, as far as probes need it.
type packet struct {
	proto    int
	src, dst netip.Addr
	sport    uint16 // TCP, UDP
	dport    uint16
	seq      uint32 // TCP sequence number; ICMP echo: identifier and sequence number
	flags    byte   // TCP
	icmp     byte   // type
	payload  []byte // UDP, ICMP
}

// parsePacket parses an IPv4 or IPv6 packet. Fragments and extension headers are not parsed: probes send neither.
func parsePacket(b []byte) (packet, bool) {
	if len(b) < 20 {
		return packet{}, false
	}
	var p packet
	switch b[0] >> 4 {
	case 4:
		n := int(b[0]&0xf) * 4
		if n < 20 || len(b) < n {
			return packet{}, false
		}
		p.proto, b = int(b[9]), b[:]
		p.src, p.dst = netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
		b = b[n:]
	case 6:
		if len(b) < 40 {
			return packet{}, false
		}
		p.proto = int(b[6])
		p.src, p.dst = netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
		b = b[40:]
	default:
		return packet{}, false
	}
	return p, p.parseTransport(b)
}

// parseTransport parses the first 8 bytes of the transport header, all that an ICMP error must quote, and the rest if
// present.
func (p *packet) parseTransport(b []byte) bool {
	if len(b) < 8 {
		return false
	}
	switch p.proto {
	case protoTCP:
		p.sport, p.dport, p.seq = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:]), binary.BigEndian.Uint32(b[4:])
		if len(b) > 13 {
			p.flags = b[13]
		}
	case protoUDP:
		p.sport, p.dport, p.payload = binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[2:]), b[8:]
	case protoICMP, protoICMPv6:
		p.icmp, p.seq, p.payload = b[0], binary.BigEndian.Uint32(b[4:]), b[8:]
	default:
		return false
	}
	return true
}

// quoted returns the packet that an ICMP error is about.
func (p packet) quoted() (packet, bool) {
	isError := p.proto == protoICMP && (p.icmp == 3 || p.icmp == 11 || p.icmp == 12) ||
		p.proto == protoICMPv6 && p.icmp >= 1 && p.icmp <= 4
	if !isError {
		return packet{}, false
	}
	return parsePacket(p.payload)
}

// echoRequest returns an ICMP or ICMPv6 echo request. The kernel fills in the ICMPv6 checksum.
func echoRequest(v6 bool, seq uint32, payload []byte) []byte {
	b := make([]byte, 8, 8+len(payload))
	b[0] = echoRequest4
	if v6 {
		b[0] = echoRequest6
	}
	binary.BigEndian.PutUint32(b[4:], seq)
	b = append(b, payload...)
	if !v6 {
		binary.BigEndian.PutUint16(b[2:], checksum(b))
	}
	return b
}

// checksum returns the Internet checksum of an even number of bytes.
func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
