//go:build lab

package cluster

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab/scale"
	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/sb"
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
	server := ovsdbtest.Start(t, ovsdbtest.Southbound)
	oneMoment(t, server, server.ListenTCP(), func() {})
}

// So it is when the server's file is read, which the server writes anew now and then.
func TestFileIsOneMoment(t *testing.T) {
	server := ovsdbtest.Start(t, ovsdbtest.Southbound)
	oneMoment(t, server, server.Remote(), func() { server.Appctl("ovsdb-server/compact") })
}

func oneMoment(t *testing.T, server *ovsdbtest.Server, remote string, meanwhile func()) {
	t.Helper()
	const rows, priority = 600, 10_000
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
			if n%50 == 0 {
				meanwhile()
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
		file, entry := captureOf(t, server.DB, remote)
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
			Global []sb.GlobalNBCfg
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

// What is saved of a real Southbound, by its server's file or in pieces, is what its server says: another one that serves what was
// saved says the same.
func TestSavedIsAsServed(t *testing.T) {
	d := scale.Start(t, scale.Size{Nodes: 3, Pods: 8, Services: 8, Policies: 1})
	// Its file has a history, too.
	d.SB.Transact(`{"op":"delete","table":"Logical_Flow","where":[["priority","==",0],["table_id","==",3]]}`,
		`{"op":"update","table":"Logical_Flow","where":[["table_id","==",5]],"row":{"match":"0","external_ids":["map",[["a","b"]]]}}`,
		`{"op":"mutate","table":"Port_Binding","where":[],"mutations":[["external_ids","insert",["map",[["more","1"]]]]]}`,
		`{"op":"insert","table":"Connection","row":{"target":"ptcp:0:127.0.0.1"}}`)
	dump := func(s *ovsdbtest.Server) string {
		return ovsdbtest.Run(t, "ovsdb-client", "dump", "-f", "json", s.Remote(), s.DB)
	}
	want := dump(d.SB)
	for _, remote := range []string{d.SB.Remote(), d.SB.ListenTCP()} {
		file, entry := captureOf(t, d.SB.DB, remote)
		tree, err := archive.Open(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		saved, err := tree.File("sb.db")
		if err != nil {
			t.Fatal(err)
		}
		readers := []io.Reader{saved}
		parts, err := tree.List("sb.db" + partsSuffix)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			f, err := tree.File("sb.db" + partsSuffix + "/" + part)
			if err != nil {
				t.Fatal(err)
			}
			readers = append(readers, f)
		}
		text, err := io.ReadAll(io.MultiReader(readers...))
		if err != nil {
			t.Fatal(err)
		}
		dir := ovsdbtest.Dir(t)
		db := filepath.Join(dir, "db")
		if err := os.WriteFile(db, oneTransaction(t, text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := dump(ovsdbtest.Serve(t, dir, db, d.SB.DB)); got != want {
			t.Errorf("%s: saved in %d requests, %d bytes of rows that are not the server's %d", remote, entry.Pieces, len(got), len(want))
		}
		if few := remote == d.SB.Remote(); few != (entry.Pieces < 10) || !entry.Snapshot {
			t.Errorf("%s: index %+v", remote, entry)
		}
		_ = tree.Close()
	}
}

// oneTransaction is a database file whose rows are all inserted at once: a server refuses a row that refers to a later one.
func oneTransaction(t *testing.T, file []byte) []byte {
	t.Helper()
	var schema []byte
	all := map[string]map[string]json.RawMessage{}
	for line := range bytes.Lines(file) {
		switch {
		case bytes.HasPrefix(line, []byte("OVSDB JSON ")):
		case schema == nil:
			schema = line
		default:
			var record map[string]json.RawMessage
			if err := json.Unmarshal(line, &record); err != nil {
				t.Fatal(err)
			}
			for table, text := range record {
				if strings.HasPrefix(table, "_") {
					continue
				}
				var rows map[string]json.RawMessage
				if err := json.Unmarshal(text, &rows); err != nil {
					t.Fatal(err)
				}
				if all[table] == nil {
					all[table] = map[string]json.RawMessage{}
				}
				maps.Copy(all[table], rows)
				maps.DeleteFunc(all[table], func(_ string, row json.RawMessage) bool { return string(row) == "null" })
			}
		}
	}
	rows, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, "OVSDB JSON %d %x\n%sOVSDB JSON %d %x\n%s", len(schema), sha1.Sum(schema), schema, len(rows), sha1.Sum(rows), rows)
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
		if rows, err := ovsdb.Find[sb.GlobalNBCfg](t.Context(), db); err != nil || len(rows) != 1 || rows[0].NBCfg != 7 {
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

// captureOf saves a server's Southbound in a capture.
func captureOf(t *testing.T, db, remote string) (file string, entry archive.IndexDatabase) {
	t.Helper()
	c, err := Open(t.Context(), Config{SB: remote, Timeout: time.Minute})
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
		if d.Name == db {
			return file, d
		}
	}
	t.Fatalf("index %+v", x)
	return "", entry
}
