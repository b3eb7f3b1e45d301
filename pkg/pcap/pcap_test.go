package pcap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

func mac(t testing.TB, s string) net.HardwareAddr {
	t.Helper()
	a, err := net.ParseMAC(s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func packet(t testing.TB, list ...gopacket.SerializableLayer) []byte {
	t.Helper()
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true}, list...); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// tunnelled is a TCP packet in a Geneve tunnel over IPv4, and an echo request over
// IPv6 in a VXLAN tunnel.
func tunnelled(t testing.TB) [][]byte {
	ether := func(kind layers.EthernetType) *layers.Ethernet {
		return &layers.Ethernet{SrcMAC: mac(t, "0a:58:0a:f4:01:06"), DstMAC: mac(t, "0a:58:0a:f4:01:01"), EthernetType: kind}
	}
	ip := func(src, dst string, proto layers.IPProtocol) *layers.IPv4 {
		return &layers.IPv4{Version: 4, IHL: 5, TTL: 63, Protocol: proto, SrcIP: net.ParseIP(src), DstIP: net.ParseIP(dst)}
	}
	return [][]byte{
		packet(t, ether(layers.EthernetTypeIPv4), ip("172.30.0.11", "172.30.0.12", layers.IPProtocolUDP),
			&layers.UDP{SrcPort: 51599, DstPort: 6081},
			&layers.Geneve{CriticalOption: true, Protocol: layers.EthernetTypeTransparentEthernetBridging, VNI: 8, OptionsLength: 8,
				Options: []*layers.GeneveOption{{Class: ovnClass, Type: 0x80, Length: 8, Data: []byte{0, 1, 0, 6}}}},
			ether(layers.EthernetTypeIPv4), ip("10.244.1.6", "10.244.2.5", layers.IPProtocolTCP),
			&layers.TCP{SrcPort: 40000, DstPort: 8080, SYN: true, Seq: 7}, gopacket.Payload("x")),
		packet(t, ether(layers.EthernetTypeIPv6), &layers.IPv6{Version: 6, NextHeader: layers.IPProtocolUDP, HopLimit: 64, SrcIP: net.ParseIP("fd00::b"), DstIP: net.ParseIP("fd00::c")},
			&layers.UDP{SrcPort: 51599, DstPort: 4789}, &layers.VXLAN{ValidIDFlag: true, VNI: 0x3005},
			ether(layers.EthernetTypeARP), &layers.ARP{AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4, Operation: layers.ARPRequest,
				SourceHwAddress: mac(t, "0a:58:0a:f4:01:06"), SourceProtAddress: []byte{10, 244, 1, 6}, DstHwAddress: make([]byte, 6), DstProtAddress: []byte{10, 244, 1, 1}}),
	}
}

const want = `2026-01-02T03:04:05.000006Z IP 172.30.0.11.51599 > 172.30.0.12.6081: Geneve, Flags [C], vni 0x8, options [class Open Virtual Networking (OVN) (0x102) type 0x80(C) len 8 data 00010006]: 0a:58:0a:f4:01:06 > 0a:58:0a:f4:01:01, ttl 63, IP 10.244.1.6.40000 > 10.244.2.5.8080: TCP, Flags [S], seq 7, ack 0, length 118
2026-01-02T03:04:05.000006Z IP6 fd00::b.51599 > fd00::c.4789: VXLAN, flags [I], vni 12293: 0a:58:0a:f4:01:06 > 0a:58:0a:f4:01:01, ARP, Request who-has 10.244.1.1 tell 10.244.1.6, length 130
`

// files are the packets as pcap and as pcapng.
func files(t testing.TB) map[string][]byte {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	var old, next bytes.Buffer
	w := pcapgo.NewWriter(&old)
	if err := w.WriteFileHeader(65535, layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	ng, err := pcapgo.NewNgWriter(&next, layers.LinkTypeEthernet)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range tunnelled(t) {
		info := gopacket.CaptureInfo{Timestamp: at, CaptureLength: len(p), Length: len(p)}
		if err := errors.Join(w.WritePacket(info, p), ng.WritePacket(info, p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := ng.Flush(); err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{"pcap": old.Bytes(), "pcapng": next.Bytes()}
}

func read(b []byte) (string, error) {
	r, err := NewReader(bytes.NewReader(b))
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for {
		line, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out.String(), nil
		}
		if err != nil {
			return out.String(), err
		}
		out.WriteString(line + "\n")
	}
}

func TestRead(t *testing.T) {
	for name, b := range files(t) {
		if !Is(b) {
			t.Errorf("%s is not taken for one", name)
		}
		got, err := read(b)
		if err != nil || got != want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", name, err, got, want)
		}
		first, _, _ := strings.Cut(want, "\n")
		if got, err := read(b[:len(b)-20]); err == nil || got != first+"\n" {
			t.Errorf("%s cut short: %v, %q", name, err, got)
		}
	}
	if Is([]byte("NXST_FLOW reply")) {
		t.Error("text is taken for packets")
	}
}

// TestPackets has one packet of each kind that is worded.
func TestPackets(t *testing.T) {
	ether := func(kind layers.EthernetType) *layers.Ethernet {
		return &layers.Ethernet{SrcMAC: mac(t, "0a:58:0a:f4:01:06"), DstMAC: mac(t, "0a:58:0a:f4:01:01"), EthernetType: kind}
	}
	ip4 := func(proto layers.IPProtocol) *layers.IPv4 {
		return &layers.IPv4{Version: 4, IHL: 5, TTL: 63, Protocol: proto, SrcIP: net.ParseIP("10.244.1.6"), DstIP: net.ParseIP("10.244.2.5")}
	}
	ip6 := func(next layers.IPProtocol) *layers.IPv6 {
		return &layers.IPv6{Version: 6, NextHeader: next, HopLimit: 64, SrcIP: net.ParseIP("fd00::6"), DstIP: net.ParseIP("fd00::5")}
	}
	later := ip4(layers.IPProtocolUDP)
	later.FragOffset = 185
	first := ip4(layers.IPProtocolUDP)
	first.Flags = layers.IPv4MoreFragments
	udp := &layers.UDP{SrcPort: 40000, DstPort: 53}
	cooked := append(make([]byte, 14), 0x08, 0x00)
	for _, tt := range []struct {
		link uint16
		data []byte
		want string
	}{
		{linkEthernet, packet(t, ether(layers.EthernetTypeIPv4), ip4(layers.IPProtocolICMPv4), &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeEchoRequest, 0), Id: 3, Seq: 4}),
			"IP 10.244.1.6 > 10.244.2.5: ICMP echo request, id 3, seq 4, "},
		{linkEthernet, packet(t, ether(layers.EthernetTypeIPv4), ip4(layers.IPProtocolICMPv4), &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(layers.ICMPv4TypeDestinationUnreachable, layers.ICMPv4CodeCommAdminProhibited)}),
			"IP 10.244.1.6 > 10.244.2.5: ICMP unreachable (admin prohibited), "},
		{linkEthernet, packet(t, ether(layers.EthernetTypeIPv6), ip6(layers.IPProtocolICMPv6), &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypeNeighborSolicitation, 0)}, &layers.ICMPv6NeighborSolicitation{TargetAddress: net.ParseIP("fd00::5")}),
			"IP6 fd00::6 > fd00::5: ICMP6 neighbor solicitation, who has fd00::5, "},
		{linkEthernet, packet(t, ether(layers.EthernetTypeIPv6), ip6(layers.IPProtocolICMPv6), &layers.ICMPv6{TypeCode: layers.CreateICMPv6TypeCode(layers.ICMPv6TypePacketTooBig, 0)}, gopacket.Payload{0, 0, 5, 0xdc}),
			"IP6 fd00::6 > fd00::5: ICMP6 packet too big, mtu 1500, "},
		{linkEthernet, packet(t, ether(layers.EthernetTypeIPv6), ip6(layers.IPProtocolIPv6Fragment), gopacket.Payload{17, 0, 0, 9, 0, 0, 0, 1}, udp),
			"fragment at 8, IP6 fd00::6 > fd00::5: proto 17, "},
		{linkEthernet, packet(t, ether(layers.EthernetTypeIPv6), ip6(layers.IPProtocolIPv6HopByHop), gopacket.Payload{17, 0, 5, 2, 0, 0, 1, 0}, udp),
			"IP6 fd00::6.40000 > fd00::5.53: UDP, "},
		{linkEthernet, packet(t, ether(layers.EthernetTypeQinQ), &layers.Dot1Q{VLANIdentifier: 5, Type: layers.EthernetTypeDot1Q}, &layers.Dot1Q{VLANIdentifier: 7, Priority: 3, Type: layers.EthernetTypeIPv4}, ip4(layers.IPProtocolUDP), udp),
			"vlan 5, vlan 7, IP 10.244.1.6.40000 > 10.244.2.5.53: UDP, "},
		{linkEthernet, packet(t, ether(layers.EthernetTypeIPv4), first, udp), "fragment at 0, IP 10.244.1.6.40000 > 10.244.2.5.53: UDP, "},
		{linkEthernet, packet(t, ether(layers.EthernetTypeIPv4), later, udp), "fragment at 1480, IP 10.244.1.6 > 10.244.2.5: proto 17, "},
		{linkEthernet, packet(t, ether(layers.EthernetTypeLinkLayerDiscovery), gopacket.Payload{2, 7}), "ethertype 0x88cc, "},
		{linkEthernet, packet(t, ether(layers.EthernetTypeIPv4), ip4(layers.IPProtocolESP), gopacket.Payload{1}), "IP 10.244.1.6 > 10.244.2.5: proto 50, "},
		{linkEthernet, packet(t, ether(layers.EthernetTypeIPv4), ip4(layers.IPProtocolTCP), gopacket.Payload{1, 2, 3}), "IP then unreadable data, "},
		{linkLinux, append(cooked, packet(t, ip4(layers.IPProtocolUDP), udp)...), "IP 10.244.1.6.40000 > 10.244.2.5.53: UDP, "},
		{linkLinuxLong, append(append([]byte{0x08}, make([]byte, 19)...), packet(t, ip4(layers.IPProtocolUDP), udp)...), "IP 10.244.1.6.40000 > 10.244.2.5.53: UDP, "},
		{linkRaw, packet(t, ip6(layers.IPProtocolUDP), udp), "IP6 fd00::6.40000 > fd00::5.53: UDP, "},
		{linkNull, append([]byte{2, 0, 0, 0}, packet(t, ip4(layers.IPProtocolUDP), udp)...), "IP 10.244.1.6.40000 > 10.244.2.5.53: UDP, "},
		{147, nil, "link type 147, "},
	} {
		if got := text(record{link: tt.link, length: 99, data: tt.data}); got != tt.want+"length 99" {
			t.Errorf("link type %d, % x:\ngot  %s\nwant %slength 99", tt.link, tt.data, got, tt.want)
		}
	}
}

// TestSections reads what the writer of the other tests does not make: sections in the other byte order, times in other units,
// blocks without a time, blocks of other kinds.
func TestSections(t *testing.T) {
	block := func(kind uint32, body ...[]byte) []byte {
		all := bytes.Join(body, nil)
		all = append(all, make([]byte, -len(all)&3)...)
		b := binary.BigEndian.AppendUint32(nil, kind)
		b = binary.BigEndian.AppendUint32(b, uint32(len(all)+12))
		return binary.BigEndian.AppendUint32(append(b, all...), uint32(len(all)+12))
	}
	words := func(n ...uint32) (b []byte) {
		for _, w := range n {
			b = binary.BigEndian.AppendUint32(b, w)
		}
		return b
	}
	raw := packet(t, &layers.IPv4{Version: 4, IHL: 5, TTL: 63, Protocol: layers.IPProtocolUDP, SrcIP: net.ParseIP("10.0.0.1"), DstIP: net.ParseIP("10.0.0.2")}, &layers.UDP{SrcPort: 1, DstPort: 2})
	section := block(blockSection, words(0x1a2b3c4d, 0x00010000, math.MaxUint32, math.MaxUint32))
	link := block(blockInterface, words(101<<16, 0), words(9<<16|1, 0x94000000), words(14<<16|8, 0, 60), words(0)) // 2^-20 s, a minute later
	const udp = "IP 10.0.0.1.1 > 10.0.0.2.2: UDP, length 28\n"
	for name, tt := range map[string]struct {
		blocks [][]byte
		want   string
		err    string
	}{
		"packet":        {[][]byte{section, link, block(blockPacket, words(0, 0, 3<<19, 28, 28), raw)}, "1970-01-01T00:01:01.500000Z " + udp, ""},
		"old packet":    {[][]byte{section, link, block(blockOldPacket, words(0, 0, 3<<19, 28, 28), raw)}, "1970-01-01T00:01:01.500000Z " + udp, ""},
		"simple packet": {[][]byte{section, link, block(4, words(1, 2, 3)), block(blockSimple, words(28), raw)}, udp, ""},
		"two sections":  {[][]byte{section, link, section, block(blockSimple, words(28), raw)}, "", "without an interface"},
		"no interface":  {[][]byte{section, link, block(blockPacket, words(1, 0, 0, 28, 28), raw)}, "", "interface 1, of 1"},
		"too long":      {[][]byte{section, link, block(blockPacket, words(0, 0, 0, 29, 29), raw)}, "", "a packet of 29 bytes"},
		"cut":           {[][]byte{section, link[:20]}, "", "cut short"},
		"huge":          {[][]byte{section, words(blockPacket, 1<<30)}, "", "damaged from here on"},
	} {
		got, err := read(bytes.Join(tt.blocks, nil))
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %q, %v; want %q, %q", name, got, err, tt.want, tt.err)
		}
	}
}

// Whatever the file, reading ends.
func FuzzRead(f *testing.F) {
	for _, b := range files(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < Magic || !Is(b) {
			return
		}
		text, _ := read(b)
		if n := strings.Count(text, "\n"); n > len(b) {
			t.Errorf("%d packets in %d bytes", n, len(b))
		}
	})
}
