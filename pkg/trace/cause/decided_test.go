package cause

import (
	"testing"

	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/trace/ovn"
)

// What was found is said in words that hold whatever stands around the part of the match.
func TestFinds(t *testing.T) {
	var p packet.Flow
	for field, n := range map[string]uint64{"eth_type": packet.EthIPv4, "nw_proto": packet.ProtoTCP, "tp_dst": 8080, "nw_ttl": 64, "ip_src": 0x0a000005, "ct_state": 0x21} {
		f, ok := packet.Lookup(field)
		if !ok {
			t.Fatal(field)
		}
		p.Set(f, packet.Uint(n))
	}
	e := New(&logicalflow.Network{}, nil, nil)
	for _, test := range []struct {
		match string
		holds bool
		words []string
	}{
		{"tcp", true, []string{"it is tcp"}},
		{"udp", false, []string{"it is not udp"}},
		{"ip.is_frag", false, []string{"ip.is_frag does not hold"}},
		{"!ip.is_frag", true, []string{"ip.is_frag does not hold"}},
		{"ct.new", true, []string{"ct.new holds"}},
		{"!ct.new", false, []string{"ct.new holds"}},
		{"ct.new && !ct.est", true, []string{"ct.new holds", "ct.est does not hold"}},
		{"tcp.dst == 8080", true, []string{"tcp.dst is 8080"}},
		{"tcp.dst == 80", false, []string{"tcp.dst is 8080, not 80"}},
		{"tcp.dst != 80", true, []string{"tcp.dst is 8080, not 80"}},
		{"tcp.dst != 8080", false, []string{"tcp.dst is 8080, which is 8080"}},
		{"tcp.dst == {80, 443}", false, []string{"tcp.dst is 8080, not in 80, 443"}},
		{"tcp.dst == {1, 2, 3, 4, 5, 6, 7}", false, []string{"tcp.dst is 8080, not in 1, 2, 3, 4, 5, 2 more"}},
		{"tcp.dst < 1024", false, []string{"tcp.dst is 8080, not < 1024"}},
		{"1024 <= tcp.dst <= 9000", true, []string{"tcp.dst is 8080, within 1024 <= tcp.dst <= 9000"}},
		{"ip4.src == 10.0.0.0/24", true, []string{"ip4.src is 10.0.0.5, in 10.0.0.0/24"}},
		{"ip4.src == 10.1.0.0/24 && tcp", false, []string{"ip4.src is 10.0.0.5, not in 10.1.0.0/24"}},
		{"ip.ttl == {0, 1}", false, []string{"ip.ttl is 64, not in 0, 1"}},
		{"reg0[7] == 1 && udp", false, []string{"", "it is not udp"}},
		{"1", true, []string{""}},
	} {
		m, err := ovnexpr.ParseMatch(test.match)
		if err != nil {
			t.Fatal(err)
		}
		c, err := m.Annotate(ovnexpr.SymbolsOf(ovnexpr.Profile{}), nil)
		if err != nil {
			t.Fatal(err)
		}
		holds, decisions := c.Evaluate(&p, nil)
		var words []string
		for _, d := range decisions {
			words = append(words, e.finds(t.Context(), &ovn.Visit{}, d))
		}
		if holds != test.holds || len(words) != len(test.words) {
			t.Errorf("%s: %v, %q, want %v, %q", test.match, holds, words, test.holds, test.words)
			continue
		}
		for i := range words {
			if words[i] != test.words[i] {
				t.Errorf("%s: %q, want %q", test.match, words, test.words)
			}
		}
	}
}
