//go:build releases

package microflow_test

import (
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// TestReleasesDistributed compares what becomes of packets to a distributed load balancer, which OVN has since 26.03:
// ovn-trace is on no chassis and takes any backend.
func TestReleasesDistributed(t *testing.T) {
	l := labtest.Own(t, lab.Features(), lab.Options{Release: "sid"})
	c := newComparison(t, l, 1)
	to := map[string]string{
		"4": "eth.type == 0x800 && ip4.src == 10.2.8.10 && ip4.dst == 10.10.0.60",
		"6": "eth.type == 0x86dd && ip6.src == fd00:10:2:8::a && ip6.dst == fd00:10:10::60",
	}
	asked := 0
	for _, family := range []string{"4", "6"} {
		for _, options := range [][]string{
			{"--ct=new"}, {"--ct=new", "--ct=est"}, {"--ct=new", "--all"}, {"--ct=est"},
			{"--ct=new", "--lb-dst=10.2.8.11:8080"}, {"--ct=new", "--lb-dst=[fd00:10:2:8::b]:8080", "--summary"},
		} {
			m := generated{options: options, conditions: append([]string{
				`inport == "in-a"`, "eth.src == 00:00:00:02:08:0a", "eth.dst == 00:00:00:02:08:01",
			}, append(strings.Split(to[family], " && "), "ip.proto == 6", "tcp.dst == 80", "ip.ttl == 64")...)}
			if options[0] == "--ct=new" && len(options) == 1 {
				out, _, err := c.ask(t.Context(), m)
				if err != nil || !strings.Contains(out, `ct_lb_mark_local(backends="in-a":`) {
					t.Fatalf("the packet does not meet the load balancer: %v\n%s", err, out)
				}
			}
			c.compare(t, m)
			asked++
		}
	}
	t.Logf("%s: %d of %d equal", l.Release, c.equal, asked)
	if c.equal != asked {
		t.Errorf("%d of %d are answered as by ovn-trace", c.equal, asked)
	}
}
