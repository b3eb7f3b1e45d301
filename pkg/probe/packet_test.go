package probe

import (
	"encoding/binary"
	"net/netip"
	"testing"
)

var (
	pod1, pod2   = netip.MustParseAddr("10.244.1.6"), netip.MustParseAddr("10.244.2.5")
	pod16, pod26 = netip.MustParseAddr("fd00::1:6"), netip.MustParseAddr("fd00::2:5")
)

// eachPacket calls f for a packet of each protocol and family.
func eachPacket(t *testing.T, f func(t *testing.T, p *Packet)) {
	for _, protocol := range []string{"icmp", "tcp", "udp"} {
		for _, ends := range [][2]netip.Addr{{pod1, pod2}, {pod16, pod26}} {
			p := &Packet{Protocol: protocol, Src: ends[0], Dst: ends[1], SourcePort: 12345, Port: 8080, Size: 101, Mark: 0xabcdef00}
			t.Run(protocol+" "+p.Src.String(), func(t *testing.T) { f(t, p) })
		}
	}
}

func etherOf(p *Packet) uint16 {
	if p.Dst.Is6() {
		return etherIPv6
	}
	return etherIPv4
}

// A receiver accepts the checksums: over header and data they add up to all ones.
func TestChecksums(t *testing.T) {
	eachPacket(t, func(t *testing.T, p *Packet) {
		for i := range 3 {
			b := p.bytes(i)
			h, ok := readIP(b)
			if !ok || len(b) != p.Size {
				t.Fatalf("%d bytes, want a packet of %d", len(b), p.Size)
			}
			if p.Dst.Is4() && checksum(0, b[:20]) != 0 {
				t.Error("the checksum of the IP header is wrong")
			}
			if checksum(p.pseudo(len(h.t)), h.t) != 0 {
				t.Error("the checksum is wrong")
			}
		}
	})
}

// geneve puts a packet into a tunnel.
func geneve(ether uint16, inner []byte) []byte {
	outer := make([]byte, 20+8+8+8+14)
	outer[0], outer[9] = 0x45, protoUDP
	copy(outer[16:], []byte{172, 30, 0, 12})
	binary.BigEndian.PutUint16(outer[22:], portGeneve)
	outer[28] = 2 // an option of 8 bytes
	binary.BigEndian.PutUint16(outer[56:], ether)
	return append(outer, inner...)
}

// quote returns the ICMP error about a packet, with so many of its bytes.
func quote(p *Packet, b []byte, length int) []byte {
	if p.Dst.Is4() {
		e := make([]byte, 28)
		e[0], e[9], e[20] = 0x45, protoICMP, 3
		return append(e, b[:length]...)
	}
	e := make([]byte, 48)
	e[0], e[6], e[40] = 0x60, protoICMPv6, 1
	return append(e, b[:length]...)
}

func TestRead(t *testing.T) {
	eachPacket(t, func(t *testing.T, p *Packet) {
		ether, b := etherOf(p), p.bytes(3)
		headers := p.headers()
		index := 3
		if p.Protocol == "udp" {
			index = 0 // eight bytes of a datagram have only its ports
		}
		short := headers - 8
		if p.Protocol == "tcp" {
			short = headers - 20
		}
		for _, c := range []struct {
			name  string
			ether uint16
			bytes []byte
			want  sight
		}{
			{"itself", ether, b, sight{index: 3}},
			{"with a VLAN tag", etherVLAN, append([]byte{0, 100, byte(ether >> 8), byte(ether)}, b...), sight{index: 3}},
			{"in a tunnel", etherIPv4, geneve(ether, b), sight{index: 3, tunnel: true, remote: netip.MustParseAddr("172.30.0.12")}},
			{"an error about it", ether, quote(p, b, len(b)), sight{index: 3, what: failure}},
			{"the shortest error about it", ether, quote(p, b, short+8), sight{index: index, what: failure}},
		} {
			got, ok := p.read(c.ether, c.bytes)
			if !ok || got != c.want {
				t.Errorf("%s: %+v, %v; want %+v", c.name, got, ok, c.want)
			}
		}
		other := *p
		other.Mark, other.SourcePort, other.Port = 0x12345600, 1, 2
		if got, ok := other.read(ether, b); ok {
			t.Errorf("another's packet is taken for ours: %+v", got)
		}
	})
}

func FuzzRead(f *testing.F) {
	p := &Packet{Protocol: "udp", Src: pod1, Dst: pod2, SourcePort: 12345, Port: 8080, Size: 101, Mark: 0xabcdef00}
	f.Add(uint16(etherIPv4), geneve(etherIPv4, p.bytes(0)))
	f.Add(uint16(etherIPv4), quote(p, p.bytes(1), 28))
	f.Fuzz(func(_ *testing.T, ether uint16, b []byte) {
		for _, protocol := range []string{"icmp", "tcp", "udp"} {
			q := *p
			q.Protocol = protocol
			q.read(ether, b)
		}
	})
}

// A service may lead its client to itself: the datagram then comes back to where it was sent from, under another address. Its
// reply is told from it by the ports, and where source NAT has chosen another, by the addresses.
func TestHairpin(t *testing.T) {
	service, masked := netip.MustParseAddr("10.96.0.10"), netip.MustParseAddr("169.254.169.5")
	p := &Packet{Protocol: "udp", Src: pod1, Dst: service, SourcePort: 12345, Port: 53, Size: 101, Mark: 0xabcdef00}
	for _, test := range []struct {
		src, dst netip.Addr
		from, to uint16
		want     sightKind
	}{
		{pod1, service, 12345, 53, itself}, {masked, pod1, 12345, 9090, itself}, {pod1, masked, 9090, 12345, reply}, {service, pod1, 53, 12345, reply},
		{pod1, pod2, 12345, 9090, itself}, {pod2, pod1, 9090, 12345, reply}, {masked, pod2, 40000, 9090, itself}, {service, pod1, 53, 40000, reply},
		{pod1, pod2, 12345, 12345, itself}, {pod2, pod1, 12345, 12345, reply},
	} {
		q := *p
		q.Src, q.Dst, q.SourcePort, q.Port = test.src, test.dst, test.from, test.to
		if s, ok := p.read(etherIPv4, q.bytes(2)); !ok || s.what != test.want || s.index != 2 {
			t.Errorf("%s:%d to %s:%d: %+v, %v, want %v", test.src, test.from, test.dst, test.to, s, ok, test.want)
		}
	}
}

// A packet whose kernel leaves the checksum to a link has that of the pseudo header alone.
func TestUnsummed(t *testing.T) {
	p := &Packet{Protocol: "tcp", Src: pod1, Dst: pod2, SourcePort: 12345, Port: 80, Size: 40, Unsummed: true}
	h, ok := readIP(p.bytes(0))
	if got := binary.BigEndian.Uint16(h.t[16:]); !ok || got != ^checksum(p.pseudo(20), nil) {
		t.Errorf("checksum %#x", got)
	}
	if checksum(p.pseudo(len(h.t)), h.t) == 0 {
		t.Error("a receiver would accept it")
	}
}
