package vitals

import (
	"bytes"
	"slices"
	"testing"

	"github.com/ovnctl/ovnctl/internal/demo"
	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// TestRead reads the numbers of a saved deployment of three nodes.
func TestRead(t *testing.T) {
	saved, ok := demo.Capture(demo.Healthy)
	if !ok {
		t.Fatal("no capture")
	}
	tree, err := archive.Read(t.Context(), demo.Healthy, bytes.NewReader(saved))
	if err != nil {
		t.Fatal(err)
	}
	c, err := cluster.Open(t.Context(), cluster.Config{Offline: demo.Healthy, Saved: tree})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	v := Read(snapshot.Look(t.Context(), c, snapshot.Options{}))
	nodes := []string{"node1", "node2", "node3"}
	if !slices.Equal(v.Nodes, nodes) || len(v.Unread)+len(v.Missing) > 0 || len(v.Databases) != 2 {
		t.Errorf("read %v and %v, not %v", v.Nodes, v.Databases, v.Unread)
	}
	if len(v.Progress) != 1 || v.Progress[0].Northd != 0 || len(v.Progress[0].Chassis) != 3 {
		t.Errorf("progress %+v", v.Progress)
	}
	for i, d := range v.Datapaths {
		if d.Node != nodes[i] || d.Hit == 0 || d.Missed == 0 || d.Flows == 0 || d.Limit == 0 {
			t.Errorf("datapath %+v", d)
		}
	}
	if len(v.Datapaths) != 3 || len(v.Conntrack) == 0 {
		t.Errorf("%d datapaths, conntrack %+v", len(v.Datapaths), v.Conntrack)
	}
}

// TestLags compares members with the longest log of their own cluster.
func TestLags(t *testing.T) {
	v := Vitals{Members: []Member{{Cluster: "a", next: 17}, {Cluster: "b", next: 900}, {Cluster: "a", next: 12}, {Cluster: "b", next: 900}}}
	v.lags()
	for i, want := range []int{0, 0, 5, 0} {
		if v.Members[i].Lag != want {
			t.Errorf("member %d lags by %d, want %d", i, v.Members[i].Lag, want)
		}
	}
}
