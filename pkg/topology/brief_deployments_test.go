package topology_test

import (
	"bytes"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/cluster/clustertest"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// TestBriefOfDeployments holds the tree of what is read in brief against that of all, of what management systems wrote.
func TestBriefOfDeployments(t *testing.T) {
	clustertest.EachDeployment(t, func(t *testing.T, c *cluster.Cluster) {
		c.Gather(t.Context())
		compareBrief(t, c)
	})
}

// compareBrief compares the trees and returns the whole Graph.
func compareBrief(t *testing.T, c *cluster.Cluster) *topology.Graph {
	t.Helper()
	whole, err := topology.Load(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	brief, err := topology.LoadBrief(t.Context(), c, render.FewServices)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(treeOf(t, whole), treeOf(t, brief)); diff != "" {
		t.Errorf("-whole +brief:\n%s", diff)
	}
	return whole
}

func treeOf(t *testing.T, g *topology.Graph) string {
	t.Helper()
	var b bytes.Buffer
	if err := render.Topology(&b, render.Style{}, "tree", &topology.Document{Topology: g.Topology}, render.TopologyView{Notes: g.Notes, Labels: g.Labels()}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
