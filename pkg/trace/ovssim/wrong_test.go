//go:build lab

package ovssim_test

import (
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/openflow"
)

// spoil makes a small mistake in a flow.
func (g *drawing) spoil(flow string) string {
	i := g.IntN(len(flow))
	switch g.IntN(8) {
	case 0:
		return flow[:i] + flow[i+1:]
	case 1:
		return flow[:i] + flow[i:i+1] + flow[i:]
	case 2:
		return flow[:i] + g.one(",", "=", ":", "(", ")", "->", "[", "]", "/", "x", "-", " ") + flow[i:]
	case 3:
		return strings.Replace(flow, g.one("tcp", "udp", "ip,", "arp,", "actions", "->", "reg", "priority", "table"), g.one("", "foo", "icmp", "0"), 1)
	case 4:
		return strings.Replace(flow, g.one("10.", "0x", "fd00", "00:00"), g.one("300.", "-", "0xfffffffffff", "zz", "10.0.0.0/99"), 1)
	case 5:
		return strings.Replace(flow, "actions=", "actions="+g.one("output:", "bogus,", "load:1->reg99,", "set_field:1->nw_proto,", "resubmit(,300),", "move:reg0[]->eth_dst[],", "load:0x1ffff->NXM_NX_REG0[0..15],", "learn(foo),", "conjunction(1,3/2),2,", "ct(foo),", "note:zz,", "group:x,", "push_vlan:0x1234,"), 1)
	case 6:
		return strings.Replace(flow, "priority=", g.one("priority=70000,x=", "nw_dst=10.0.0.1,priority=", "tp_dst=80,priority=", "tcp_flags=+foo,priority=", "ct_state=+bad,priority=", "reg0=0x1ffffffff,priority=", "in_port=99999,priority=", "dl_vlan=5000,priority=", "metadata=,priority="), 1)
	}
	return flow[:i]
}

// TestWrongFlows counts how many drawn flows with a mistake are accepted or refused as ovs-ofctl does.
func TestWrongFlows(t *testing.T) {
	number := *seed
	if number == 0 {
		number = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", number)
	var refused, accepted, lenient, strict, shown int
	for i := 0; refused+accepted+lenient+strict < 4*bridges(t); i++ {
		b := drawBridge(rand.New(rand.NewPCG(number, uint64(i))), drawnKinds[i%len(drawnKinds)])
		for _, flow := range b.flows {
			flow = b.drawing.spoil(flow)
			if strings.HasPrefix(flow, "-") {
				continue
			}
			out, err := exec.CommandContext(t.Context(), "ovs-ofctl", "parse-flow", flow).CombinedOutput()
			_, own := new(openflow.Reader).FlowEntry(flow)
			switch {
			case err != nil && own != nil:
				refused++
			case err == nil && own == nil:
				accepted++
			case own == nil:
				lenient++
				if shown++; shown <= 60 {
					t.Logf("ovs-ofctl refuses %s: %s", flow, out)
				}
			default:
				strict++
				t.Logf("only we refuse %s: %v", flow, own)
			}
		}
	}
	all := refused + accepted + lenient + strict
	agree := 100 * float64(refused+accepted) / float64(all)
	t.Logf("of %d flows with a mistake, %d are refused and %d accepted by both; %d refused by ovs-ofctl alone, %d by ovnctl alone: %.1f %% agree", all, refused, accepted, lenient, strict, agree)
	if agree < 65 { // most of the rest is names of actions, any of which a newer release may have
		t.Error("too many differences")
	}
}
