package node

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What ip(8) prints: policies that block, pass and encrypt, one of a socket, and associations, of which one is for a peer.
const (
	xfrmPolicies = `src 0.0.0.0/0 dst 10.244.2.0/24 
	dir out action block priority 9 
src 172.30.0.11/32 dst 172.30.0.12/32 proto udp dport 6081 
	dir out priority 1360 ptype main 
	tmpl src 0.0.0.0 dst 0.0.0.0
		proto esp reqid 7 mode transport
src 172.30.0.12/32 dst 172.30.0.11/32 
	dir in priority 2 
	mark 0x5/0xffffffff 
	tmpl src 172.30.0.12 dst 172.30.0.11
		proto esp spi 0x00000002 reqid 8 mode tunnel
		level use 
src 0.0.0.0/0 dst 0.0.0.0/0 
	socket in priority 0 ptype main 
`
	xfrmStates = `src 172.30.0.11 dst 172.30.0.12
	proto esp spi 0xc1d2 reqid 7 mode transport
	replay-window 0 
	auth-trunc hmac(sha256) <<Keys hidden>> 128
	sel src 172.30.0.11/32 dst 172.30.0.12/32 
`
)

func TestParseXfrm(t *testing.T) {
	at := netip.MustParseAddr
	want := &IPsec{
		Policies: []IPsecPolicy{
			{
				Direction: "in", Src: netip.MustParsePrefix("172.30.0.12/32"), Dst: netip.MustParsePrefix("172.30.0.11/32"), Priority: 2, Part: true,
				Needs: []IPsecTemplate{{Src: at("172.30.0.12"), Dst: at("172.30.0.11"), Protocol: 50, SPI: 2, ReqID: 8, Optional: true}},
			},
			{Direction: "out", Block: true, Src: netip.MustParsePrefix("0.0.0.0/0"), Dst: netip.MustParsePrefix("10.244.2.0/24"), Priority: 9},
			{
				Direction: "out", Src: netip.MustParsePrefix("172.30.0.11/32"), Dst: netip.MustParsePrefix("172.30.0.12/32"), Protocol: 17, DstPort: 6081, Priority: 1360,
				Needs: []IPsecTemplate{{Protocol: 50, ReqID: 7}},
			},
		},
		Associations: []IPsecAssociation{{Src: at("172.30.0.11"), Dst: at("172.30.0.12"), Protocol: 50, SPI: 0xc1d2, ReqID: 7}},
	}
	got := parseXfrm(xfrmPolicies, xfrmStates)
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	for _, tt := range []struct {
		direction, protocol, src, dst string
		port                          uint16
		want                          IPsecVerdict
	}{
		{"out", "tcp", "10.244.1.2", "10.244.2.5", 8080, IPsecBlocks},
		{"in", "tcp", "10.244.2.5", "10.244.1.2", 8080, IPsecPasses},
		{"out", "udp", "172.30.0.11", "172.30.0.12", 6081, IPsecEncrypts},
		{"out", "udp", "172.30.0.11", "172.30.0.12", 53, IPsecPasses},
		{"in", "udp", "172.30.0.12", "172.30.0.11", 6081, IPsecUnsure},
	} {
		p := FilterPacket{Protocol: tt.protocol, Src: at(tt.src), Dst: at(tt.dst), DstPort: tt.port}
		if v, _ := got.Judge(tt.direction, p); v != tt.want {
			t.Errorf("%+v: %s", tt, v)
		}
	}
	got.Associations[0].ReqID = 6
	if v, _ := got.Judge("out", FilterPacket{Protocol: "udp", Src: at("172.30.0.11"), Dst: at("172.30.0.12"), DstPort: 6081}); v != IPsecLacks {
		t.Errorf("with another's association: %s", v)
	}
}
