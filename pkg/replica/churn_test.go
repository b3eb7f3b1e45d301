//go:build lab

package replica_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/replica"
)

// churnTime is how long each kind of server is under churn; $OVNCTL_CHURN, such as 10m, changes that.
func churnTime(t *testing.T) time.Duration {
	text := os.Getenv("OVNCTL_CHURN")
	if text == "" {
		return 20 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A churn makes about a hundred changes a second, each with the next number in the row's name.
type churn struct {
	client *ovsdb.Client
	last   int // number
}

// run makes changes until the context ends. A change whose outcome is unknown is followed by the next number.
func (c *churn) run(ctx context.Context) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		c.last++
		key := fmt.Sprint(i/250, ".", i%50) // of one row, also if its deletion was lost
		row := map[string]any{"name": fmt.Sprintf("n%d", c.last), "external_ids": map[string]string{"key": key}}
		where := ovsdb.Where("external_ids", "includes", map[string]string{"key": key})
		var op ovsdb.Operation
		switch i / 50 % 5 {
		case 0:
			op = ovsdb.Insert("Logical_Switch", "", row)
		case 4:
			op = ovsdb.Delete("Logical_Switch", where)
		default:
			op = ovsdb.Update("Logical_Switch", row, where)
		}
		_, _ = c.client.Transact(ctx, op) // fails while there is no server
		<-tick.C
	}
}

// A logged change is one of the server's own log: the number is 0 for a deleted row.
type logged struct {
	row    string // the start of its UUID
	number int
}

var logLine = regexp.MustCompile(`(?m)^ +table Logical_Switch (insert )?row .*?\(([0-9a-f]{8})\)|^ +(delete row)$|^ +name="?n(\d+)"?$`)

// logOf reads the log of a server with ovsdb-tool.
func logOf(t *testing.T, file string) []logged {
	t.Helper()
	var all []logged
	row := ""
	for _, m := range logLine.FindAllStringSubmatch(ovsdbtest.Run(t, "ovsdb-tool", "-mm", "show-log", file), -1) {
		switch {
		case m[2] != "":
			row = m[2]
		case m[3] != "":
			all = append(all, logged{row, 0})
		default:
			number, _ := strconv.Atoi(m[4])
			all = append(all, logged{row, number})
		}
	}
	return all
}

// A witness notes changes in the form of the log.
type witness struct {
	mu    sync.Mutex
	seen  []logged
	gaps  [][2]int // what changed while nobody was connected, as positions in seen
	ready chan struct{}
}

func (w *witness) take(u replica.Update) {
	w.mu.Lock()
	defer w.mu.Unlock()
	from := len(w.seen)
	for _, c := range u.Changes {
		l := logged{row: string(c.UUID)[:8]}
		if now, ok := c.New.(nb.LogicalSwitch); ok {
			l.number, _ = strconv.Atoi(now.Name[1:])
		}
		w.seen = append(w.seen, l)
	}
	switch u.State {
	case replica.Initial:
		close(w.ready)
	case replica.Resumed:
		w.gaps = append(w.gaps, [2]int{from, len(w.seen)})
	}
}

// compare holds what was seen against the log: outside of the gaps the two are the same, change by change. In a gap a row
// changes at most once, into what it was at the end of the gap.
func (w *witness) compare(t *testing.T, log []logged) {
	t.Helper()
	at, inGaps, merged := 0, 0, 0
	gaps := w.gaps
	for i := 0; i < len(w.seen); {
		if len(gaps) > 0 && gaps[0][0] == i {
			// The gap's changes are the last ones of their rows before what was seen next.
			end := gaps[0][1]
			next := len(log)
			if end < len(w.seen) {
				for next = at; next < len(log) && log[next] != w.seen[end]; next++ {
				}
			}
			lasts := map[string]int{}
			born := map[string]bool{}
			for k, l := range log[at:next] {
				if _, ok := lasts[l.row]; !ok {
					born[l.row] = l.number > 0 && !known(log[:at], l.row)
				}
				lasts[l.row] = at + k
			}
			for _, s := range w.seen[i:end] {
				if k, ok := lasts[s.row]; !ok || log[k] != s {
					t.Fatalf("gap: %v is not the last change of that row", s)
				}
				delete(lasts, s.row)
			}
			for row, k := range lasts {
				if log[k].number != 0 || !born[row] {
					t.Fatalf("gap: %v was lost", log[k])
				}
			}
			inGaps += next - at
			merged += next - at - (end - i)
			at, i, gaps = next, end, gaps[1:]
			continue
		}
		if at == len(log) || log[at] != w.seen[i] {
			t.Fatalf("change %d: saw %v, the log has %v", i, w.seen[i], log[at:min(at+3, len(log))])
		}
		at, i = at+1, i+1
	}
	if at != len(log) {
		t.Fatalf("%d changes of the log were not seen, from %v on", len(log)-at, log[at])
	}
	t.Logf("%d changes in the log, %d of them in %d gaps, where %d were merged; all others were seen once, in order", len(log), inGaps, len(w.gaps), merged)
}

// known reports whether a row is there after some changes.
func known(log []logged, row string) bool {
	for i := len(log) - 1; i >= 0; i-- {
		if log[i].row == row {
			return log[i].number != 0
		}
	}
	return false
}

// follow lets the churn go on for the time given, with what is done to the servers meanwhile, and compares.
func (w *witness) follow(t *testing.T, watcher, writer *ovsdb.Client, harm func(left func() time.Duration), file func() string) {
	t.Helper()
	w.ready = make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	followed := make(chan error)
	go func() { followed <- replica.Follow(ctx, watcher, []ovsdb.Row{nb.LogicalSwitch{}}, w.take) }()
	<-w.ready
	end := time.Now().Add(churnTime(t))
	writing, stop := context.WithDeadline(t.Context(), end)
	defer stop()
	c := churn{client: writer}
	var churning sync.WaitGroup
	churning.Go(func() { c.run(writing) })
	var begin, after runtime.MemStats
	time.Sleep(time.Until(end) / 4)
	runtime.GC()
	runtime.ReadMemStats(&begin)
	harm(func() time.Duration { return time.Until(end) })
	churning.Wait()
	runtime.GC()
	runtime.ReadMemStats(&after)
	time.Sleep(time.Second)
	var log []logged
	for range 100 { // until the last change has arrived
		log = logOf(t, file())
		w.mu.Lock()
		n := len(w.seen)
		done := n > 0 && len(log) > 0 && w.seen[n-1] == log[len(log)-1]
		w.mu.Unlock()
		if done {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	cancel()
	if err := <-followed; err != nil {
		t.Error(err)
	}
	t.Logf("heap %d KiB after a quarter of the time, %d KiB at the end", begin.HeapAlloc>>10, after.HeapAlloc>>10)
	w.compare(t, log)
}

// TestChurn compares what is seen under churn with the log of the server, which is killed and started again.
func TestChurn(t *testing.T) {
	t.Parallel()
	server := ovsdbtest.Start(t, ovsdbtest.Northbound)
	(&witness{}).follow(t, server.Dial(), server.Dial(), func(left func() time.Duration) {
		for range 3 {
			time.Sleep(left() / 4)
			server.Kill()
			server.Restart()
		}
	}, func() string { return server.File })
}

// TestChurnOfCluster is TestChurn with a cluster, whose leader is killed three times.
func TestChurnOfCluster(t *testing.T) {
	t.Parallel()
	cluster := ovsdbtest.StartCluster(t, ovsdbtest.Northbound, 3)
	db := cluster.Leader().DB
	(&witness{}).follow(t, ovsdbtest.Dial(t, db, cluster.Remotes()), ovsdbtest.Dial(t, db, cluster.Remotes()), func(left func() time.Duration) {
		for range 3 {
			time.Sleep(left() / 4)
			leader := cluster.Leader()
			leader.Kill()
			time.Sleep(2 * time.Second)
			leader.Restart()
		}
	}, func() string { return cluster.Leader().File })
}
