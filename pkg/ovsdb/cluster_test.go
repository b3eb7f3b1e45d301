//go:build lab

package ovsdb_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

type nbGlobal struct {
	UUID  ovsdb.UUID `ovsdb:"_uuid"`
	NBCfg int        `ovsdb:"nb_cfg"`
}

func (nbGlobal) Table() string { return "NB_Global" }

// TestClusterMembers asks a cluster in which one member is cut off.
func TestClusterMembers(t *testing.T) {
	t.Parallel()
	cluster := ovsdbtest.StartCluster(t, ovsdbtest.Northbound, 3)
	leader, followers := cluster.Leader(), cluster.Followers()
	leader.Transact(`{"op":"insert","table":"Logical_Switch","row":{"name":"before"}}`)
	config := func(timeout time.Duration, members ...*ovsdbtest.Server) ovsdb.Config {
		c := ovsdb.Config{DB: leader.DB, Timeout: timeout}
		for i, m := range members {
			if i > 0 {
				c.Remotes += ","
			}
			c.Remotes += m.Remote()
		}
		return c
	}

	// Any member will do for reading, in the order given.
	reader := dial(t, config(10*time.Second, followers[0], leader, followers[1]))
	if st := reader.Status(); reader.Origin() != followers[0].Remote() || !st.Clustered || st.Leader || !st.Connected || st.Stale {
		t.Fatalf("reading from %s, %+v", reader.Origin(), st)
	}
	waitFor(t, "the follower to have the row", func() bool { return len(names(t, reader)) == 1 })

	only := config(5*time.Second, followers[0], followers[1], leader)
	only.LeaderOnly = true
	if c := dial(t, only); c.Origin() != leader.Remote() || !c.Status().Leader {
		t.Fatalf("leader only: %s, %+v", c.Origin(), c.Status())
	}
	only = config(5*time.Second, followers[0])
	only.LeaderOnly = true
	_, err := ovsdb.Dial(t.Context(), only)
	if !errors.Is(err, ovsdb.ErrNoLeader) {
		t.Fatalf("a follower alone: %v", err)
	}

	// A write goes to the leader, and what follows is read there, too.
	writer := dial(t, config(5*time.Second, followers[0], leader, followers[1]))
	insert := ovsdb.Insert("Logical_Switch", "", map[string]any{"name": "written"})
	if _, err := writer.Transact(t.Context(), insert); err != nil {
		t.Fatal(err)
	}
	if writer.Origin() != leader.Remote() || len(names(t, writer)) != 2 {
		t.Fatalf("after the write: reading from %s %v", writer.Origin(), names(t, writer))
	}

	cut := followers[0]
	waitFor(t, "the follower to have both rows", func() bool { return len(names(t, reader)) == 2 })
	cluster.Isolate(cut)
	if _, err := writer.Transact(t.Context(), ovsdb.Insert("Logical_Switch", "", map[string]any{"name": "after"})); err != nil {
		t.Fatal(err)
	}
	// The reader's member answers with old rows: they must come from another.
	if got := names(t, reader); len(got) != 3 || reader.Origin() == cut.Remote() || reader.Status().Stale {
		t.Fatalf("member cut off: read %v from %s, %+v", got, reader.Origin(), reader.Status())
	}
	if c := dial(t, config(5*time.Second, cut, followers[1], leader)); c.Origin() == cut.Remote() {
		t.Fatal("the member that is cut off was taken though others answer")
	}

	// With no other in reach the old rows come, and are said to be old.
	dead := followers[1]
	dead.Signal(stop)
	defer dead.Signal(resume)
	for _, members := range [][]*ovsdbtest.Server{{cut}, {cut, dead}} {
		began := time.Now()
		c := dial(t, config(3*time.Second, members...))
		got, st := names(t, c), c.Status()
		if len(got) != 2 || !st.Stale || st.Connected || st.Leader || c.Origin() != cut.Remote() {
			t.Fatalf("read %v from %s, %+v", got, c.Origin(), st)
		}
		t.Logf("%d members, all but the cut-off silent: %v, %+v", len(members), time.Since(began).Round(time.Millisecond), st)
		_, err := c.Transact(t.Context(), insert)
		if err == nil || errors.Is(err, ovsdb.ErrUnknownOutcome) {
			t.Fatalf("write without a leader: %v", err)
		}
	}
	if n := len(names(t, dial(t, config(5*time.Second, leader)))); n != 3 {
		t.Fatalf("%d rows, want 3: a refused write was made", n)
	}
}

// TestStaleAge looks at a member that is cut off while it is in use.
func TestStaleAge(t *testing.T) {
	t.Parallel()
	cluster := ovsdbtest.StartCluster(t, ovsdbtest.Northbound, 3)
	cut := cluster.Followers()[0]
	c := dial(t, ovsdb.Config{DB: cut.DB, Remotes: cut.Remote(), Timeout: 5 * time.Second})
	names(t, c)
	cluster.Isolate(cut)
	names(t, c)
	if st := c.Status(); !st.Stale || st.Age < time.Second || st.Age > time.Minute || st.Index == 0 {
		t.Fatalf("status %+v", st)
	}
	cluster.Join(cut)
	waitFor(t, "the member to be back", func() bool { names(t, c); return !c.Status().Stale })
}

// TestShared reads in several goroutines while the same client moves from a
// follower to the leader and on.
func TestShared(t *testing.T) {
	t.Parallel()
	cluster := ovsdbtest.StartCluster(t, ovsdbtest.Northbound, 3)
	config := ovsdb.Config{DB: cluster.Members[0].DB, Timeout: 10 * time.Second}
	config.Remotes = cluster.Followers()[0].Remote() + "," + cluster.Remotes()
	c := dial(t, config)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for ctx.Err() == nil {
				if _, err := ovsdb.Find[logicalSwitch](context.Background(), c); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 5 {
		time.Sleep(50 * time.Millisecond)
		if _, err := c.Transact(t.Context(), ovsdb.Insert("Logical_Switch", "", map[string]any{"name": "x"})); err != nil {
			t.Error(err)
		}
		if i%2 == 1 {
			// It comes back as a follower, or leads again.
			leader := cluster.Leader()
			leader.Kill()
			leader.Restart()
		}
	}
	cancel()
	all.Wait()
	if n := len(names(t, c)); n != 5 {
		t.Errorf("%d rows, want 5", n)
	}
}

// TestLeaderKilled kills the leader again and again while rows are written and
// read. Each write leaves a row of its own name and counts up: no name may be
// there twice, and none may be missing whose write was confirmed.
func TestLeaderKilled(t *testing.T) {
	t.Parallel()
	cluster := ovsdbtest.StartCluster(t, ovsdbtest.Northbound, 3)
	db := cluster.Leader().DB
	cluster.Leader().Transact(`{"op":"insert","table":"NB_Global","row":{"name":"counter"}}`)
	config := ovsdb.Config{DB: db, Remotes: cluster.Remotes(), Timeout: 10 * time.Second}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var all sync.WaitGroup
	var confirmed, unknown, refused []string
	var slowest time.Duration
	writer := dial(t, config)
	all.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			name := fmt.Sprintf("write-%d", i)
			began := time.Now()
			_, err := writer.Transact(context.Background(),
				ovsdb.Insert("Logical_Switch", "", map[string]any{"name": name}),
				ovsdb.Mutate("NB_Global", []ovsdb.Mutation{{Column: "nb_cfg", Mutator: "+=", Value: 1}}, ovsdb.Where("name", "==", "counter")))
			slowest = max(slowest, time.Since(began))
			switch {
			case err == nil:
				confirmed = append(confirmed, name)
			case errors.Is(err, ovsdb.ErrUnknownOutcome):
				unknown = append(unknown, name)
			default:
				refused = append(refused, name)
				t.Logf("%s: %v", name, err)
			}
		}
	})
	reads := 0
	var slowestRead time.Duration
	reader := dial(t, config)
	all.Go(func() {
		for ctx.Err() == nil {
			began := time.Now()
			if _, err := ovsdb.Find[nbGlobal](context.Background(), reader); err != nil {
				t.Errorf("read: %v", err)
			}
			slowestRead = max(slowestRead, time.Since(began))
			reads++
		}
	})
	for range 4 {
		time.Sleep(300 * time.Millisecond)
		killed := cluster.Leader()
		killed.Kill()
		began := time.Now()
		cluster.Leader()
		t.Logf("elected after %v", time.Since(began).Round(time.Millisecond))
		time.Sleep(300 * time.Millisecond)
		killed.Restart()
		waitFor(t, "the member to be back", func() bool { return len(cluster.Followers()) == 2 })
	}
	cancel()
	all.Wait()

	last := config
	last.LeaderOnly = true
	c := dial(t, last)
	rows := map[string]int{}
	for _, name := range names(t, c) {
		rows[name]++
	}
	global, err := ovsdb.Find[nbGlobal](t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d confirmed, %d unknown, %d not sent, counter %d; %d reads; slowest write %v, read %v",
		len(confirmed), len(unknown), len(refused), global[0].NBCfg, reads, slowest.Round(time.Millisecond), slowestRead.Round(time.Millisecond))
	for name, n := range rows {
		if n > 1 {
			t.Errorf("%s was written %d times", name, n)
		}
	}
	for _, name := range confirmed {
		if rows[name] != 1 {
			t.Errorf("%s was confirmed but is not there", name)
		}
	}
	for _, name := range refused {
		if rows[name] != 0 {
			t.Errorf("%s was refused but is there", name)
		}
	}
	if global[0].NBCfg != len(rows) {
		t.Errorf("counted %d writes, want %d", global[0].NBCfg, len(rows))
	}
	if len(confirmed) < 100 || reads < 100 {
		t.Errorf("too little happened: %d writes, %d reads", len(confirmed), reads)
	}
}

func names(t testing.TB, r ovsdb.Reader) []string {
	t.Helper()
	rows, err := ovsdb.Find[logicalSwitch](context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, row := range rows {
		names = append(names, row.Name)
	}
	return names
}

func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for range 400 {
		if ok() {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatalf("waited in vain for %s", what)
}
