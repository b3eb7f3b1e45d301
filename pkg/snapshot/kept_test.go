package snapshot_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// TestKept reads a real Northbound again only where it has changed.
func TestKept(t *testing.T) {
	t.Parallel()
	server := ovsdbtest.Start(t, ovsdbtest.Northbound)
	server.Transact(`{"op":"insert","table":"Logical_Switch","row":{"name":"first"}}`, `{"op":"insert","table":"Load_Balancer","row":{"name":"lb"}}`)
	c, err := cluster.Open(t.Context(), cluster.Config{NB: server.Remote(), HostRoot: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	var touched ovsdb.Touched
	told := make(chan struct{}, 10)
	ended := make(chan error, 1)
	go func() {
		ended <- touched.Follow(t.Context(), server.Dial(), func([]string) { told <- struct{}{} }, snapshot.Structs("OVN_Northbound")...)
	}()
	kept := snapshot.NewKept(func(_ snapshot.Database, at time.Time, tables []string) bool { return touched.Same(at, tables...) })
	look := func(what string, want ...string) *snapshot.Northbound {
		t.Helper()
		d := snapshot.Look(t.Context(), c, snapshot.Options{Kept: kept, Timed: true})
		north, err := d.Zones[0].Northbound()
		if err != nil {
			t.Fatal(err)
		}
		if balancers, err := d.Zones[0].Balancers(); err != nil || len(balancers.LoadBalancers) != 1 {
			t.Errorf("%s: load balancers: %v", what, err)
		}
		var read []string
		for _, r := range d.Reads() {
			if name, ok := strings.CutPrefix(r.What, "rows of "); ok {
				read = append(read, name)
			}
		}
		if slices.Sort(read); !slices.Equal(read, want) {
			t.Errorf("%s: read %q, want %q", what, read, want)
		}
		return north
	}
	for limit := time.Now().Add(20 * time.Second); !touched.Same(time.Now()); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("not followed")
		}
	}
	first := look("at first", "Balancers", "Northbound")
	if look("after no change") != first {
		t.Error("the rows have changed")
	}
	server.Transact(`{"op":"insert","table":"Logical_Switch","row":{"name":"second"}}`)
	select {
	case <-told:
	case err := <-ended:
		t.Fatal(err)
	case <-time.After(20 * time.Second):
		t.Fatal("not told of the change")
	}
	if north := look("after a change", "Northbound"); len(north.Switches) != 2 {
		t.Errorf("%d switches, want 2", len(north.Switches))
	}
}
