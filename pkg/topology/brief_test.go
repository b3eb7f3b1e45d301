//go:build lab

package topology_test

import (
	"path/filepath"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// TestBrief holds the tree of what is read in brief against that of all.
func TestBrief(t *testing.T) {
	for name, wanted := range lab.Topologies() {
		if !wanted.OVN {
			continue
		}
		t.Run(name, func(t *testing.T) {
			l := labtest.Shared(t, wanted)
			c, err := cluster.Open(t.Context(), cluster.Config{
				NB: l.NB(), SB: l.SB(), Way: node.Prefix(filepath.Join(l.Dir, "enter") + " {hostname}"), Timeout: 20 * time.Second,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.Gather(t.Context())
			whole := compareBrief(t, c)
			one, err := topology.LoadBrief(t.Context(), c, 1)
			if err != nil {
				t.Fatal(err)
			}
			first := ""
			for i, lb := range whole.LoadBalancers {
				called := lb.Service
				if called == "" {
					called = lb.Name
				}
				if i == 0 {
					first = called
				}
				read := one.LoadBalancers[i]
				if diff := gocmp.Diff(lb.VIPs, read.VIPs); read.Name != lb.Name || diff != "" && (called == first || len(read.VIPs) > 0) {
					t.Errorf("%s, of which the first alone must be read: %s", lb.Name, diff)
				}
			}
		})
	}
}
