package ovnexpr

import (
	"fmt"
	"strings"
	"testing"
)

func TestInport(t *testing.T) {
	for text, want := range map[string]string{
		`inport == "a"`: "a",
		`ip4 && (inport == "a" || inport == "a")`:    "a",
		`!(ip4.src != 10.0.0.1 || !(inport == "a"))`: "a",
		`inport == {"a", "b"}`:                       "!flow match expression matches on multiple inports",
		`ip4`:                                        "!flow match expression does not match on inport",
		`outport == "a"`:                             "!flow match expression does not match on inport",
		`inport == @pg`:                              "!flow match expression matches on multiple inports",
		`inport == @none`:                            "!flow match expression does not match on inport",
	} {
		m, err := ParseMicroflow(text, SymbolsOf(Profile{}), groups{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got, err := m.Inport()
		if err != nil {
			got = "!" + err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// What OVN multiplies out for minutes, until memory ends, is called ambiguous before.
func TestLargeMicroflows(t *testing.T) {
	many := make([]string, 30)
	for i := range many {
		many[i] = fmt.Sprintf("(reg%d == 1 || ip4.src == 10.0.0.%d)", i%10, i)
	}
	set := make([]string, 3000)
	for i := range set {
		set[i] = fmt.Sprintf("10.%d.%d.0/24", i/256, i%256)
	}
	networks := "{" + strings.Join(set, ", ") + "}"
	for _, text := range []string{
		"ip6.mcast_flood == 0",
		"ip6.src != {fd00::1, fd00::2, fd00::3, fd00::4}",
		strings.Join(many, " && "),
		"xxreg0 != 5 && xxreg1 != 5 && !(ip6.src == fd00::1 && ip6.dst == fd00::2) && (xxreg0 != 6 || xxreg1 != 7)",
		"ip4.src == " + networks + " && ip4.dst == " + networks,
	} {
		m, err := ParseMicroflow(text, SymbolsOf(Profile{}), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Flow(func(string) (uint64, bool) { return 0, false })
		if err == nil || !strings.HasPrefix(err.Error(), "Constraints are ambiguous: ") {
			t.Errorf("%.100s: %v", text, err)
		}
	}
}

// microflows are what ovn-trace is asked about besides what is drawn: what it takes, and what it finds ambiguous or
// contradictory.
var microflows = []string{
	"1", "0", "ip4", "ip", "ip4 && ip6", "ip4 && ip4", "ip4 || ip4", "(ip4 && tcp) || (ip4 && tcp)", "ip4 && (ip4 || ip6)",
	"tcp.dst == 80", "ip4 && tcp.dst == 80", "ip6 && udp.src == 53 && ip6.src == fd00::1 && ip6.dst == fd00::2",
	"ip4.src == 10.0.0.1 && icmp", "icmp4.type == 8 && icmp4.code == 0", "icmp6.type == 135", "nd", "nd_ns", "nd_ra && ip6.dst == ff02::1",
	"nd_ns && nd.target == fd00::1 && nd.sll == 0a:00:00:00:00:01", "nd_na && nd.tll == 0a:00:00:00:00:01",
	"arp.op == 1 && arp.spa == 10.0.0.1 && arp.tpa == 10.0.0.2 && arp.sha == 0a:00:00:00:00:01", "arp && ip4", "mldv1", "mldv2",
	"ip4 && tcp.src > 79 && tcp.src < 82", "ip4 && 80 <= tcp.src <= 81", "ip4 && tcp.src[1..15] == 0x28", "ip4 && tcp.src == {80, 81}",
	"ip4 && tcp.src == {80, 80}", "ip4 && tcp.src >= 0", "ip4 && tcp.src <= 65535", "ip4 && tcp.src > 65534", "ip4 && tcp.src != 0",
	"ip4 && tcp.src > 65535", "ip4 && tcp.src < 1", "ip4 && tcp.src <= 0", "ip4.src != 0.0.0.0/0", "ip4.src == 0.0.0.0/0", "ip4.src == 10.0.0.0/8",
	"ip4.src == {10.0.0.0/8, 1.2.3.4/255.0.255.0}", "ip4.src == {10.0.0.1, 10.0.0.2} && ip4.src == {10.0.0.2, 10.0.0.3}",
	"ip4.src == {10.0.0.1, 10.0.0.2, 10.0.0.4} && ip4.src == {10.0.0.2, 10.0.0.3, 10.0.0.4} && ip4.src[0..7] == 4",
	"tcp.dst[0..7] == 5 && (tcp.dst[0..3] == 5 || tcp.dst[4..7] == 0) && ip4", "(reg0 == 1 || reg1 == 2) && reg0 == 1 && reg1 == 3",
	"reg0 == 1 || reg1 == 1", "reg0[3] && !reg0[4] && reg0[5..8] == 9", "xxreg0 != 4", "xxreg0 < 0x1000000000000000000000", "xreg0 == 7 && reg1 == 7",
	"xreg0 == 7 && reg0 == 7", "flags.loopback", "flags.loopback && flags == {1, 2}", "ct.new", "ct.new && !ct.trk", "!ct.new", "ct.est && !ct.rpl && ct_mark.natted",
	"ct_label.label == {5, 6} && ct_mark.natted", "ct_label.label == 5", "vlan.vid == 5", "vlan.vid == 5 && vlan.pcp == 3", "!vlan.present", "vlan.vid != 5",
	"eth.bcast", "eth.mcast", "eth.bcast || eth.mcast", "eth.bcast && eth.mcast", "!eth.bcast && eth.dst == ff:ff:ff:ff:ff:ff", "ip4.mcast", "ip6.mcast", "ip6.mcast_flood",
	"ip4.mcast || !ip4.mcast || ip.first_frag", "ip.is_frag && ip4", "ip4 && ip.first_frag", "ip4 && ip.is_frag && ip.later_frag && ip.dscp == 3 && ip.ecn == 1 && ip.ttl == 64",
	"!ip.is_frag", "eth.type == 0x1234", "ip.proto == {1, 2} && ip4", "ip.proto == 6 && udp", "tcp.flags == 0/0x7 && ip4", "tcp.flags == {0/0x7, 1/1}", "sctp.dst == 5 && ip6",
	"eth.src == {00:00:00:00:00:01/01:00:00:00:00:01, 00:00:00:00:00:02}", "outport == \"node2\"", "outport == {\"a\", \"b\"}", "outport == \"a\" && outport == {\"a\", \"b\"}",
	"outport == \"a\" && outport == \"b\"", "outport == {\"a\", \"b\"} && outport == {\"b\", \"c\"} && outport == {\"a\", \"b\", \"c\"}", "outport == {\"a\", \"a\"}", "outport == \"no such port\"",
	"is_chassis_resident(\"x\")", "!is_chassis_resident(\"x\")", "ip4 || is_chassis_resident(\"x\")", "ip.ttl == {1, 2} || !ip.is_frag || !is_chassis_resident(\"x\")",
	"tcp.dst == {1, 2} && tcp.src == {3, 4} && !(ip4.src == 1.2.3.4)", "tcp.dst == 0x50/0xf1 || tcp.dst[5..8] == 2 || tcp.dst == 0x35", "pkt.mark == 5", "igmp", "rarp.op == 3",
	"!(ip4.src == 10.0.0.1)", "!(reg0 == 1 && reg1 == 2)", "!(reg0 != 1 || reg1 != 2)", "5 < reg0 <= 6", "!(5 < reg0 <= 9)", "reg0[0..3] > 14", "reg0 == {}", "ip4 ip6", "foo",
	"inport == \"node1\"", "inport == \"a\" || ip4", "inport == @pg",
}
