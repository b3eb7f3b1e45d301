//go:build lab

package ovsdb_test

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// writes inserts rows of rising names until the server does not answer, and
// returns those that were confirmed.
func writes(s *ovsdbtest.Server, next *int, confirmed func(name string)) {
	for {
		*next++
		name := fmt.Sprintf("w%06d", *next)
		request := `["` + s.DB + `",{"op":"insert","table":"Logical_Switch","row":{"name":"` + name + `"}}]`
		out, err := exec.Command("ovsdb-client", "-t", "2", "transact", s.Remote(), request).Output()
		if err != nil || !strings.Contains(string(out), `"uuid"`) {
			return
		}
		confirmed(name)
	}
}

// TestKilledWhileWriting ends leaders with kill -9 under a stream of writes:
// their files hold all that was confirmed, and nothing that the cluster does
// not have in the end.
func TestKilledWhileWriting(t *testing.T) {
	t.Parallel()
	cluster := ovsdbtest.StartCluster(t, ovsdbtest.Northbound, 3)
	next, total, left, damaged := 0, 0, 0, 0
	var files [][]string
	for range 4 {
		leader := cluster.Leader()
		var mu sync.Mutex
		var confirmed []string
		var writer sync.WaitGroup
		writer.Go(func() {
			writes(leader, &next, func(name string) {
				mu.Lock()
				defer mu.Unlock()
				confirmed = append(confirmed, name)
			})
		})
		waitFor(t, "some writes", func() bool { mu.Lock(); defer mu.Unlock(); return len(confirmed) > 10 })
		time.Sleep(time.Duration(next*7%40) * time.Millisecond)
		leader.Kill()
		writer.Wait()
		snap, err := ovsdb.OpenFile(leader.File)
		if err != nil {
			t.Fatal(err)
		}
		got := names(t, snap)
		slices.Sort(got)
		for _, name := range confirmed {
			if _, ok := slices.BinarySearch(got, name); !ok && snap.Damage() == "" {
				t.Errorf("%s was confirmed but is not in the file", name)
			}
		}
		files = append(files, got)
		total += len(confirmed)
		if snap.Notice() != "" {
			left++
		}
		if snap.Damage() != "" {
			damaged++
		}
		leader.Restart()
		waitFor(t, "the member to be back", func() bool { return len(cluster.Followers()) == 2 })
	}
	cluster.Leader().Transact(`{"op":"insert","table":"Logical_Switch","row":{"name":"z"}}`)
	for _, m := range cluster.Members {
		settled(t, "at the end", m)
	}
	last := names(t, open(t, cluster.Leader().File))
	slices.Sort(last)
	for i, got := range files {
		if !slices.Equal(got, last[:min(len(got), len(last))]) {
			t.Errorf("kill %d: %d rows that are not what the cluster had then", i, len(got))
		}
	}
	t.Logf("%d writes confirmed, %d kills: %d files with entries left out, %d damaged", total, len(files), left, damaged)
}

// TestServerKilled ends a server alone with kill -9 while the client writes to it: after the restart each row is there whose
// write was confirmed, none whose write was refused, and none twice.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	server := ovsdbtest.Start(t, ovsdbtest.Northbound)
	c := dial(t, ovsdb.Config{DB: server.DB, Remotes: server.Remote(), Timeout: 10 * time.Second})
	outcomes := map[string]error{}
	for round := range 6 {
		written := make(chan bool, 1000)
		var writer sync.WaitGroup
		writer.Go(func() {
			for i := range 1000 {
				name := fmt.Sprintf("write-%d-%d", round, i)
				_, err := c.Transact(t.Context(), ovsdb.Insert("Logical_Switch", "", map[string]any{"name": name}))
				outcomes[name] = err
				written <- err == nil
				if err != nil {
					return
				}
			}
		})
		for range 5 + round {
			if !<-written {
				break
			}
		}
		server.Kill()
		writer.Wait()
		server.Restart()
	}
	rows := map[string]int{}
	for _, name := range names(t, dial(t, ovsdb.Config{DB: server.DB, Remotes: server.Remote(), Timeout: 10 * time.Second})) {
		rows[name]++
	}
	confirmed, unknown := 0, 0
	for name, err := range outcomes {
		n := rows[name]
		switch {
		case err == nil && n == 1:
			confirmed++
		case errors.Is(err, ovsdb.ErrUnknownOutcome) && n <= 1:
			unknown++
		case err == nil || n > 0:
			t.Errorf("%s: %d rows after %v", name, n, err)
		}
	}
	if confirmed < 20 {
		t.Errorf("only %d writes were confirmed", confirmed)
	}
	t.Logf("%d confirmed, %d unknown, %d in all", confirmed, unknown, len(outcomes))
}
