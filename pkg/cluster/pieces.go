package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/memory"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/secret"
)

const logicalFlow = "Logical_Flow"

// A databaseReader reads a database from its server's file if that is on this host, else in pieces. A server blocks
// all its other clients while it prepares a large reply: 16 s for 600,000 logical flows. Rows that change meanwhile
// are read again at the end until none have; then all rows are from one moment.
type databaseReader struct {
	*Capture
	client *ovsdb.Client
	saver  *ovsdb.Saver
	entry  archive.IndexDatabase
	read   bytes.Buffer // all tables but Logical_Flow, and of that up to mostRead
	all    bool         // Logical_Flow too
	parts  int
	late   []ovsdb.RowID   // rows of Logical_Flow changed since the server's file was opened
	file   *ovsdb.Snapshot // the server's own; nil if elsewhere or clustered
}

// Requests are sized to hold the server for aimedHold. A table's first ones are small: some tables have rows of ten
// thousand elements.
const (
	aimedHold   = 150 * time.Millisecond
	firstBatch  = 20
	largest     = 2000
	partsSuffix = ".parts" // for the directory with a database file's pieces
)

// database writes a database to the named file and returns what it read.
func (c *Capture) database(ctx context.Context, name string, zone *Zone, db ovsdb.Reader) (ovsdb.Reader, error) {
	if copied, ok := db.(*node.Copy); ok {
		return db, c.copied(name, zone.Name, copied)
	}
	client, ok := db.(*ovsdb.Client)
	if !ok {
		return nil, errors.New("this is a capture: copy it as it is")
	}
	var unwatched []string
	flows := db.Has(logicalFlow, "")
	if flows && c.Flows != AllFlows {
		unwatched = append(unwatched, logicalFlow)
	}
	saver, err := client.Saver(ctx, hideSecrets, unwatched...)
	if err != nil {
		return nil, err
	}
	defer saver.Close()
	r := &databaseReader{Capture: c, client: client, saver: saver, all: true}
	r.entry = archive.IndexDatabase{Name: db.Name(), Zone: zone.Name, File: name, Origin: db.Origin()}
	if zone.via == nil {
		r.file = serverFile(saver.Origin(), client)
	}
	if r.file != nil {
		defer r.file.Close() //nolint:errcheck // only read
	}
	if err := r.tables(ctx); err != nil {
		return nil, err
	}
	if flows {
		err = r.flows(ctx)
	}
	c.w.Describe(func(x *archive.Index) { x.Databases = append(x.Databases, r.entry) })
	if err == nil {
		err = c.w.Checkpoint()
	}
	if err != nil {
		return nil, err
	}
	return r.reader()
}

// copied writes a database that was read at once.
func (c *Capture) copied(name, zone string, db *node.Copy) error {
	entry := archive.IndexDatabase{Name: db.Name(), Zone: zone, File: name, Origin: db.Origin(), Time: db.Read.UTC(), Pieces: 1, Snapshot: true}
	if db.Has(logicalFlow, "") {
		entry.LogicalFlows = string(AllFlows)
		entry.Rows = db.Rows(logicalFlow)
	}
	if err := c.keep(name, "all tables", ovsdb.RewriteRecords(db.File, secret.Text)); err != nil {
		return err
	}
	c.w.Describe(func(x *archive.Index) { x.Databases = append(x.Databases, entry) })
	return c.w.Checkpoint()
}

// reader returns a reader of what was read.
func (r *databaseReader) reader() (ovsdb.Reader, error) {
	entry := r.entry
	if !r.all {
		entry.LogicalFlows = partFlows
	}
	db, err := ovsdb.ParseFile(entry.Origin, bytes.NewReader(r.read.Bytes()))
	if err != nil {
		return nil, err
	}
	return whole(db, &archive.Index{Databases: []archive.IndexDatabase{entry}}, entry.File), nil
}

// hideSecrets hides the secrets in a row.
func hideSecrets(_ string, row ovsdb.Raw) {
	for column, v := range row {
		row[column] = ovsdb.Value(secret.String(string(v)))
	}
}

// tables writes all tables but Logical_Flow into one file: none is of use without the others.
func (r *databaseReader) tables(ctx context.Context) error {
	if err := r.saver.Schema(ctx, &r.read); err != nil {
		return err
	}
	rows := 0
	count := func(n int) {
		rows += n
		r.tell("reading %s: %d rows so far", r.entry.Name, rows)
	}
	write := func(ids []ovsdb.RowID) error {
		if len(ids) == 0 {
			return nil
		}
		added, err := r.saver.Add(ctx, &r.read, ids)
		for _, n := range added {
			count(n)
		}
		return err
	}
	for _, table := range r.saver.Tables() {
		if table == logicalFlow {
			continue
		}
		if r.inFile(table) {
			if err := r.copyTable(ctx, table, func(raw []ovsdb.Raw) error {
				n, err := r.saver.AddRaw(&r.read, table, raw)
				count(n)
				return err
			}); err != nil {
				return err
			}
			continue
		}
		ids, err := r.list(ctx, ovsdb.Lookup{Table: table, Columns: []string{}})
		if err == nil {
			err = r.rows(ctx, ids, firstBatch, write)
		}
		if err != nil {
			return err
		}
	}
	if err := r.settle(ctx, nil, func(ids []ovsdb.RowID) error {
		var others []ovsdb.RowID
		for _, id := range ids {
			if id.Table != logicalFlow {
				others = append(others, id)
			} else if r.inFile(logicalFlow) { // else all are read later
				r.late = append(r.late, id)
			}
		}
		return write(others)
	}); err != nil {
		return err
	}
	return r.keep(r.entry.File, "all tables but Logical_Flow", r.read.Bytes())
}

// flows writes Logical_Flow, each piece to its own file.
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
	write := func(ids []ovsdb.RowID) error {
		return r.part(func(piece io.Writer) (int, error) {
			rows, err := r.saver.Add(ctx, piece, ids)
			return rows[logicalFlow], err
		})
	}
	if r.inFile(logicalFlow) {
		err = r.copyTable(ctx, logicalFlow, func(raw []ovsdb.Raw) error {
			r.tell("reading logical flows: %d so far", r.entry.Rows)
			return r.part(func(piece io.Writer) (int, error) { return r.saver.AddRaw(piece, logicalFlow, raw) })
		})
	} else {
		err = r.flowTables(ctx, datapaths, &batches{r, write, firstBatch, nil})
	}
	if err != nil {
		return err
	}
	if err := r.settle(ctx, r.late, write); err != nil {
		return err
	}
	r.nbCfg(ctx)
	r.entry.LogicalFlows = string(r.Flows)
	r.entry.Snapshot = r.entry.Snapshot && r.Flows == AllFlows
	return nil
}

// flowTables requests the flows of each pipeline table in turn.
func (r *databaseReader) flowTables(ctx context.Context, local map[ovsdb.UUID]bool, rows *batches) error {
	for _, pipeline := range []string{"ingress", "egress"} {
		of := ovsdb.Where("pipeline", "==", pipeline)
		tables, err := r.find(ctx, ovsdb.Lookup{Table: logicalFlow, Columns: []string{"table_id"}, Where: []ovsdb.Condition{of}, Distinct: true})
		if err != nil {
			return err
		}
		for _, row := range tables {
			table := row["table_id"]
			if err := r.table(ctx, []ovsdb.Condition{of, ovsdb.Where("table_id", "==", table)}, local, rows); err != nil {
				return err
			}
			r.tell("reading logical flows: %d so far (%s table %s)", r.entry.Rows, pipeline, table)
		}
	}
	return rows.end(ctx)
}

// partFlows marks logical flows in the index whose reading ended early.
const partFlows = "part"

// table writes the flows of one table. Finding their datapaths costs the server no more than comparing all rows; the
// rows are then listed for some datapaths at a time.
func (r *databaseReader) table(ctx context.Context, where []ovsdb.Condition, local map[ovsdb.UUID]bool, rows *batches) error {
	columns := []string{"logical_datapath"}
	if r.client.Has(logicalFlow, "logical_dp_group") {
		columns = append(columns, "logical_dp_group") // a row has one of them
	}
	found, err := r.find(ctx, ovsdb.Lookup{Table: logicalFlow, Columns: columns, Where: where, Distinct: true})
	if err != nil {
		return err
	}
	for _, column := range columns {
		var all []ovsdb.UUID
		for _, row := range found {
			all = append(all, row[column].UUIDs()...)
		}
		wanted := slices.DeleteFunc(slices.Clone(all), func(id ovsdb.UUID) bool { return local != nil && !local[id] })
		for n := max(1, len(wanted)/firstShare); len(wanted) > 0; {
			n = min(n, len(wanted))
			without := slices.DeleteFunc(slices.Clone(all), func(id ovsdb.UUID) bool { return slices.Contains(wanted[:n], id) })
			part := append(slices.Clone(where), ovsdb.Where(column, "excludes", ovsdb.Set[ovsdb.UUID](without)))
			if len(columns) > 1 {
				part = append(part, ovsdb.Where(column, "!=", ovsdb.Set[ovsdb.UUID]{}))
			}
			ids, err := r.list(ctx, ovsdb.Lookup{Table: logicalFlow, Columns: []string{}, Where: part})
			if err == nil {
				err = rows.add(ctx, ids)
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

// How much of a table is listed at once: at first one in firstShare of its datapaths, then as many as have some
// mostListed rows if the others are similar.
const (
	firstShare = 16
	mostListed = 10_000
)

// mostRead is how much of a database is kept in memory so that checks need not request logical flows.
const mostRead = 64 << 20

// part writes rows to a file beside that of the tables.
func (r *databaseReader) part(write func(io.Writer) (rows int, err error)) error {
	var piece bytes.Buffer
	rows, err := write(&piece)
	if err != nil {
		return err
	}
	r.entry.Rows += rows
	if r.all = r.all && int64(r.read.Len()+piece.Len()) <= min(mostRead, memory.Left()/4); r.all {
		r.read.Write(piece.Bytes())
	}
	name := path.Join(r.entry.File+partsSuffix, fmt.Sprintf("%06d", r.parts))
	r.parts++
	return r.keep(name, fmt.Sprintf("%d rows of Logical_Flow", rows), piece.Bytes())
}

// list finds which rows exist; the rows themselves are then requested by UUID, which the server looks up.
func (r *databaseReader) list(ctx context.Context, l ovsdb.Lookup) (ids []ovsdb.RowID, err error) {
	rows, err := r.find(ctx, l)
	for _, row := range rows {
		ids = append(ids, ovsdb.RowID{Table: l.Table, UUID: row.UUID()})
	}
	return ids, err
}

func (r *databaseReader) find(ctx context.Context, l ovsdb.Lookup) (rows []ovsdb.Raw, err error) {
	err = r.request(ctx, func() error {
		found, err := r.saver.Find(ctx, l)
		if err == nil {
			rows = found[0]
		}
		return err
	})
	return rows, err
}

// batches requests rows, as many at a time as the server returns in aimedHold.
type batches struct {
	*databaseReader
	write  func([]ovsdb.RowID) error
	size   int // of the next
	listed []ovsdb.RowID
}

// add queues rows and requests them once they fill a batch.
func (b *batches) add(ctx context.Context, ids []ovsdb.RowID) error {
	b.listed = append(b.listed, ids...)
	for len(b.listed) >= b.size {
		if err := b.next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// end requests the rest.
func (b *batches) end(ctx context.Context) error {
	for len(b.listed) > 0 {
		if err := b.next(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (b *batches) next(ctx context.Context) error {
	n := min(b.size, len(b.listed))
	if err := b.request(ctx, func() error { return b.write(b.listed[:n]) }); err != nil {
		return err
	}
	_, took := b.saver.Last()
	b.listed, b.size = b.listed[n:], nextBatch(b.size, n, took)
	return nil
}

// rows requests rows of one kind, size of them at first.
func (r *databaseReader) rows(ctx context.Context, ids []ovsdb.RowID, size int, write func([]ovsdb.RowID) error) error {
	b := &batches{r, write, size, ids}
	return b.end(ctx)
}

// nextBatch returns how many rows to request next if n took that long: at most twice as many.
func nextBatch(batch, n int, took time.Duration) int {
	fit := max(1, int(float64(n)*float64(aimedHold)/float64(max(took, 1))))
	if n < batch && fit > n { // the end of a table
		return batch
	}
	return min(fit, 2*batch, largest)
}

// mostRounds bounds how often changed rows are read again; fewChanges are read at once.
const (
	mostRounds = 20
	fewChanges = 200
)

// settle writes again the rows that changed since they were read; changed are those already known. Once they fit in
// one piece and no others changed before it, all that was written is from that moment.
func (r *databaseReader) settle(ctx context.Context, changed []ovsdb.RowID, write func([]ovsdb.RowID) error) error {
	// By its next reply the server has reported all that changed before it.
	if err := r.request(ctx, func() error { _, err := r.saver.Find(ctx); return err }); err != nil {
		return err
	}
	more, known := r.saver.Changed()
	changed = append(changed, more...)
	for range mostRounds {
		if !known || len(changed) == 0 {
			break
		}
		if err := r.rows(ctx, changed, fewChanges, write); err != nil {
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

// request sends a request after leaving the server to its other clients for as long as the last one took.
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

func (r *databaseReader) nbCfg(ctx context.Context) {
	rows, err := ovsdb.Find[sb.GlobalNBCfg](ctx, r.client)
	if err == nil && len(rows) > 0 {
		r.entry.NBCfg = append(r.entry.NBCfg, rows[0].NBCfg)
	}
}

// local returns the datapaths with a port on a readable node, those that join others, and the groups with one of
// them; nil means all.
func (r *databaseReader) local(ctx context.Context) (map[ovsdb.UUID]bool, error) {
	if r.Flows != LocalFlows {
		return nil, nil
	}
	var rows struct {
		Bindings []sb.PortBindingPlace
		Groups   []sb.LogicalDPGroup
		Chassis  []sb.ChassisName
	}
	read, err := r.reader()
	if err != nil {
		return nil, err
	}
	if err := ovsdb.Load(ctx, read, &rows); err != nil {
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
