package ovs

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

func TestOutputs(t *testing.T) {
	none := func(numbers ...int) []sentTo {
		var sent []sentTo
		for _, n := range numbers {
			sent = append(sent, sentTo{number: n})
		}
		return sent
	}
	tests := []struct {
		actions string
		want    []sentTo
		length  int
	}{
		{"drop", nil, 0},
		{"", nil, 0},
		{"3", none(3), 0},
		{"1,2,push_vlan(vid=10,pcp=0),3", []sentTo{{number: 1}, {number: 2}, {number: 3, vlan: 0x100a}}, 0},
		{"push_vlan(vid=100,pcp=1),7,pop_vlan,8", []sentTo{{number: 7, vlan: 0x3064}, {number: 8}}, 0},
		{"clone(push_vlan(vid=100,pcp=0),7),8", []sentTo{{number: 7, vlan: 0x1064}, {number: 8}}, 0},
		{"set(ipv4(ttl=63)),ct(commit,zone=9,nat(src)),5", none(5), 0},
		{"tnl_push(tnl_port(6081),header(size=58,type=5),out_port(1)),2", none(2), 0},
		{"clone(1,2),recirc(0x3)", none(1, 2), 0},
		{"9,push_vlan(vid=10,pcp=0),hash(l4(0)),recirc(0x1f)", []sentTo{{number: 9}, {number: 31, vlan: 0x100a, choice: "recirc"}}, 0},
		{"lb_output(2),3", []sentTo{{number: 2, choice: "lb_output"}, {number: 3}}, 0},
		{"recirc(0),lb_output(x),hash(l4(0))", nil, 0},
		{"clone(tnl_push(tnl_port(6081),header(size=58,type=5),out_port(1)),2),3", none(3), 0},
		{"clone(set(eth(src=02:00:00:00:00:01)),4),5", none(4, 5), 0},
		{"check_pkt_len(size=1414,gt(userspace(pid=0,controller(reason=1)),7),le(ct_clear,8))", none(8), 0},
		{"check_pkt_len(size=1414,gt(userspace(pid=0,controller(reason=1)),7),le(ct_clear,8))", none(8), 1414},
		{"check_pkt_len(size=1414,gt(userspace(pid=0,controller(reason=1)),7),le(ct_clear,8))", none(7), 1415},
		{"userspace(pid=0,controller(reason=1))", nil, 0},
		{"(1,2", nil, 0},
	}
	for _, test := range tests {
		if got := outputs(test.actions, 0, test.length); !slices.Equal(got, test.want) {
			t.Errorf("%q: %v, want %v", test.actions, got, test.want)
		}
	}
}

func TestDecapsulates(t *testing.T) {
	for actions, want := range map[string]bool{"tnl_pop(8)": true, "push_vlan(vid=1,pcp=0),7,tnl_pop(8)": true, "7": false, "": false} {
		if got := decapsulates(actions); got != want {
			t.Errorf("%q: %v, want %v", actions, got, want)
		}
	}
}

func FuzzDatapath(f *testing.F) {
	f.Add("1,2,push_vlan(vid=10,pcp=0),3")
	f.Fuzz(func(t *testing.T, text string) {
		if n := outputs(text, 0, 0); len(n) > len(text) {
			t.Errorf("%d numbers in %d bytes", len(n), len(text))
		}
	})
}

func TestNatted(t *testing.T) {
	sent := packet.Tuple{Proto: 6, Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.96.0.1"), SrcPort: 1000, DstPort: 80}
	to := netip.MustParseAddr("10.0.0.9")
	with := func(change func(*packet.Tuple)) packet.Tuple { t := sent; change(&t); return t }
	tests := []struct {
		name string
		nat  openflow.NAT
		want packet.Tuple
	}{
		{"no address: only what exists is translated", openflow.NAT{Dst: true}, sent},
		{"destination", openflow.NAT{Dst: true, Min: to}, with(func(t *packet.Tuple) { t.Dst = to })},
		{"destination and port", openflow.NAT{Dst: true, Min: to, MinPort: 8080}, with(func(t *packet.Tuple) { t.Dst, t.DstPort = to, 8080 })},
		{"source, the first of a range", openflow.NAT{Src: true, Min: to, Max: to.Next(), MinPort: 2000, MaxPort: 3000}, with(func(t *packet.Tuple) { t.Src, t.SrcPort = to, 2000 })},
	}
	for _, test := range tests {
		if got := natted(sent, &test.nat); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
