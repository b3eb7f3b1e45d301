//go:build lab

package main

import (
	"strconv"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/journey"
)

// TestTraceGatewayGroup traces through a gateway port that two chassis may hold: the others send to whichever
// is alive by a bundle action, and the reply of the switch does not name the port that it chose.
func TestTraceGatewayGroup(t *testing.T) {
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	n := &onNode{lab: l, node: "node1"}
	node3, _ := l.Topology.Node("node3")
	for _, priority := range []int{0, 5} { // node2 has 1
		nbctl := []string{"ovn-nbctl", "--timeout=30", "--db=" + l.NB(), "--wait=hv", "lrp-set-gateway-chassis", "rtos-node2", node3.SystemID, strconv.Itoa(priority)}
		if _, err := l.Run(t.Context(), "central", nbctl...); err != nil {
			t.Fatal(err)
		}
		// The chassis watch each other, and the one that is to hold the port may take it seconds later: what packets do
		// counts once it has stayed the same.
		var truth lab.Truth
		for since := time.Now(); time.Since(since) < 5*time.Second; {
			now, err := l.Probe(t.Context(), "shop_client", "shop_web-2", "tcp", 8080)
			if err != nil {
				t.Fatal(err)
			}
			if now.RoundTrip != truth.RoundTrip {
				since = time.Now()
			}
			truth = now
		}
		want, code := outcomeOf(truth), exitFound
		if want == journey.Delivered {
			code = exitOK
		}
		t.Logf("priority %d of node3: packets say %s", priority, want)
		answer := n.ovnctl(t, "trace", "shop/client", "shop/web-2", "--tcp", "8080", "-o", "json", "--nb", l.NB(), "--node-exec", l.Dir+"/enter {hostname}")
		answer.wants(t, "priority "+strconv.Itoa(priority)+" of node3", code, want, false)
	}
}

// TestTraceTunnelledReply traces to the network outside and back through another node's gateway without conntrack on the way: the reply
// goes in one pass from the uplink's bridge through OVN into a tunnel, whose outer packet comes by that bridge again.
func TestTraceTunnelledReply(t *testing.T) {
	l := labtest.Shared(t, lab.OpenStack())
	n := &onNode{lab: l, node: "node1"}
	for _, pod := range l.Topology.Pods {
		truth, err := l.Probe(t.Context(), pod.Name, lab.Internet6.String(), "icmp", 0)
		if err != nil {
			t.Fatal(err)
		}
		want, code := outcomeOf(truth), exitFound
		if want == journey.Delivered {
			code = exitOK
		}
		answer := n.ovnctl(t, "trace", pod.Name, lab.Internet6.String(), "-o", "json", "--nb", l.NB(), "--node-exec", l.Dir+"/enter {hostname}")
		answer.wants(t, pod.Name+" on "+pod.Node, code, want, false)
	}
}
