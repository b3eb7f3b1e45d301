package probe

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// IP protocol numbers, ICMP types and TCP flags that a probe knows.
const (
	protoICMP, protoTCP, protoUDP, protoICMPv6 = 1, 6, 17, 58

	echoRequest4, echoReply4, echoRequest6, echoReply6 = 8, 0, 128, 129

	flagSYN, flagRST, flagACK = 0x02, 0x04, 0x10
)

// A Packet is what is sent. Its packets are recognized by a mark: four bytes that echoes and datagrams carry behind
// their header and a SYN has as its sequence number. NAT and tunnels keep it, and a reply contains it or its successor.
type Packet struct {
	Protocol   string // icmp, tcp, udp
	Src, Dst   netip.Addr
	SourcePort uint16
	Port       uint16
	Size       int    // in bytes, with the IP header
	DSCP       byte   // RFC 2474, 6 bits
	TTL        byte   // or hop limit
	Mark       uint32 // the lowest byte is 0, and counts the packets
	Unsummed   bool   // its checksum covers the pseudo header only, as if a link were to complete it
}

// MaxCount is how many packets one mark can number.
const MaxCount = 100

// headers is the length of a packet's headers.
func (p *Packet) headers() int {
	n := 28
	if p.Dst.Is6() {
		n = 48
	}
	if p.Protocol == "tcp" {
		n += 12
	}
	return n
}

// Smallest is the smallest size that leaves room for the mark.
func (p *Packet) Smallest() int {
	if p.Protocol == "tcp" {
		return p.headers()
	}
	return p.headers() + 8
}

// words returns what to listen for: the mark, and the ports of UDP, which its replies and errors about it have.
func (p *Packet) words() []node.Word {
	words := []node.Word{{Value: p.Mask(), Mask: markMask}}
	if p.Protocol == "udp" {
		words = append(words, node.Word{Value: uint32(p.SourcePort)<<16 | uint32(p.Port), Mask: 0xffffffff},
			node.Word{Value: uint32(p.Port)<<16 | uint32(p.SourcePort), Mask: 0xffffffff})
	}
	return words
}

// answers returns the IP protocols that come back: its own, and ICMP with errors.
func (p *Packet) answers() []int {
	errors := protoICMP
	if p.Dst.Is6() {
		errors = protoICMPv6
	}
	return slices.Compact([]int{int(p.proto()), errors})
}

const markMask = 0xffffff00

// Mask returns the part of the mark that all packets share.
func (p *Packet) Mask() uint32 { return p.Mark & markMask }

// word returns the mark of the i-th packet.
func (p *Packet) word(i int) uint32 { return p.Mask() | uint32(2*i) }

// bytes returns the i-th packet with its IP header. It must not be fragmented.
func (p *Packet) bytes(i int) []byte { return p.sized(i, p.Size) }

// sized returns the i-th packet with another size.
func (p *Packet) sized(i, size int) []byte { return p.marked(p.word(i), size) }

// marked returns a packet with a word and a size.
func (p *Packet) marked(word uint32, size int) []byte {
	b := make([]byte, size)
	transport := b[20:]
	if p.Dst.Is6() {
		transport = b[40:]
		b[0], b[1], b[7] = 0x60|p.DSCP>>2, p.DSCP<<6, p.TTL
		binary.BigEndian.PutUint16(b[4:], uint16(len(transport)))
		copy(b[8:], p.Src.AsSlice())
		copy(b[24:], p.Dst.AsSlice())
		b[6] = p.proto()
	} else {
		b[0], b[1], b[6], b[8], b[9] = 0x45, p.DSCP<<2, 0x40, p.TTL, p.proto()
		binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
		binary.BigEndian.PutUint16(b[4:], uint16(word>>8)+uint16(word)>>1)
		copy(b[12:], p.Src.AsSlice())
		copy(b[16:], p.Dst.AsSlice())
		binary.BigEndian.PutUint16(b[10:], checksum(0, b[:20]))
	}
	sumAt := p.fill(transport, word)
	sum := checksum(p.pseudo(len(transport)), transport)
	if p.Unsummed {
		sum = ^checksum(p.pseudo(len(transport)), nil)
	}
	if sum == 0 && p.Protocol == "udp" {
		sum = 0xffff // 0 means none
	}
	binary.BigEndian.PutUint16(transport[sumAt:], sum)
	return b
}

// fill writes the transport header and the payload, and returns where the checksum goes.
func (p *Packet) fill(t []byte, word uint32) (sumAt int) {
	switch p.Protocol {
	case "tcp":
		binary.BigEndian.PutUint16(t, p.SourcePort+uint16(word&^markMask)/2)
		binary.BigEndian.PutUint16(t[2:], p.Port)
		binary.BigEndian.PutUint32(t[4:], word)
		t[12], t[13] = 5<<4, flagSYN
		binary.BigEndian.PutUint16(t[14:], 64240)
		return 16
	case "udp":
		binary.BigEndian.PutUint16(t, p.SourcePort)
		binary.BigEndian.PutUint16(t[2:], p.Port)
		binary.BigEndian.PutUint16(t[4:], uint16(len(t)))
		binary.BigEndian.PutUint32(t[8:], word)
		return 6
	}
	t[0] = echoRequest4
	if p.Dst.Is6() {
		t[0] = echoRequest6
	}
	// The identifier and sequence number are the mark, too: ICMP errors quote no more than these.
	binary.BigEndian.PutUint32(t[4:], word)
	binary.BigEndian.PutUint32(t[8:], word)
	return 2
}

func (p *Packet) proto() byte {
	switch {
	case p.Protocol == "tcp":
		return protoTCP
	case p.Protocol == "udp":
		return protoUDP
	case p.Dst.Is6():
		return protoICMPv6
	}
	return protoICMP
}

// pseudo is the sum of the pseudo header; ICMP over IPv4 has none.
func (p *Packet) pseudo(length int) uint32 {
	if p.proto() == protoICMP {
		return 0
	}
	sum := uint32(p.proto()) + uint32(length)
	for _, a := range []netip.Addr{p.Src, p.Dst} {
		sum = add(sum, a.AsSlice())
	}
	return sum
}

func add(sum uint32, b []byte) uint32 {
	for i := 0; i < len(b); i += 2 {
		sum += uint32(b[i]) << 8
		if i+1 < len(b) {
			sum += uint32(b[i+1])
		}
	}
	return sum
}

// checksum returns the Internet checksum.
func checksum(sum uint32, b []byte) uint16 {
	sum = add(sum, b)
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// A sight is one of our packets, or what came of it, as a link carried it.
type sight struct {
	index  int        // of the packet
	what   sightKind  // the packet itself, or what came back
	remote netip.Addr // with a tunnel: the address it is sent to
	tunnel bool
}

type sightKind int

const (
	itself  sightKind = iota
	reply             // of whoever received it
	refusal           // a TCP reset
	failure           // an ICMP error about it
	expiry            // the same, by a router where its TTL ran out
)

// EtherTypes and the ports of tunnels.
const (
	etherIPv4, etherIPv6, etherVLAN, etherQinQ = 0x0800, 0x86dd, 0x8100, 0x88a8

	portGeneve, portVXLAN, portVXLANOld = 6081, 4789, 8472
)

// read finds our packet in a frame, in a tunnel or not.
func (p *Packet) read(protocol uint16, b []byte) (sight, bool) {
	for (protocol == etherVLAN || protocol == etherQinQ) && len(b) >= 4 {
		protocol, b = binary.BigEndian.Uint16(b[2:]), b[4:]
	}
	h, ok := readIP(b)
	if !ok || protocol != etherIPv4 && protocol != etherIPv6 {
		return sight{}, false
	}
	if inner, ok := h.decapsulated(); ok {
		s, ok := p.read(binary.BigEndian.Uint16(inner[12:]), inner[14:])
		if ok && !s.tunnel {
			s.tunnel, s.remote = true, h.dst
		}
		return s, ok
	}
	return p.recognize(h)
}

// An ipHeader is an IP packet whose transport header is at t, of at least 8 bytes.
type ipHeader struct {
	proto    byte
	src, dst netip.Addr
	t        []byte
}

func readIP(b []byte) (h ipHeader, ok bool) {
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		n := int(b[0]&0xf) * 4
		if n < 20 || len(b) < n {
			return h, false
		}
		h = ipHeader{b[9], netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20])), b[n:]}
	case len(b) >= 40 && b[0]>>4 == 6:
		h = ipHeader{b[6], netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40])), b[40:]}
	}
	return h, len(h.t) >= 8
}

// decapsulated returns the Ethernet frame in a tunnel's packet.
func (h ipHeader) decapsulated() ([]byte, bool) {
	if h.proto != protoUDP || len(h.t) < 16 {
		return nil, false
	}
	inner := 16
	switch binary.BigEndian.Uint16(h.t[2:]) {
	case portGeneve:
		inner += 4 * int(h.t[8]&0x3f)
	case portVXLAN, portVXLANOld:
	default:
		return nil, false
	}
	if len(h.t) < inner+14 {
		return nil, false
	}
	return h.t[inner:], true
}

// recognize tells what a packet that is not encapsulated is to us.
func (p *Packet) recognize(h ipHeader) (sight, bool) {
	marked := func(at int) (int, bool) {
		if len(h.t) < at+4 {
			return 0, false
		}
		w := binary.BigEndian.Uint32(h.t[at:])
		return int(w&^markMask) / 2, w&markMask == p.Mask()
	}
	switch h.proto {
	case protoTCP:
		if p.Protocol != "tcp" || len(h.t) < 8 {
			return sight{}, false
		}
		return p.segment(h, marked)
	case protoUDP:
		if p.Protocol != "udp" {
			return sight{}, false
		}
		return p.datagram(h, marked)
	case protoICMP, protoICMPv6:
		return p.message(h, marked)
	}
	return sight{}, false
}

func (p *Packet) segment(h ipHeader, marked func(int) (int, bool)) (sight, bool) {
	if len(h.t) < 14 { // quoted by an ICMP error
		i, ok := marked(4)
		return sight{index: i}, ok
	}
	flags := h.t[13]
	if flags&flagACK == 0 {
		i, ok := marked(4)
		return sight{index: i}, ok && flags&flagSYN != 0
	}
	i, ok := marked(8)
	switch {
	case flags&flagRST != 0:
		return sight{index: i, what: refusal}, ok
	case flags&flagSYN != 0:
		return sight{index: i, what: reply}, ok
	}
	return sight{}, false
}

func (p *Packet) datagram(h ipHeader, marked func(int) (int, bool)) (sight, bool) {
	from, to := binary.BigEndian.Uint16(h.t), binary.BigEndian.Uint16(h.t[2:])
	i, ok := marked(8)
	back := h.dst == p.Src && h.dst != p.Dst
	switch { // the ports tell, unless they are alike or source NAT has chosen another: a service may lead the sender to itself
	case from == to:
	case from == p.SourcePort:
		back = false
	case to == p.SourcePort:
		back = true
	}
	switch {
	case ok && !back:
		return sight{index: i}, true
	case ok:
		return sight{index: i, what: reply}, true
	case len(h.t) == 8 && from == p.SourcePort: // quoted by an ICMP error
		return sight{}, true
	case to == p.SourcePort && from == p.Port:
		return sight{what: reply}, true
	}
	return sight{}, false
}

func (p *Packet) message(h ipHeader, marked func(int) (int, bool)) (sight, bool) {
	kind, v6 := h.t[0], h.proto == protoICMPv6
	switch {
	case p.Protocol == "icmp" && (!v6 && kind == echoRequest4 || v6 && kind == echoRequest6):
		i, ok := marked(8)
		return sight{index: i}, ok
	case p.Protocol == "icmp" && (!v6 && kind == echoReply4 || v6 && kind == echoReply6):
		i, ok := marked(8)
		return sight{index: i, what: reply}, ok
	case !v6 && (kind == 3 || kind == 11 || kind == 12), v6 && kind >= 1 && kind <= 4:
		what := failure
		if !v6 && kind == 11 || v6 && kind == 3 {
			what = expiry
		}
		quoted, ok := readIP(h.t[8:])
		if !ok {
			return sight{}, false
		}
		if len(quoted.t) < 12 && p.Protocol == "icmp" { // identifier and sequence number are all there is
			w := binary.BigEndian.Uint32(quoted.t[4:])
			return sight{index: int(w&^markMask) / 2, what: what}, w&markMask == p.Mask()
		}
		if quoted.proto == protoICMP && quoted.t[0] == 3 || quoted.proto == protoICMPv6 && quoted.t[0] < 128 {
			return sight{}, false // no error is about an error
		}
		s, ok := p.recognize(quoted)
		ok = ok && s.what == itself // else the sender's own kernel refuses a reply that it did not ask for
		s.what = what
		return s, ok
	}
	return sight{}, false
}
