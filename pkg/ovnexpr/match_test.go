package ovnexpr

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// equalTrees compares trees without their places in the text.
var equalTrees = cmp.Options{cmpopts.IgnoreTypes(Span{}), cmpopts.EquateEmpty(), cmpopts.EquateComparable(packet.Value{}, netip.Addr{}), cmp.AllowUnexported(Log{}, Sample{})}

// Lines without => print as they were read.
var matches = `
1
0
ip4
!ip4
ip4 && tcp.dst == 80
ip4&&tcp.dst==80 => ip4 && tcp.dst == 80
((ip4))
ip4 || ip6 || arp
(ip4 || ip6) && !(tcp || udp)
eth.type == 0x0800 => eth.type == 0x800
reg0 == 0X8000 => reg0 == 0x8000
reg0 == 0x0
xxreg0 == 0x123456789abcdef0123456789abcdef
80 == tcp.src
1024 <= tcp.src <= 49151
0xff > reg0[0..7] >= 3
reg0[3] => reg0[3]
reg0[3..3] => reg0[3]
vlan.tci[13..15] == 5
ip4.src == {10.0.0.0/8, 192.168.0.0/16}
ip4.src == {10.0.0.0/8 192.168.0.0/16,} => ip4.src == {10.0.0.0/8, 192.168.0.0/16}
ip4.src == {10.0.0.1} => ip4.src == {10.0.0.1}
ip4.src == 10.1.2.3/8
ip4.src == 10.1.2.3/255.0.255.0
ip4.src == 10.1.2.3/0
ip6.src == FE80::/10 => ip6.src == fe80::/10
ip6.dst == fd00:0:0:0:0:0:0:1/128 => ip6.dst == fd00::1/128
ip6.dst == ::/0
ip6.dst == ::ffff:192.0.2.128
eth.dst == 0A:00:00:00:00:01 => eth.dst == 0a:00:00:00:00:01
eth.dst == 01:00:00:00:00:00/01:00:00:00:00:00
tcp.flags == 0/0x7
reg0 == 5/7
inport == "a b\"\\\u0041\n" => inport == "a b\"\\A\n"
inport == "é\ud83d\ude00" => inport == "é😀"
inport == @pg_1 && ip4.src == $as.2
inport == {"a", @b}
ip4.src == {$a, 10.0.0.1}
ip4.dst == ^VIP && tcp.dst == ^PORT
is_chassis_resident("cr-lrp")
!is_chassis_resident("cr-lrp") && ip4
ip4 /* a comment */ && // and one more
tcp
ip4.src!={1.2.3.4,5.6.7.8} => ip4.src != {1.2.3.4, 5.6.7.8}
`

func TestMatchPrints(t *testing.T) {
	for _, c := range cases(strings.ReplaceAll(matches, "more\ntcp\n", "more\v tcp => ip4 && tcp\n")) {
		m, err := ParseMatch(strings.ReplaceAll(c.in, "\v", "\n"))
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if got := m.String(); got != c.out {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.out)
		}
		again, err := ParseMatch(m.String())
		if err != nil {
			t.Errorf("%s, printed: %v", c.in, err)
		} else if diff := cmp.Diff(m.Root, again.Root, equalTrees); diff != "" {
			t.Errorf("%s: the printed text parses to another tree (-first +second)\n%s", c.in, diff)
		}
	}
}

type inOut struct{ in, out string }

// cases splits a table of lines "in => out".
func cases(table string) []inOut {
	var c []inOut
	for line := range strings.Lines(table) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		in, out, ok := strings.Cut(line, " => ")
		if !ok {
			out = in
		}
		c = append(c, inOut{in, out})
	}
	return c
}
