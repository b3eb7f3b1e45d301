package compare

import (
	"fmt"
	"testing"
)

func TestTerms(t *testing.T) {
	const from = "(ip4.src == {$as} || ip6.src == {$as6})"
	for _, c := range []struct{ a, b, want string }{
		{from + " && tcp && tcp.dst==8080 && outport == @pg", from + " && tcp && tcp.dst == 8443 && outport==@pg", "[{tcp.dst 8080 8443}]"},
		{"ip4 && tcp.dst == 80", "ip4 && udp.dst == 80", "[{ tcp.dst == 80 } {  udp.dst == 80}]"},
		{"ip4 && tcp.dst >= 80", "ip4 && tcp.dst >= 90 && ip.ttl == 1", "[{tcp.dst >= 80 90} {  ip.ttl == 1}]"},
		{"ip4 && (tcp && tcp.dst == 80)", "ip4 && tcp && tcp.dst == {80, 81}", "[{tcp.dst 80 {80, 81}}]"},
		{"ip4.src == 10.0.0.1", "ip4.src == 10.0.0.2", "[{ip4.src 10.0.0.1 10.0.0.2}]"},
		{"ip4 && tcp", "arp", "[]"}, // nothing is left of it
		{"ip4 && tcp", "ip4 &&", "[]"},
		{"", "ip4", "[]"},
	} {
		if got := fmt.Sprint(terms(c.a, c.b)); got != c.want {
			t.Errorf("%s → %s: %s, want %s", c.a, c.b, got, c.want)
		}
	}
}
