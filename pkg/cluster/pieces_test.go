package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

type countedFlow struct {
	UUID     ovsdb.UUID `ovsdb:"_uuid"`
	Priority int        `ovsdb:"priority"`
	Match    string     `ovsdb:"match"`
}

func (countedFlow) Table() string { return logicalFlow }

// A database that is written to all the while is saved as it was at one moment, if the index says so: each transaction keeps the sum
// of all priorities, and writes its number into two tables.
func TestPiecesAreOneMoment(t *testing.T) {
	const rows, priority = 600, 10_000
	server := ovsdbtest.Start(t, ovsdbtest.Southbound)
	db := server.Dial()
	datapath := ovsdb.Named("dp")
	flow := func(match string, table, priority int) ovsdb.Operation {
		return ovsdb.Insert(logicalFlow, "", map[string]any{
			"logical_datapath": datapath, "pipeline": "ingress", "table_id": table, "priority": priority, "match": match, "actions": "next;",
		})
	}
	ops := []ovsdb.Operation{
		ovsdb.Insert("SB_Global", "", map[string]any{"nb_cfg": 0}),
		ovsdb.Insert("Datapath_Binding", datapath, map[string]any{"tunnel_key": 1}),
	}
	for i := range rows {
		ops = append(ops, flow(fmt.Sprint(i), i%8, priority))
	}
	results, err := db.Transact(t.Context(), append(ops, flow("0 transactions", 0, 0))...)
	if err != nil {
		t.Fatal(err)
	}
	datapath = results[1].UUID
	var ids []ovsdb.UUID
	var priorities []int
	for _, r := range results[2 : 2+rows] {
		ids, priorities = append(ids, r.UUID), append(priorities, priority)
	}
	counter := results[2+rows].UUID

	done, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for n := 1; ; n++ {
			select {
			case <-done:
				ended <- nil
				return
			case <-time.After(time.Millisecond):
			}
			from, to, gone := n*7%rows, n*11%rows, n*13%rows
			if from == to || from == gone || to == gone {
				continue
			}
			set := func(id ovsdb.UUID, column string, value any) ovsdb.Operation {
				return ovsdb.Update(logicalFlow, map[string]any{column: value}, ovsdb.Where("_uuid", "==", id))
			}
			where := func(i int) ovsdb.Condition { return ovsdb.Where("_uuid", "==", ids[i]) }
			results, err := db.Transact(t.Context(),
				ovsdb.Mutate(logicalFlow, []ovsdb.Mutation{{Column: "priority", Mutator: "-=", Value: 1}}, where(from)),
				ovsdb.Mutate(logicalFlow, []ovsdb.Mutation{{Column: "priority", Mutator: "+=", Value: 1}}, where(to)),
				ovsdb.Delete(logicalFlow, where(gone)),
				flow(fmt.Sprint(gone), n%8, priorities[gone]),
				set(counter, "match", fmt.Sprintf("%d transactions", n)),
				ovsdb.Update("SB_Global", map[string]any{"nb_cfg": n}, ovsdb.Where("nb_cfg", ">=", 0)))
			if err != nil {
				ended <- err
				return
			}
			ids[gone] = results[3].UUID
			priorities[from]--
			priorities[to]++
		}
	}()

	snapshots := 0
	for deadline := time.Now().Add(2 * time.Minute); snapshots < 5 && time.Now().Before(deadline); {
		file, entry := captureOf(t, server)
		if !entry.Snapshot {
			continue
		}
		snapshots++
		saved, err := Open(t.Context(), Config{Offline: file})
		if err != nil {
			t.Fatal(err)
		}
		var tables struct {
			Flows  []countedFlow
			Global []nbCfgRow
		}
		if err := ovsdb.Load(t.Context(), saved.Zones[0].SB, &tables); err != nil {
			t.Fatal(err)
		}
		total, said := 0, ""
		for _, f := range tables.Flows {
			total += f.Priority
			if f.UUID == counter {
				said = f.Match
			}
		}
		if total != rows*priority || len(tables.Flows) != rows+1 || entry.Rows != rows+1 || len(tables.Global) != 1 || said != fmt.Sprintf("%d transactions", tables.Global[0].NBCfg) {
			t.Errorf("%d flows of %d priorities, want %d; the index says %d, the last is %q of %+v", len(tables.Flows), total, rows*priority, entry.Rows, said, tables.Global)
		}
		_ = saved.Close()
	}
	close(done)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if snapshots == 0 {
		t.Error("never was all of one moment")
	}
}

// What was read of a database is answered without its server, logical flows only if all of them were read.
func TestCapturedDatabases(t *testing.T) {
	server := ovsdbtest.Start(t, ovsdbtest.Southbound)
	datapath := ovsdb.Named("dp")
	flow := func(priority int) ovsdb.Operation {
		return ovsdb.Insert(logicalFlow, "", map[string]any{
			"logical_datapath": datapath, "pipeline": "egress", "table_id": 3, "priority": priority, "match": "1", "actions": "next;",
		})
	}
	if _, err := server.Dial().Transact(t.Context(),
		ovsdb.Insert("SB_Global", "", map[string]any{"nb_cfg": 7}),
		ovsdb.Insert("Datapath_Binding", datapath, map[string]any{"tunnel_key": 1}), flow(1), flow(2)); err != nil {
		t.Fatal(err)
	}
	c, err := Open(t.Context(), Config{SB: server.Remote(), Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // only read
	var want []countedFlow
	if want, err = ovsdb.Find[countedFlow](t.Context(), c.Zones[0].SB); err != nil || len(want) != 2 {
		t.Fatalf("the server has %v, %v", want, err)
	}
	read := map[LogicalFlows]ovsdb.Reader{}
	for _, flows := range []LogicalFlows{AllFlows, NoFlows} {
		w, err := archive.NewWriter(io.Discard, "test", 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		capture := c.Capture(t.Context(), w)
		capture.Flows = flows
		if err := capture.Databases(t.Context()); err != nil {
			t.Fatal(err)
		}
		read[flows] = capture.Cluster().Zones[0].SB
	}
	server.Kill()
	for flows, db := range read {
		if rows, err := ovsdb.Find[nbCfgRow](t.Context(), db); err != nil || len(rows) != 1 || rows[0].NBCfg != 7 {
			t.Errorf("%s: SB_Global %v, %v", flows, rows, err)
		}
	}
	got, err := ovsdb.Find[countedFlow](t.Context(), read[AllFlows])
	order := func(a, b countedFlow) int { return cmp.Compare(a.UUID, b.UUID) }
	slices.SortFunc(want, order)
	slices.SortFunc(got, order)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("logical flows %v, %v, want %v", got, err, want)
	}
	if rows, err := ovsdb.Find[countedFlow](t.Context(), read[NoFlows]); !errors.Is(err, node.ErrUnavailable) {
		t.Errorf("logical flows that were not read: %v, %v", rows, err)
	}
}

// captureOf saves a server's database in a capture.
func captureOf(t *testing.T, server *ovsdbtest.Server) (file string, entry archive.IndexDatabase) {
	t.Helper()
	c, err := Open(t.Context(), Config{SB: server.Remote(), Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // only read
	file = filepath.Join(t.TempDir(), "sb.tar.zst")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // the archive says
	w, err := archive.NewWriter(f, "test", 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Capture(t.Context(), w).Databases(t.Context()); err != nil {
		t.Fatal(err)
	}
	x, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range x.Databases {
		if d.Name == server.DB {
			return file, d
		}
	}
	t.Fatalf("index %+v", x)
	return "", entry
}
