package trace

import (
	"net/netip"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// TestSourceRule reads rules as nft and iptables-save print them.
func TestSourceRule(t *testing.T) {
	tuple := func(src, dst string) packet.Tuple {
		return packet.Tuple{Proto: 6, Src: netip.MustParseAddr(src), Dst: netip.MustParseAddr(dst)}
	}
	out, inside := tuple("10.16.0.11", "203.0.113.10"), tuple("10.16.0.11", "100.64.0.9")
	out6 := tuple("fd00:10:16::b", "2001:db8::10")
	nft := func(text string) node.NATRule { return node.NATRule{Family: "ip", Action: "masquerade", Text: text} }
	tests := []struct {
		name string
		rule node.NATRule
		t    packet.Tuple
		want bool
	}{
		{"everything", nft("masquerade"), out, true},
		{"source", nft("ip saddr 10.16.0.0/16 masquerade"), out, true},
		{"other source", nft("ip saddr 10.17.0.0/16 masquerade"), out, false},
		{"not to a set", nft(`ip saddr 10.16.0.0/16 ip daddr != { 10.16.0.0/16, 100.64.0.0/16 } oifname "br-ex" masquerade`), out, true},
		{"into the set", nft(`ip saddr 10.16.0.0/16 ip daddr != { 10.16.0.0/16, 100.64.0.0/16 } oifname "br-ex" masquerade`), inside, false},
		{"set of ranges", nft("ip daddr { 1.1.1.1, 203.0.113.1-203.0.113.20 } masquerade"), out, true},
		{"out of the range", nft("ip daddr 203.0.113.11-203.0.113.20 masquerade"), out, false},
		{"a set by its name may hold it", nft("ip saddr @pods masquerade"), out, true},
		{"a negated one may not", nft("ip saddr != @pods masquerade"), out, true},
		{"other link", nft(`oifname "eth1" masquerade`), out, false},
		{"not that link", nft(`oifname != "br-ex" masquerade`), out, false},
		{"links", nft(`oifname { "eth1", "br-ex" } masquerade`), out, true},
		{"wildcard", nft(`oifname "br-*" iifname "ovn*" masquerade`), out, true},
		{"other way in", nft(`iifname "eth0" masquerade`), out, false},
		{"other conditions hold", nft("meta mark 0x4000 ct state new masquerade"), out, true},
		{"family", nft("masquerade"), out6, false},
		{"IPv6", node.NATRule{Family: "ip6", Action: "masquerade", Text: "ip6 saddr fd00:10:16::/112 ip6 daddr != { fd00:10:16::/112, fd00:100:64::/112 } masquerade"}, out6, true},
		{"inet", node.NATRule{Family: "inet", Action: "snat", Text: "ip6 saddr fd00:10:16::/112 snat to fd00::1"}, out6, true},
		{"inet, other family", node.NATRule{Family: "inet", Action: "snat", Text: "ip saddr 10.16.0.0/16 snat to 1.1.1.1"}, out6, false},
		{"destination", node.NATRule{Family: "ip", Action: "dnat", Text: "dnat to 10.0.0.1"}, out, false},
		{"iptables", nft("-A POSTROUTING -s 10.16.0.0/16 -o br-ex -j MASQUERADE"), out, true},
		{"iptables, other", nft("-A POSTROUTING -s 10.16.0.0/16 -o eth1 -j MASQUERADE"), out, false},
		{"iptables, not there", nft("-A POSTROUTING -s 10.16.0.0/16 ! -d 100.64.0.0/16 -j MASQUERADE"), inside, false},
		{"iptables, elsewhere", nft("-A POSTROUTING -s 10.16.0.0/16 ! -d 100.64.0.0/16 -j MASQUERADE"), out, true},
		{"iptables, wildcard", nft("-A POSTROUTING -o br+ -j MASQUERADE"), out, true},
		{"cut off", nft("ip saddr"), out, true},
		{"open set", nft("ip daddr { 203.0.113.10,"), out, true},
		{"nothing", nft(""), out, true},
	}
	for _, test := range tests {
		if got := sourceRule(test.rule, test.t, "ovn0", "br-ex"); got != test.want {
			t.Errorf("%s: %s: %v, want %v", test.name, test.rule.Text, got, test.want)
		}
	}
}

func TestTarget(t *testing.T) {
	tests := map[string]string{
		"oifname \"br-ex\" masquerade":                               "invalid IP",
		"ip saddr 10.0.0.0/8 snat to 192.0.2.1":                      "192.0.2.1",
		"snat ip to 192.0.2.1-192.0.2.9":                             "192.0.2.1",
		"ip6 saddr fd00::/8 snat to [2001:db8::1]:1024-2048":         "2001:db8::1",
		"-A POSTROUTING -s 10.0.0.0/8 -j SNAT --to-source 192.0.2.1": "192.0.2.1",
		"-A POSTROUTING -j SNAT --to-source 192.0.2.1:1024-2048":     "192.0.2.1",
		"snat to ip saddr map { 10.0.0.1 : 192.0.2.1 }":              "invalid IP",
		"snat to": "invalid IP",
	}
	for text, want := range tests {
		if got := target(node.NATRule{Action: "snat", Text: text}).String(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
