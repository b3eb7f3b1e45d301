package openflow

import (
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// TestExaminedBits has lookups with the bits that tell their results from others, and no more.
func TestExaminedBits(t *testing.T) {
	tests := []struct {
		name, flows, packet string
		examined            map[string]string // by field
	}{
		{"no later layer than needed", "udp,tp_dst=53 actions=drop", "arp", map[string]string{"tcp_dst": "0", "nw_proto": "0"}},
		{"a prefix that nothing covers", "ip,nw_dst=10.0.0.0/24 actions=drop", "ip,nw_dst=192.0.2.1", map[string]string{"ip_dst": "0x80000000"}},
		{"as far as prefixes share", "ip,nw_dst=10.0.0.0/24 actions=drop\nip,nw_dst=10.0.1.0/24 actions=drop", "ip,nw_dst=10.0.2.1", map[string]string{"ip_dst": "0xfffffe00"}},
		{"leading bits of ports", "tcp,tp_dst=80 actions=drop\ntcp,tp_dst=81 actions=drop", "tcp,tcp_dst=8080", map[string]string{"tcp_dst": "0xf000", "nw_proto": "0xff"}},
		{"DSCP without ECN", "ip,nw_tos=4 actions=drop", "ip,nw_tos=4,nw_ecn=3", map[string]string{"nw_tos": "0xfc"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var flows []FlowEntry
			for line := range strings.Lines(tt.flows) {
				e, err := ParseFlowEntry(strings.TrimSpace(line))
				if err != nil {
					t.Fatal(err)
				}
				flows = append(flows, e)
			}
			p, err := packet.Parse(tt.packet)
			if err != nil {
				t.Fatal(err)
			}
			var mask packet.Flow
			NewClassifier(flows).Lookup(0, &p, &mask)
			for name, want := range tt.examined {
				if got := mask.Get(packet.MustField(name)).Hex(); got != want {
					t.Errorf("%s: %s examined, want %s", name, got, want)
				}
			}
		})
	}
}

// TestTrieLookup compares the trie with the prefixes one by one.
func TestTrieLookup(t *testing.T) {
	var tr trie
	prefixes := map[int]uint64{8: 0x0a000000, 16: 0x0a010000, 24: 0x0a010200, 32: 0x0a010203}
	for n, v := range prefixes {
		tr.add(packet.Uint(v).Shl(96), n)
	}
	for _, v := range []uint64{0, 0x0a000001, 0x0a010000, 0x0a010201, 0x0a010203, 0x0a010202, 0xffffffff} {
		c := tr.lookup(packet.Uint(v).Shl(96), 32)
		for n, p := range prefixes {
			if covers := v>>(32-n) == p>>(32-n); c.lengths.Bit(n-1) != covers {
				t.Errorf("0x%x: prefix 0x%x/%d covers it: %v, want %v", v, p, n, !covers, covers)
			}
			if other := v ^ p; other>>(32-n) != 0 && other>>(32-c.bits) == 0 && c.bits < n {
				t.Errorf("0x%x: %d bits do not tell it from 0x%x/%d", v, c.bits, p, n)
			}
		}
	}
}
