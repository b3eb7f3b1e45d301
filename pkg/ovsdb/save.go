package ovsdb

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ovnctl/ovnctl/pkg/memory"
)

// A Saver writes a database as a standalone file, piece by piece, so that no request blocks the server's other
// clients for long. Unlike Client.Backup it also writes columns that are lost when a server restarts, such as
// Connection.status; for a member that is cut off from its cluster it writes what that last knew.
//
// It monitors which rows change meanwhile: rereading those until none is left gives a consistent state.
type Saver struct {
	client   *Client
	change   func(table string, row Raw)
	watched  map[string]bool // tables
	session  *session        // of its own
	written  map[RowID]bool
	answered time.Time
	took     time.Duration

	mu      sync.Mutex // guards what the server reports
	changed map[RowID]bool
	missed  bool
}

// patience is the minimum timeout of a Saver's request: on a host short of CPU time a shorter one would only
// start over.
const patience = 30 * time.Second

// Saver starts saving the client's database. Change is called for each row before it is written; nil writes
// rows unchanged. Changes in the unwatched tables are ignored. Close the Saver.
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

// connect opens a separate connection, since a server sends updates to the client that asked for them, and
// monitors changes.
func (v *Saver) connect(ctx context.Context) error {
	s, err := v.client.leader(ctx)
	if err != nil {
		s = v.client.current() // a cut-off member's data is better than none
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
			// _version differs after each change, and costs nothing initially.
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

// mostChanges bounds the changed rows that are tracked. With more, ovn-northd is at work and no consistent
// moment would be found.
const mostChanges = 200_000

// note handles an update notification: its id, and {TABLE:{UUID:CHANGE}}.
func (v *Saver) note(_ string, params []byte) {
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

// Changed returns the rows changed, inserted or deleted since the last call; all is false when there may be
// more.
func (v *Saver) Changed() (rows []RowID, all bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	rows = slices.Collect(maps.Keys(v.changed))
	clear(v.changed)
	return rows, !v.missed
}

// Tables returns the tables of the database.
func (v *Saver) Tables() []string { return slices.Sorted(maps.Keys(v.session.schema.Tables)) }

// Schema writes the schema, which begins a file.
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

// Origin returns the remote of the server that reports changes.
func (v *Saver) Origin() string { return v.session.remote.text }

// Find looks up rows unchanged, without writing them.
func (v *Saver) Find(ctx context.Context, lookups ...Lookup) ([][]Raw, error) {
	if memory.Left() <= 0 {
		return nil, v.client.failure(v.session.remote.text, ErrNoMemory)
	}
	ctx, cancel := context.WithTimeout(ctx, max(v.client.config.Timeout, patience))
	defer cancel()
	text, err := v.ask(ctx, lookups)
	if err != nil && v.session.conn.cause() != nil && ctx.Err() == nil { // retry once elsewhere
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

// Last returns when the server last replied, and how long that took.
func (v *Saver) Last() (answered time.Time, took time.Duration) { return v.answered, v.took }

// Add writes the current rows in one transaction, missing ones as deleted. It returns by how many
// the rows of each table grow.
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

// AddRaw writes rows of a table that were read elsewhere after the Saver began, such as from the server's
// file, and returns how many.
func (v *Saver) AddRaw(w io.Writer, table string, rows []Raw) (n int, err error) {
	t := newTransaction()
	for _, row := range rows {
		n += v.set(t, RowID{table, row.UUID()}, row)
	}
	return n, t.write(w)
}

// set writes a row, and returns 1 if it is new to the file, else 0.
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

// KeepAll returns the schema with no column that is lost when a server restarts, for a file that has them all.
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
