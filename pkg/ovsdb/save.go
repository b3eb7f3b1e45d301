package ovsdb

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
)

// A Saver writes a database in the form of a standalone file, piece by piece, so
// that no request holds up the server's other clients for long. Unlike Client.Backup
// it also writes the columns that are lost when a server restarts, such as
// Connection.status, and of a member that is cut off from its cluster it takes what
// that knew last.
//
// It has the server tell which rows change meanwhile: who reads those again, until
// none is left, has all rows as they were at one moment.
type Saver struct {
	client   *Client
	change   func(table string, row Raw)
	watched  map[string]bool // tables
	session  *session        // of its own
	written  map[RowID]bool
	answered time.Time
	took     time.Duration

	mu      sync.Mutex // of what the server tells
	changed map[RowID]bool
	missed  bool
}

// patience bounds a request of a Saver, at least: that of a host which is short of
// processor time would have to begin anew.
const patience = 30 * time.Second

// Saver begins to save the database that the client reads. Change is called for
// each row before it is written; nil: rows are written as they are. Of changes in the
// tables that are given it takes no notice. Close the Saver.
func (c *Client) Saver(ctx context.Context, change func(table string, row Raw), unwatched ...string) (*Saver, error) {
	v := &Saver{client: c, change: change, watched: map[string]bool{}, written: map[RowID]bool{}, changed: map[RowID]bool{}}
	for table := range c.current().schema.Tables {
		v.watched[table] = !slices.Contains(unwatched, table)
	}
	ctx, cancel := context.WithTimeout(ctx, max(c.config.Timeout, patience))
	defer cancel()
	if err := v.connect(ctx); err != nil {
		v.Close()
		return nil, err
	}
	return v, nil
}

// connect makes a connection beside the client's, for a server tells every client
// what it has asked for, and asks to be told of changes.
func (v *Saver) connect(ctx context.Context) error {
	s, err := v.client.leader(ctx)
	if err != nil {
		s = v.client.current() // what a member knows that was left alone is better than nothing
	}
	own, err := v.client.open(ctx, s.remote)
	if err != nil {
		return v.client.failure(s.remote.text, err)
	}
	if v.session != nil {
		v.session.conn.close()
	}
	v.session = own
	own.conn.mu.Lock()
	own.conn.updated = v.note
	own.conn.mu.Unlock()
	requests := map[string]any{}
	for table := range own.schema.Tables {
		if v.watched[table] {
			// A row's version is another after each change, and costs nothing to begin with.
			requests[table] = map[string]any{"columns": []string{"_version"}, "select": map[string]bool{"initial": false}}
		}
	}
	if _, err := own.conn.call(ctx, "monitor", []any{own.schema.Name, "changes", requests}); err != nil {
		return v.client.failure(s.remote.text, err)
	}
	return nil
}

// Close ends the connection.
func (v *Saver) Close() {
	if v.session != nil {
		v.session.conn.close()
	}
}

// mostChanges bounds the rows of which is kept that they changed. Where more do,
// ovn-northd is at work, and no moment would be caught.
const mostChanges = 200_000

// note takes an update notification: its id, and {TABLE:{UUID:CHANGE}}.
func (v *Saver) note(params []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	in := scanner{b: params, seen: internText(len(params))}
	err := in.array(func() error {
		if in.peek() != '{' {
			return in.skip()
		}
		return in.object(nil, func(table string) error {
			return in.object(nil, func(id string) error {
				if len(v.changed) < mostChanges {
					v.changed[RowID{table, UUID(id)}] = true
				} else {
					v.missed = true
				}
				return in.skip()
			})
		})
	})
	v.missed = v.missed || err != nil
}

// Changed are the rows that have changed since it was asked last, that were
// inserted or deleted; all is false when more may have.
func (v *Saver) Changed() (rows []RowID, all bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	rows = slices.Collect(maps.Keys(v.changed))
	clear(v.changed)
	return rows, !v.missed
}

// Tables are the tables of the database.
func (v *Saver) Tables() []string { return slices.Sorted(maps.Keys(v.session.schema.Tables)) }

// Schema writes the schema. A file begins with it.
func (v *Saver) Schema(ctx context.Context, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, max(v.client.config.Timeout, patience))
	defer cancel()
	declared, err := v.session.conn.call(ctx, "get_schema", []any{v.session.schema.Name})
	if err == nil {
		declared, err = KeepAll(declared)
	}
	if err != nil {
		return v.client.failure(v.session.remote.text, err)
	}
	return writeRecord(w, declared)
}

// Origin is the remote of the server that tells of changes.
func (v *Saver) Origin() string { return v.session.remote.text }

// Find looks rows up as they are, without writing them.
func (v *Saver) Find(ctx context.Context, lookups ...Lookup) ([][]Raw, error) {
	ctx, cancel := context.WithTimeout(ctx, max(v.client.config.Timeout, patience))
	defer cancel()
	text, err := v.ask(ctx, lookups)
	if err != nil && v.session.conn.cause() != nil && ctx.Err() == nil { // once more, elsewhere
		v.mu.Lock()
		v.missed = true
		v.mu.Unlock()
		if err := v.connect(ctx); err != nil {
			return nil, err
		}
		text, err = v.ask(ctx, lookups)
	}
	var rows [][]Raw
	if err == nil {
		rows, err = rawRows(text, lookups)
	}
	if err != nil {
		return nil, v.client.failure(v.session.remote.text, err)
	}
	return rows, nil
}

func (v *Saver) ask(ctx context.Context, lookups []Lookup) ([]byte, error) {
	defer func(start time.Time) { v.answered, v.took = time.Now(), time.Since(start) }(time.Now())
	return v.session.ask(ctx, lookups)
}

// Last says when the server answered last, and how long that took.
func (v *Saver) Last() (answered time.Time, took time.Duration) { return v.answered, v.took }

// Add writes rows as they are at one moment, those that are gone as deleted. It
// returns how many there are of each table.
func (v *Saver) Add(ctx context.Context, w io.Writer, ids []RowID) (map[string]int, error) {
	lookups := make([]Lookup, len(ids))
	for i, id := range ids {
		lookups[i] = Lookup{Table: id.Table, Where: []Condition{Where("_uuid", "==", id.UUID)}}
	}
	found, err := v.Find(ctx, lookups...)
	if err != nil {
		return nil, err
	}
	rows := map[string]int{}
	t := newTransaction()
	for i, id := range ids {
		switch {
		case len(found[i]) > 0:
			rows[id.Table] += v.set(t, id, found[i][0])
		case v.written[id]:
			t.remove(id)
			rows[id.Table]--
			delete(v.written, id)
		}
	}
	return rows, t.write(w)
}

// AddRaw writes rows of a table that were read elsewhere after the Saver had begun,
// such as from the server's file, and returns how many.
func (v *Saver) AddRaw(w io.Writer, table string, rows []Raw) (n int, err error) {
	t := newTransaction()
	for _, row := range rows {
		n += v.set(t, RowID{table, row.UUID()}, row)
	}
	return n, t.write(w)
}

// set writes a row, and returns how many more there are.
func (v *Saver) set(t *transaction, id RowID, row Raw) int {
	if v.change != nil {
		v.change(id.Table, row)
	}
	t.set(id, row)
	if v.written[id] {
		return 0
	}
	v.written[id] = true
	return 1
}

// KeepAll is a schema in which no column is lost when a server restarts: that of
// a file which has them all.
func KeepAll(schema json.RawMessage) (json.RawMessage, error) {
	var s map[string]json.RawMessage
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	var tables map[string]map[string]json.RawMessage
	if err := json.Unmarshal(s["tables"], &tables); err != nil {
		return nil, err
	}
	for _, table := range tables {
		var columns map[string]map[string]json.RawMessage
		if err := json.Unmarshal(table["columns"], &columns); err != nil {
			return nil, err
		}
		for _, c := range columns {
			maps.DeleteFunc(c, func(key string, _ json.RawMessage) bool { return key == "ephemeral" })
		}
		text, err := json.Marshal(columns)
		if err != nil {
			return nil, err
		}
		table["columns"] = text
	}
	text, err := json.Marshal(tables)
	if err != nil {
		return nil, err
	}
	s["tables"] = text
	return json.Marshal(s)
}
