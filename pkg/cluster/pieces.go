package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

const logicalFlow = "Logical_Flow"

// A databaseReader reads a database in pieces. What a large server answers at once
// holds up all its other clients: of 600,000 logical flows for 16 s. What changes
// meanwhile is read again at the end, until nothing has: then all is of one moment.
type databaseReader struct {
	*Capture
	client *ovsdb.Client
	saver  *ovsdb.Saver
	entry  archive.IndexDatabase
}

// A request is aimed at how long it may hold the server. The first ones of a table are
// small: a row of some has ten thousand elements.
const (
	aimedHold   = 150 * time.Millisecond
	firstBatch  = 20
	largest     = 4000
	partsSuffix = ".parts" // of the directory with the pieces of a database's file
)

func (c *Capture) database(ctx context.Context, name, zone string, db ovsdb.Reader) error {
	client, ok := db.(*ovsdb.Client)
	if !ok {
		return errors.New("this is saved data: copy it as it is")
	}
	var unwatched []string
	flows := db.Has(logicalFlow, "")
	if flows && c.Flows != AllFlows {
		unwatched = append(unwatched, logicalFlow)
	}
	saver, err := client.Saver(ctx, hideSecrets, unwatched...)
	if err != nil {
		return err
	}
	defer saver.Close()
	r := &databaseReader{Capture: c, client: client, saver: saver}
	r.entry = archive.IndexDatabase{Name: db.Name(), Zone: zone, File: name, Origin: db.Origin()}
	if err := r.tables(ctx); err != nil {
		return err
	}
	if flows {
		err = r.flows(ctx)
	}
	c.w.Describe(func(x *archive.Index) { x.Databases = append(x.Databases, r.entry) })
	if err == nil {
		err = c.w.Checkpoint()
	}
	return err
}

// hideSecrets takes the secrets out of a row.
func hideSecrets(_ string, row ovsdb.Raw) {
	for column, v := range row {
		row[column] = node.HideValue(v)
	}
}

// tables writes all tables but Logical_Flow into one file: none of them is of use
// without the others.
func (r *databaseReader) tables(ctx context.Context) error {
	var file bytes.Buffer
	if err := r.saver.Schema(ctx, &file); err != nil {
		return err
	}
	rows := 0
	write := func(ids []ovsdb.RowID) error {
		if len(ids) == 0 {
			return nil
		}
		added, err := r.saver.Add(ctx, &file, ids)
		for _, n := range added {
			rows += n
		}
		r.tell("reading %s: %d rows so far", r.entry.Name, rows)
		return err
	}
	for _, table := range r.saver.Tables() {
		if table == logicalFlow {
			continue
		}
		ids, err := r.list(ctx, ovsdb.Lookup{Table: table, Columns: []string{}})
		if err == nil {
			err = r.batches(ctx, ids, firstBatch, write)
		}
		if err != nil {
			return err
		}
	}
	if err := r.settle(ctx, func(ids []ovsdb.RowID) error {
		return write(slices.DeleteFunc(slices.Clone(ids), func(id ovsdb.RowID) bool { return id.Table == logicalFlow })) // read later
	}); err != nil {
		return err
	}
	return r.keep(r.entry.File, "all tables but Logical_Flow", file.Bytes())
}

// mostTables bounds the tables of a pipeline. Their numbers end where the schema
// says: the server tells.
const mostTables = 256

// flows writes Logical_Flow, each piece as a file of its own.
func (r *databaseReader) flows(ctx context.Context) error {
	r.entry.LogicalFlows = string(r.Flows)
	if r.Flows == NoFlows {
		return nil
	}
	r.entry.LogicalFlows, r.entry.Snapshot = partFlows, false
	datapaths, err := r.local(ctx)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(datapaths)) {
		r.entry.Datapaths = append(r.entry.Datapaths, string(id))
	}
	r.nbCfg(ctx)
	for _, pipeline := range []string{"ingress", "egress"} {
		for table := range mostTables {
			err := r.table(ctx, pipeline, table, datapaths)
			if table > 0 && errors.Is(err, ovsdb.ErrConstraint) {
				break
			}
			if err != nil {
				return err
			}
			r.tell("reading logical flows: %d so far (%s table %d)", r.entry.Rows, pipeline, table)
		}
	}
	if err := r.settle(ctx, func(ids []ovsdb.RowID) error { return r.part(ctx, ids) }); err != nil {
		return err
	}
	r.nbCfg(ctx)
	r.entry.LogicalFlows = string(r.Flows)
	r.entry.Snapshot = r.entry.Snapshot && r.Flows == AllFlows
	return nil
}

// partFlows stands in the index for logical flows of which reading ended early.
const partFlows = "part"

// table writes the flows of one table. What their datapaths are costs the server no
// more than to compare all rows: which rows there are is then asked for some of these at
// a time.
func (r *databaseReader) table(ctx context.Context, pipeline string, table int, local map[ovsdb.UUID]bool) error {
	where := []ovsdb.Condition{ovsdb.Where("pipeline", "==", pipeline), ovsdb.Where("table_id", "==", table)}
	columns := []string{"logical_datapath"}
	if r.client.Has(logicalFlow, "logical_dp_group") {
		columns = append(columns, "logical_dp_group") // of a row one is empty
	}
	var found [][]ovsdb.Raw
	if err := r.request(ctx, func() (err error) {
		found, err = r.saver.Find(ctx, ovsdb.Lookup{Table: logicalFlow, Columns: columns, Where: where, Distinct: true})
		return err
	}); err != nil {
		return err
	}
	for _, column := range columns {
		var all, wanted []ovsdb.UUID
		for _, row := range found[0] {
			for _, id := range row[column].UUIDs() {
				all = append(all, id)
				if local == nil || local[id] {
					wanted = append(wanted, id)
				}
			}
		}
		for n := max(1, len(wanted)/firstShare); len(wanted) > 0; {
			n = min(n, len(wanted))
			without := slices.DeleteFunc(slices.Clone(all), func(id ovsdb.UUID) bool { return slices.Contains(wanted[:n], id) })
			part := append(slices.Clone(where), ovsdb.Where(column, "excludes", ovsdb.Set[ovsdb.UUID](without)))
			if len(columns) > 1 {
				part = append(part, ovsdb.Where(column, "!=", ovsdb.Set[ovsdb.UUID]{}))
			}
			ids, err := r.list(ctx, ovsdb.Lookup{Table: logicalFlow, Columns: []string{}, Where: part})
			if err == nil {
				err = r.batches(ctx, ids, firstBatch, func(ids []ovsdb.RowID) error { return r.part(ctx, ids) })
			}
			if err != nil {
				return err
			}
			wanted = wanted[n:]
			n = max(1, n*mostListed/max(1, len(ids)))
		}
	}
	return nil
}

// How much of a table is listed at once: of its datapaths at first one in firstShare,
// then as many as have some mostListed rows if the others are like those.
const (
	firstShare = 16
	mostListed = 15_000
)

// part writes rows as a file beside that of the tables.
func (r *databaseReader) part(ctx context.Context, ids []ovsdb.RowID) error {
	var piece bytes.Buffer
	rows, err := r.saver.Add(ctx, &piece, ids)
	if err != nil {
		return err
	}
	r.entry.Rows += rows[logicalFlow]
	name := path.Join(r.entry.File+partsSuffix, fmt.Sprintf("%06d", r.entry.Pieces))
	return r.keep(name, fmt.Sprintf("%d rows of Logical_Flow", rows[logicalFlow]), piece.Bytes())
}

// list asks which rows there are: the rows themselves are then asked for by their
// UUIDs, which the server looks up.
func (r *databaseReader) list(ctx context.Context, l ovsdb.Lookup) (ids []ovsdb.RowID, err error) {
	err = r.request(ctx, func() error {
		found, err := r.saver.Find(ctx, l)
		if err != nil {
			return err
		}
		for _, row := range found[0] {
			ids = append(ids, ovsdb.RowID{Table: l.Table, UUID: row.UUID()})
		}
		return nil
	})
	return ids, err
}

// batches asks for rows, at first so many at a time, then as many as the server gives
// in aimedHold.
func (r *databaseReader) batches(ctx context.Context, ids []ovsdb.RowID, size int, write func([]ovsdb.RowID) error) error {
	for len(ids) > 0 {
		n := min(size, len(ids))
		if err := r.request(ctx, func() error { return write(ids[:n]) }); err != nil {
			return err
		}
		_, took := r.saver.Last()
		ids, size = ids[n:], nextBatch(size, n, took)
	}
	return nil
}

// nextBatch is how many rows to ask for when n of them took so long: at most
// twice as many.
func nextBatch(batch, n int, took time.Duration) int {
	if took > aimedHold {
		return max(1, int(float64(n)*float64(aimedHold)/float64(took)))
	}
	if n < batch {
		return batch
	}
	return min(2*batch, largest)
}

// mostRounds bounds how often the rows are read again that have changed meanwhile;
// fewChanges are read at once.
const (
	mostRounds = 20
	fewChanges = 200
)

// settle writes the rows again that have changed since they were read. Once they
// come in one piece, and no other has changed before that, all that was written is as
// it was at that moment.
func (r *databaseReader) settle(ctx context.Context, write func([]ovsdb.RowID) error) error {
	changed, known := r.saver.Changed()
	for range mostRounds {
		if !known || len(changed) == 0 {
			break
		}
		if err := r.batches(ctx, changed, fewChanges, write); err != nil {
			return err
		}
		before := changed
		changed, known = r.saver.Changed()
		others := slices.ContainsFunc(changed, func(id ovsdb.RowID) bool { return !slices.Contains(before, id) })
		if len(before) <= fewChanges && !others {
			changed = nil
		}
	}
	answered, _ := r.saver.Last()
	r.entry.Time, r.entry.Snapshot = answered.UTC(), known && len(changed) == 0
	return nil
}

// request asks the server, after the others there had as long as the last request
// took.
func (r *databaseReader) request(ctx context.Context, ask func() error) error {
	answered, took := r.saver.Last()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(time.Until(answered.Add(took))):
	}
	err := ask()
	_, took = r.saver.Last()
	r.entry.Pieces++
	r.entry.Longest = max(r.entry.Longest, int(took.Milliseconds()))
	return err
}

type nbCfgRow struct {
	NBCfg int `ovsdb:"nb_cfg"`
}

func (nbCfgRow) Table() string { return "SB_Global" }

func (r *databaseReader) nbCfg(ctx context.Context) {
	rows, err := ovsdb.Find[nbCfgRow](ctx, r.client)
	if err == nil && len(rows) > 0 {
		r.entry.NBCfg = append(r.entry.NBCfg, rows[0].NBCfg)
	}
}

type bindingRow struct {
	Datapath ovsdb.UUID            `ovsdb:"datapath"`
	Chassis  ovsdb.Set[ovsdb.UUID] `ovsdb:"chassis"`
	Type     string                `ovsdb:"type"`
}

type groupRow struct {
	UUID      ovsdb.UUID            `ovsdb:"_uuid"`
	Datapaths ovsdb.Set[ovsdb.UUID] `ovsdb:"datapaths"`
}

type chassisIDRow struct {
	UUID ovsdb.UUID `ovsdb:"_uuid"`
	Name string     `ovsdb:"name"`
}

func (bindingRow) Table() string   { return "Port_Binding" }
func (groupRow) Table() string     { return "Logical_DP_Group" }
func (chassisIDRow) Table() string { return "Chassis" }

// local are the datapaths with a port on a node that can be read, those that join
// others, and the groups with one of them; nil: all are wanted.
func (r *databaseReader) local(ctx context.Context) (map[ovsdb.UUID]bool, error) {
	if r.Flows != LocalFlows {
		return nil, nil
	}
	var rows struct {
		Bindings []bindingRow
		Groups   []groupRow
		Chassis  []chassisIDRow
	}
	if err := ovsdb.Load(ctx, r.client, &rows); err != nil {
		return nil, err
	}
	near := map[ovsdb.UUID]bool{}
	for _, ch := range rows.Chassis {
		if n := r.cluster.Node(ch.Name); n != nil && !n.far {
			near[ch.UUID] = true
		}
	}
	local := map[ovsdb.UUID]bool{}
	for _, b := range rows.Bindings {
		if slices.ContainsFunc(b.Chassis, func(id ovsdb.UUID) bool { return near[id] }) {
			local[b.Datapath] = true
		}
	}
	if len(local) > 0 { // routers and switches that join them have no port on any node
		for _, b := range rows.Bindings {
			if b.Type == "patch" {
				local[b.Datapath] = true
			}
		}
	}
	for _, g := range rows.Groups {
		if slices.ContainsFunc(g.Datapaths, func(id ovsdb.UUID) bool { return local[id] }) {
			local[g.UUID] = true
		}
	}
	return local, nil
}
