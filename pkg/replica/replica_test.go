package replica_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/replica"
)

// A follower is a replica that checks what it is told: a change starts from the row as last known.
type follower struct {
	t      *testing.T
	client *ovsdb.Client

	mu     sync.Mutex
	rows   map[ovsdb.UUID]ovsdb.Row
	states []replica.State
	all    []replica.Change // after the initial rows
}

var watched = []ovsdb.Row{nb.LogicalSwitch{}, nb.LogicalSwitchPort{}, nb.LoadBalancer{}}

// follow starts to follow the Northbound, and waits for its rows.
func follow(t *testing.T, client *ovsdb.Client) *follower {
	f := &follower{t: t, client: client, rows: map[ovsdb.UUID]ovsdb.Row{}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- replica.Follow(ctx, f.client, watched, f.take) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	f.until("the initial rows", func() bool { return len(f.states) > 0 })
	return f
}

func (f *follower) take(u replica.Update) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if u.State != replica.Changed {
		f.states = append(f.states, u.State)
	}
	for _, c := range u.Changes {
		if old := f.rows[c.UUID]; !reflect.DeepEqual(old, c.Old) {
			f.t.Errorf("%s %s does not start from what was known (-known +old):\n%s", c.Table, c.UUID, cmp.Diff(old, c.Old))
		}
		if reflect.DeepEqual(c.Old, c.New) {
			f.t.Errorf("%s %s did not change", c.Table, c.UUID)
		}
		f.rows[c.UUID] = c.New
		if c.New == nil {
			delete(f.rows, c.UUID)
		}
		if u.State != replica.Initial {
			f.all = append(f.all, c)
		}
	}
}

func (f *follower) until(what string, ok func() bool) {
	f.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		f.mu.Lock()
		done := ok()
		f.mu.Unlock()
		if done {
			return
		}
	}
	f.t.Fatalf("no sign of %s", what)
}

// same waits until the replica has the rows that a one-shot reader reads.
func (f *follower) same() {
	f.t.Helper()
	var diff string
	for range 600 {
		var tables struct {
			Switches  []nb.LogicalSwitch
			Ports     []nb.LogicalSwitchPort
			Balancers []nb.LoadBalancer
		}
		if err := ovsdb.Load(f.t.Context(), f.client, &tables); err != nil {
			f.t.Fatal(err)
		}
		read := map[ovsdb.UUID]ovsdb.Row{}
		for _, r := range tables.Switches {
			read[r.UUID] = r
		}
		for _, r := range tables.Ports {
			read[r.UUID] = r
		}
		for _, r := range tables.Balancers {
			read[r.UUID] = r
		}
		f.mu.Lock()
		diff = cmp.Diff(read, f.rows, cmpopts.EquateEmpty(), cmpopts.SortSlices(func(a, b string) bool { return a < b }), cmpopts.SortSlices(func(a, b ovsdb.UUID) bool { return a < b }))
		f.mu.Unlock()
		if diff == "" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	f.t.Fatalf("the replica differs from the database (-database +replica):\n%s", diff)
}

func addSwitch(name string) string {
	return fmt.Sprintf(`{"op":"insert","table":"Logical_Switch","row":{"name":%q,"external_ids":["map",[["a","1"],["b","2"]]]}}`, name)
}

// TestFollow sees rows come, change in every kind of column, and go.
func TestFollow(t *testing.T) {
	t.Parallel()
	server := ovsdbtest.Start(t, ovsdbtest.Northbound)
	server.Transact(addSwitch("before"))
	f := follow(t, server.Dial())
	f.same()
	server.Transact(addSwitch("sw"),
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"p","row":{"name":"p1","addresses":["set",["a","b"]],"up":true,"tag":5}}`,
		`{"op":"mutate","table":"Logical_Switch","where":[["name","==","sw"]],"mutations":[["ports","insert",["named-uuid","p"]]]}`)
	f.same()
	for _, change := range []string{
		`{"op":"update","table":"Logical_Switch_Port","where":[],"row":{"addresses":["set",["b","c","d"]],"up":["set",[]]}}`,
		`{"op":"update","table":"Logical_Switch_Port","where":[],"row":{"up":false,"tag":["set",[]],"options":["map",[["x","y"]]]}}`,
		`{"op":"mutate","table":"Logical_Switch","where":[],"mutations":[["external_ids","delete",["set",["a"]]],["external_ids","insert",["map",[["c","3"]]]]]}`,
		`{"op":"update","table":"Logical_Switch","where":[],"row":{"external_ids":["map",[["b","changed"]]]}}`,
		`{"op":"update","table":"Logical_Switch_Port","where":[],"row":{"addresses":["set",[]],"options":["map",[]]}}`,
		`{"op":"delete","table":"Logical_Switch","where":[["name","==","sw"]]}`,
	} {
		server.Transact(change)
		f.same()
	}
	if len(f.states) != 1 || f.states[0] != replica.Initial {
		t.Errorf("states %v", f.states)
	}
}

// withoutColumn returns the schema of the Northbound as a release had it that did not know a column.
func withoutColumn(t *testing.T, table, column string) []byte {
	text, err := os.ReadFile(ovsdbtest.Northbound)
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	delete(schema["tables"].(map[string]any)[table].(map[string]any)["columns"].(map[string]any), column)
	text, err = json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestRestart follows through a restart of the server, and a change of its schema meanwhile.
func TestRestart(t *testing.T) {
	t.Parallel()
	server := ovsdbtest.Start(t, ovsdbtest.Northbound)
	server.Transact(addSwitch("gone"), addSwitch("kept"), addSwitch("changed"))
	f := follow(t, server.Dial())
	server.Kill()
	f.until("the loss", func() bool { return f.states[len(f.states)-1] == replica.Lost })
	for _, op := range []string{
		`{"op":"delete","table":"Logical_Switch","where":[["name","==","gone"]]}`,
		`{"op":"update","table":"Logical_Switch","where":[["name","==","changed"]],"row":{"name":"other"}}`,
		addSwitch("new"),
	} {
		ovsdbtest.Run(t, "ovsdb-tool", "transact", server.File, "["+`"`+server.DB+`",`+op+"]")
	}
	server.Restart()
	f.until("the return", func() bool { return f.states[len(f.states)-1] == replica.Resumed })
	f.same()
	if len(f.all) != 3 {
		t.Errorf("%d changes, want 3: %v", len(f.all), f.all)
	}
	if err := server.Dial().Convert(t.Context(), withoutColumn(t, "Logical_Switch", "other_config")); err != nil {
		t.Fatal(err)
	}
	server.Transact(addSwitch("after the upgrade"))
	f.same()
}

// TestLeaderKilled follows a cluster through the end of its leader, under a stream of writes.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	cluster := ovsdbtest.StartCluster(t, ovsdbtest.Northbound, 3)
	cluster.Leader()
	client := ovsdbtest.Dial(t, cluster.Members[0].DB, cluster.Remotes())
	f := follow(t, client)
	write := func(from, to int) {
		for i := from; i < to; i++ {
			row := map[string]any{"name": fmt.Sprintf("w%03d", i)}
			for {
				_, err := client.Transact(t.Context(), ovsdb.Insert("Logical_Switch", "", row))
				if err == nil || errors.Is(err, ovsdb.ErrUnknownOutcome) {
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
			// It may fail while the server is away: not every row needs it.
			_, _ = client.Transact(t.Context(), ovsdb.Update("Logical_Switch", map[string]any{"external_ids": map[string]string{"n": "1"}}, ovsdb.Where("name", "==", row["name"])))
		}
	}
	write(0, 20)
	var writer sync.WaitGroup
	writer.Go(func() { write(20, 60) })
	cluster.Leader().Kill()
	writer.Wait()
	f.same()
	f.until("another leader", func() bool { return f.states[len(f.states)-1] == replica.Resumed })
	write(60, 80)
	f.same()
}
