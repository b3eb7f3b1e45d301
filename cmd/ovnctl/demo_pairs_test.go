//go:build lab

package main

import (
	"bytes"
	"testing"

	"github.com/ovnctl/ovnctl/internal/demo"
	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace"
)

// TestDemoPairs traces every pair of the demo: what it lacks must not be in the way of any. What the healthy one lacks, the
// broken one lacks, too.
func TestDemoPairs(t *testing.T) {
	saved, _ := demo.Capture(demo.Broken)
	tree, err := archive.Read(t.Context(), demo.Broken, bytes.NewReader(saved))
	if err != nil {
		t.Fatal(err)
	}
	c, err := cluster.Open(t.Context(), cluster.Config{Saved: tree})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	g, err := topology.Load(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	outcomes := map[journey.Outcome]int{}
	ask := func(from, to, protocol string, port int) {
		answer, notes, err := trace.Run(t.Context(), c, g, trace.Query{From: from, To: to, Protocol: protocol, Port: port, SourcePort: 40000})
		if err != nil {
			t.Fatalf("%s → %s: %v", from, to, err)
		}
		outcomes[answer.Verdict.Outcome]++
		if answer.Verdict.Outcome == journey.Unknown {
			t.Errorf("%s → %s: %s %q", from, to, answer.Verdict.Cause, notes)
		}
	}
	pods := g.Names(topology.KindPod)
	for _, from := range pods {
		ask(from, "203.0.113.10", "icmp", 0)
		for _, to := range pods {
			if from != to {
				ask(from, to, "tcp", 8080)
			}
		}
	}
	t.Logf("%d pods: %v", len(pods), outcomes)
	if outcomes[journey.Delivered] == 0 || outcomes[journey.Dropped] == 0 {
		t.Errorf("outcomes %v: was anything traced?", outcomes)
	}
}
