package ovsdb

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
)

// A Saver writes a database in the form of a standalone file, piece by piece:
// unlike Client.Backup it also has the columns that are lost when a server
// restarts, such as Connection.status, and of a member that is cut off from its
// cluster it takes what that knew last.
type Saver struct {
	client *Client
	// Change is called for each row before it is written; nil: rows are written as
	// they are.
	Change func(table string, row Raw)
}

// Saver is for the database that the client reads.
func (c *Client) Saver(change func(table string, row Raw)) *Saver { return &Saver{c, change} }

// Save writes the schema and, from one transaction, all tables but those that are
// left out. A file begins with it.
func (v *Saver) Save(ctx context.Context, w io.Writer, leaveOut ...string) error {
	ctx, cancel := context.WithTimeout(ctx, max(v.client.config.Timeout, wholeTimeout))
	defer cancel()
	s, err := v.client.leader(ctx)
	if err != nil {
		s = v.client.current() // what a member knows that was left alone is better than nothing
	}
	declared, err := s.conn.call(ctx, "get_schema", []any{s.schema.Name})
	if err == nil {
		declared, err = KeepAll(declared)
	}
	if err != nil {
		return v.client.failure(s.remote.text, err)
	}
	tables, err := s.all(ctx, func(table string, _ *columnSchema) bool { return !slices.Contains(leaveOut, table) })
	if err != nil {
		return v.client.failure(s.remote.text, err)
	}
	if err := writeRecord(w, declared); err != nil {
		return err
	}
	return v.write(w, tables)
}

// Add writes rows of a table that Save left out, from one transaction.
func (v *Saver) Add(ctx context.Context, w io.Writer, lookups ...Lookup) (rows int, err error) {
	found, err := v.client.Raw(ctx, lookups...)
	if err != nil {
		return 0, err
	}
	tables := map[string][]Raw{}
	for i, l := range lookups {
		tables[l.Table] = append(tables[l.Table], found[i]...)
		rows += len(found[i])
	}
	return rows, v.write(w, tables)
}

func (v *Saver) write(w io.Writer, tables map[string][]Raw) error {
	if v.Change != nil {
		for name, rows := range tables {
			for _, row := range rows {
				v.Change(name, row)
			}
		}
	}
	return writeRows(w, tables)
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
