package pcap

import (
	"bytes"
	"errors"
	"io"
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
