//go:build lab

package desired

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// matches are what the topologies hardly have: conjunctions, ranges, negations, sets that are empty.
var matches = []string{
	"ip4.src == {10.244.1.1, 10.244.1.2, 10.244.1.3} && tcp.dst == {80, 443, 8080}",
	"ip4.src == $wide && ip4.dst == $wide && tcp.dst == {80, 443}",
	"ip4.src == $wide && (tcp.dst == 80 || udp.dst == 53)",
	"ip4.src == $none || ip6.src == $none",
	"ip4.src != $none && tcp",
	"inport == @some && ip4.src == $wide && tcp.dst == {1, 2}",
	"outport == @some && ip4.dst == $wide",
	"inport == @some || outport == @some",
	"tcp.dst >= 1024 && tcp.dst <= 2047", "1000 < udp.dst < 3000", "tcp.src > 60000 && tcp.dst < 100",
	"!(ip4.src == 10.0.0.0/8 && tcp.dst == 80)", "tcp.dst != {80, 443}", "tcp.dst != 80 && ip4.src == {10.0.0.1, 10.0.0.2}",
	"ip4.src == {10.0.0.0/8, 10.1.0.0/16} && tcp", "(ip4.src == 10.0.0.1 || tcp.dst == 80) && (ip4.dst == 10.0.0.2 || tcp.src == 90)",
	"(ip4 && tcp.dst == {1, 2}) || (ip6 && udp.dst == {1, 2} && ip6.src == {fd00::1, fd00::2})",
	"ip.proto == {6, 17} && ip4.src == {1.1.1.1, 2.2.2.2} && ip4.dst == {3.3.3.3, 4.4.4.4}",
	"icmp4.type == {0, 8} && ip4.src == $wide", "icmp6.type == {135, 136} || icmp4.type == 3",
	"outport == @some && (arp || nd)", "inport == @some && icmp6.type == {128, 129} && icmp6.code == {0, 1}", "outport == @some && icmp4.type == {0, 8} && icmp4.code == {0, 1}",
	"eth.src == {02:00:00:00:00:01, 02:00:00:00:00:02} && arp.op == {1, 2}", "vlan.present && vlan.vid == 5", "vlan.vid == {5, 6} && vlan.pcp == 3",
	"ip.dscp == 10 && ip.ttl == {1, 2} && ip4.src == {1.1.1.1, 2.2.2.2}", "ct.est && !ct.rpl && ct_mark.blocked == 0 && ip4.src == {1.1.1.1, 2.2.2.2}",
	"ct_label[0..31] == 5 || ct_mark == 7", "reg0[1..3] == {1, 2} && ip4.src == {1.1.1.1, 2.2.2.2}", "ip.frag == 1 || ip.is_frag", "tcp.flags == 2/0x12",
	"ip6.src == $wide6 && ip6.dst == $wide6 && tcp.dst == {80, 81} && tcp.src == {1, 2}", "0 && tcp", "1 || tcp", "ip4.src == 1.2.3.4 && ip4.src == 4.3.2.1",
	"is_chassis_resident(\"shop_client\") && ip4.src == {1.1.1.1, 2.2.2.2}", "!is_chassis_resident(\"shop_client\") && tcp",
	"eth.type == {0x800, 0x86dd, 0x806} && eth.dst[40] == 1", "sctp.dst == {1, 2} && sctp.src == {3, 4}", "nd.target == {fe80::1, fe80::2} && nd_ns",
	"(ip4.src == {1.1.1.1, 2.2.2.2} || ip4.dst == 3.3.3.3) && tcp.dst == {80, 81}",
}

// random makes a match of a small grammar.
func random(r *rand.Rand, depth int) string {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	if depth == 0 || r.IntN(4) == 0 {
		return pick(
			fmt.Sprintf("ip4.src == {10.0.0.%d, 10.0.1.%d/31}", r.IntN(9), 2*r.IntN(9)), fmt.Sprintf("ip4.dst == 10.%d.0.0/16", r.IntN(4)), "ip4.src == $wide", "ip6.dst == $wide6",
			fmt.Sprintf("tcp.dst == {%d, %d}", r.IntN(9), r.IntN(9)), fmt.Sprintf("udp.dst != %d", r.IntN(4)), fmt.Sprintf("tcp.src >= %d", r.IntN(65536)), fmt.Sprintf("tcp.dst < %d", r.IntN(2000)),
			"tcp", "ip", "!tcp", "icmp4", fmt.Sprintf("icmp6.type == {%d, %d}", r.IntN(140), r.IntN(140)), "ct.est", "!ct.new", "inport == @some", "outport == @some",
			fmt.Sprintf("ip.ttl == {%d, %d}", r.IntN(3), r.IntN(3)), fmt.Sprintf("ip.dscp == %d", r.IntN(64)), "eth.mcast", fmt.Sprintf("reg0[4..7] == %d", r.IntN(16)), fmt.Sprintf("ct_mark[2..5] != %d", r.IntN(16)),
		)
	}
	op := pick(" && ", " && ", " || ")
	var parts []string
	for range 2 + r.IntN(2) {
		parts = append(parts, random(r, depth-1))
	}
	return pick("", "", "", "!") + "(" + strings.Join(parts, op) + ")"
}

// Matches that people write, as ACLs: every one becomes what ovn-controller makes of it.
func TestLabMatches(t *testing.T) {
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	matchesAgree(t, l)
}

func matchesAgree(t *testing.T, l *lab.Lab) {
	all := append([]string(nil), matches...)
	r := rand.New(rand.NewPCG(7, 11))
	for range 100 {
		all = append(all, random(r, 1))
	}
	nbctl := func(args ...string) {
		t.Helper()
		if out, err := l.Command(t.Context(), "central", append([]string{"ovn-nbctl", "--timeout=60", "--db=" + l.NB()}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("ovn-nbctl %s: %v: %s", strings.Join(args, " "), err, out)
		}
	}
	nbctl("create", "Address_Set", "name=wide", `addresses="10.244.1.0/24","10.244.2.7","10.244.2.8","172.16.0.0/12"`)
	nbctl("create", "Address_Set", "name=wide6", `addresses="fd00::/64","fd01::1"`)
	nbctl("create", "Address_Set", "name=none")
	nbctl("pg-add", "some", "shop_client", "shop_web-1", "shop_web-2", "bank_vault-1")
	args := []string{}
	for i, match := range all {
		args = append(args, "--", "--may-exist", "acl-add", "some", []string{"from-lport", "to-lport"}[i%2], fmt.Sprint(2000+i), match, "allow")
	}
	nbctl(append([]string{"--wait=hv"}, args[1:]...)...)
	agrees(t, l)
}
