package flowtable

import (
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// The kernel's datapath counts masks itself; the lab has the userspace one.
func TestStatsOfTheKernel(t *testing.T) {
	const show = `system@ovs-system:
  lookups: hit:8000 missed:4000 lost:7
  flows: 190
  masks: hit:900000 total:12 hit/pkt:75.00
  cache: hit:1 hit-rate:0.01%
  port 0: ovs-system (internal)
`
	s := Stats(show, "system@ovs-system:\n  flows         : (current 190) (avg 9) (max 200) (limit 200)\n", "", 3)
	if s.Datapath != "system@ovs-system" || s.Flows != 190 || s.Masks != 12 || s.Hits != 8000 || s.Missed != 4000 || s.Lost != 7 ||
		s.FlowLimit == nil || *s.FlowLimit != 200 || s.PerPacket == nil || *s.PerPacket != 75 {
		t.Errorf("%+v", s)
	}
	trouble := strings.Join(s.Trouble(), "\n")
	for _, word := range []string{"cache is full", "7 packets were lost", "thrashes", "75 masks"} {
		if !strings.Contains(trouble, word) {
			t.Errorf("no %q in %q", word, trouble)
		}
	}
	if calm := Stats("", "", "", 0).Trouble(); len(calm) != 0 {
		t.Errorf("nothing is known, and yet %q", calm)
	}
}

// Of a megaflow only what is looked at is shown.
func TestMatched(t *testing.T) {
	const dump = "ufid:1, skb_priority(0/0),ct_state(0x21/0x3f),ct_mark(0/0),recirc_id(0x4),in_port(2),packet_type(ns=0,id=0),eth(src=0a:00:00:00:00:01/00:00:00:00:00:00,dst=0a:00:00:00:00:02),eth_type(0x0800),ipv4(src=10.0.0.1/0.0.0.0,dst=10.0.0.2/255.0.0.0,proto=6,frag=no),tcp(src=1/0,dst=80/0), packets:3, bytes:9, used:0.1s, actions:drop\n"
	n := decode.NewNamer(&decode.Decoder{Names: decode.NewNames(nil, decode.Vswitch{}, nil, release.Version{})}, decode.NodeNumbers{})
	flows, masks := ParseMegaflows(t.Context(), strings.Repeat(dump, 2), n)
	const want = "ct_state(0x21/0x3f),recirc_id(0x4),in_port(2),eth(dst=0a:00:00:00:00:02),eth_type(0x0800),ipv4(dst=10.0.0.2/255.0.0.0,proto=6,frag=no)"
	if len(flows) != 2 || masks != 1 || flows[0].Match.Text != want || flows[0].Actions.Text != "drop" {
		t.Errorf("%d flows of %d masks, %+v", len(flows), masks, flows[0])
	}
}
