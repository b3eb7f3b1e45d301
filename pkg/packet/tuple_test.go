package packet

import (
	"net/netip"
	"testing"
)

// TestTuple reads what conntrack knows a packet by, and writes it back.
func TestTuple(t *testing.T) {
	between := func(proto uint8, src, dst string) Tuple {
		from, to := netip.MustParseAddrPort(src), netip.MustParseAddrPort(dst)
		return Tuple{Proto: proto, Src: from.Addr(), Dst: to.Addr(), SrcPort: from.Port(), DstPort: to.Port()}
	}
	for _, test := range []struct {
		packet string
		want   Tuple
		ok     bool
	}{
		{"tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_src=1000,tp_dst=80", between(6, "10.0.0.1:1000", "10.0.0.2:80"), true},
		{"tcp6,ipv6_src=fd00::1,ipv6_dst=fd00::2,tp_src=1000,tp_dst=80", between(6, "[fd00::1]:1000", "[fd00::2]:80"), true},
		{"icmp,nw_src=10.0.0.1,nw_dst=10.0.0.2,icmp_type=8", between(1, "10.0.0.1:0", "10.0.0.2:0"), true},
		{"arp,arp_spa=10.0.0.1", Tuple{}, false},
		{"dl_type=0x1234", Tuple{}, false},
	} {
		p, err := Parse(test.packet)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := p.Tuple()
		if got != test.want || ok != test.ok {
			t.Errorf("%s: %v %v, want %v %v", test.packet, got, ok, test.want, test.ok)
		}
		if !ok {
			continue
		}
		p.SetTuple(got.Reverse())
		if again, _ := p.Tuple(); again != got.Reverse() {
			t.Errorf("%s reversed: %v", test.packet, again)
		}
	}
}
