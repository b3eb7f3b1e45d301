package reach

import (
	"fmt"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/cluster/clustertest"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace"
	"github.com/ovnctl/ovnctl/pkg/trace/ovn"
)

// TestClassesOfDeployments has the classes find for every pair of what real deployments hold what is found one by one.
func TestClassesOfDeployments(t *testing.T) {
	clustertest.EachDeployment(t, func(t *testing.T, c *cluster.Cluster) { compareClasses(t, c, nil) })
}

// compareClasses asks all pairs with classes and without, and returns how many were followed with them, and how many there are.
func compareClasses(t *testing.T, c *cluster.Cluster, to []string) (followed, pairs int) {
	t.Helper()
	g, err := topology.Load(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []Question{{Protocol: "tcp", Port: 8080, SourcePort: 40000}, {Protocol: "udp", Port: 53, SourcePort: 40000, Family: 6}, {Protocol: "icmp", Family: 4}, {Protocol: "tcp", Port: 80, SourcePort: 40000}} {
		plan, err := Between(g, nil, to, q, 0)
		if err != nil {
			t.Fatal(err)
		}
		w, err := trace.NewWalker(t.Context(), c, g, ovn.Options{})
		if err != nil {
			t.Fatal(err)
		}
		classes, err := classify(t.Context(), c, g, w, plan, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		walker := &walker{Walker: w, classes: classes, causes: map[deciding]Cause{}}
		each := run(t, plan, walker.walk, nil)
		fewer := run(t, plan, walker.walk, classes)
		t.Logf("%v: %d of %d pairs followed: %+v", q, fewer.Followed, each.Followed, each.Summary)
		followed, pairs = followed+fewer.Followed, pairs+each.Followed
		for k := range each.cells {
			if a, b := said(each, k), said(fewer, k); a != b {
				p, _ := each.pair(k, each.cells[k])
				t.Errorf("%s to %s, %v:\nfollowed: %s\nby class: %s", p.From, p.To, q, a, b)
			}
		}
	}
	return followed, pairs
}

func run(t *testing.T, p *Plan, walk Walk, classes *Classes) *Result {
	t.Helper()
	r, err := p.Run(t.Context(), walk, Options{Classes: classes})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func said(r *Result, k int) string {
	c := r.cause(r.cells[k])
	if c == nil {
		return fmt.Sprint(r.cells[k])
	}
	return fmt.Sprint(c.key())
}
