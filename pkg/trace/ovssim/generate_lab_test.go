//go:build lab

package ovssim_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/trace/ovssim"
)

// TestLearning has ovs-vswitchd and its simulation learn flows and MAC addresses from drawn packets, by ofproto/trace -generate, and
// compares what both do with the packets that follow. OVNCTL_BRIDGES says how many bridges.
func TestLearning(t *testing.T) { compareLearning(t, "") }

func compareLearning(t *testing.T, release string) {
	c := newBridgeComparison(t, release)
	var packets, same, learned, met int
	for i := range bridges(t) {
		b := drawBridge(rand.New(rand.NewPCG(c.number, uint64(i))), []string{"learn", "normal"}[i%2])
		if b.kind == "learn" { // so that what is learned is met
			for _, f := range []string{"tcp", "udp,in_port=1", "ip"} {
				b.flows = append(b.flows, fmt.Sprintf("cookie=0x%x,table=0,priority=%d,%s,actions=learn(table=9,%s),ct(table=9)", 100+len(b.flows), 60100+len(b.flows), f,
					b.drawing.one("idle_timeout=60,NXM_OF_ETH_DST[]=NXM_OF_ETH_SRC[],output:NXM_OF_IN_PORT[]", "priority=9,eth_type=0x800,nw_proto=6,NXM_OF_IP_SRC[],load:NXM_OF_IN_PORT[]->NXM_NX_REG0[0..15],load:5->NXM_NX_REG1[],cookie=0x99",
						"eth_type=0x800,NXM_OF_IP_DST[]=NXM_OF_IP_DST[],NXM_OF_ETH_SRC[0..31],output:NXM_NX_REG0[],hard_timeout=60,cookie=7,limit=2", "reg0[0..3]=2,in_port=1,load:0x123->NXM_OF_ETH_DST[0..15],fin_hard_timeout=5")))
			}
			b.flows = append(b.flows, "cookie=0x99,table=9,priority=0,actions=NORMAL")
		}
		if _, ok := c.load(b); !ok {
			c.revive()
			continue
		}
		if _, err := c.host.Control(t.Context(), "ovs-vswitchd", "fdb/flush", "br-draw"); err != nil {
			t.Fatal(err)
		}
		source, errs := c.read()
		if source == nil {
			t.Fatal(errs)
		}
		sw := ovssim.NewSwitch(*source)
		for range 8 {
			text, next := b.drawing.packet()
			p, err := drawnFlow(text)
			if err != nil {
				continue
			}
			args, o := []string{"br-draw", text}, ovssim.Options{Generate: true}
			for _, state := range next {
				n, err := packet.ParseCTState(state)
				if err != nil {
					t.Fatal(err)
				}
				args, o.Next = append(args, "--ct-next", state), append(o.Next, n)
			}
			reply, err := c.host.Control(t.Context(), "ovs-vswitchd", "ofproto/trace", append(args, "-generate")...)
			if _, refused := errors.AsType[*node.ControlError](err); refused {
				continue
			}
			if err != nil {
				c.revive()
				break
			}
			want, err := openflow.ParseTrace(reply)
			if err != nil {
				t.Fatal(err)
			}
			got, err := sw.Trace("br-draw", p, o)
			if err != nil {
				t.Fatal(err)
			}
			packets++
			learned += strings.Count(reply, " table=")
			met += strings.Count(reply, "forwarding to learned port") + strings.Count(reply, "cookie 0x99")
			if d := difference(t, got, want); d.kind == "" {
				same++
			} else {
				c.show(b.kind+" "+d.kind+": "+d.reason, len(reply), fmt.Sprintf("%s\n%s\n%s %q\n%s\nours:\n%s", d.text, strings.Join(b.flows, "\n"), text, next, reply, got))
				break // what was learned may differ
			}
			if x, y := details(reply), details(got.String()); x != y {
				c.show("details", len(reply), fmt.Sprintf("%s\nours\n%s\n%s", x, y, reply))
			}
		}
	}
	for kind, s := range c.shown {
		if !strings.Contains(kind, "refuses") {
			t.Logf("%d times: %s\n%s", s.count, kind, s.text)
		}
	}
	t.Logf("%d of %d packets, of which %d flows were learned and %d lookups met what was learned, are the same", same, packets, learned, met)
	if packets == 0 || learned == 0 || met == 0 || float64(same) < 0.97*float64(packets) {
		t.Error("too many differences")
	}
}

// details are the lines of a trace that say what was learned.
func details(text string) string {
	var list []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, "-> table=") {
			list = append(list, strings.TrimSpace(line))
		}
	}
	return strings.Join(list, "\n")
}
