package ovsdb

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// wholeTimeout is the minimum timeout for work on a whole database.
const wholeTimeout = 2 * time.Minute

// Backup writes the current database to w as a standalone file that ovsdb-server(1) starts from and
// `ovsdb-client restore` accepts. The rows are consistent; columns not kept in files are left out.
func (c *Client) Backup(ctx context.Context, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, max(c.config.Timeout, wholeTimeout))
	defer cancel()
	s, err := c.leader(ctx)
	if err != nil {
		return err
	}
	if err := s.backup(ctx, w); err != nil {
		return c.failure(s.remote.text, err)
	}
	return nil
}

func (s *session) backup(ctx context.Context, w io.Writer) error {
	declared, err := s.conn.call(ctx, "get_schema", []any{s.schema.Name})
	if err != nil {
		return err
	}
	tables, err := s.all(ctx, func(_ string, d *columnSchema) bool { return !d.ephemeral })
	if err != nil {
		return err
	}
	if err := writeRecord(w, declared); err != nil {
		return err
	}
	return writeRows(w, tables)
}

// all reads the columns chosen by want, of all tables that have one, in one transaction.
func (s *session) all(ctx context.Context, want func(table string, d *columnSchema) bool) (map[string][]Raw, error) {
	var lookups []Lookup
	for _, name := range slices.Sorted(maps.Keys(s.schema.Tables)) {
		columns := []string{}
		for column, d := range s.schema.Tables[name].Columns {
			if want(name, d) {
				columns = append(columns, column)
			}
		}
		if len(columns) > 0 {
			lookups = append(lookups, Lookup{Table: name, Columns: slices.Sorted(slices.Values(columns))})
		}
	}
	rows, err := s.raw(ctx, lookups)
	if err != nil {
		return nil, err
	}
	tables := map[string][]Raw{}
	for i, l := range lookups {
		tables[l.Table] = rows[i]
	}
	return tables, nil
}

// writeRows writes the record of a transaction that inserts rows.
func writeRows(w io.Writer, tables map[string][]Raw) error {
	t := newTransaction()
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		for _, row := range tables[name] {
			t.set(RowID{name, row.UUID()}, row)
		}
	}
	return t.write(w)
}

// writeRecord writes a record of a standalone file, ovsdb(5).
func writeRecord(w io.Writer, text []byte) error {
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return err
	}
	line.WriteByte('\n')
	return writeLine(w, line.Bytes())
}

// writeLine writes a record whose text ends its line.
func writeLine(w io.Writer, line []byte) error {
	_, err := fmt.Fprintf(w, "OVSDB JSON %d %x\n%s", len(line), sha1.Sum(line), line)
	return err
}

// Convert makes the server convert the database to another schema of the same name, like `ovsdb-client
// convert`: rows keep what the new one has. The server disconnects clients that do not support that; they
// reconnect by themselves.
func (c *Client) Convert(ctx context.Context, schema []byte) error {
	ctx, cancel := context.WithTimeout(ctx, max(c.config.Timeout, wholeTimeout))
	defer cancel()
	s, err := c.leader(ctx)
	if err != nil {
		return err
	}
	_, err = s.conn.call(ctx, "convert", []any{s.schema.Name, json.RawMessage(schema)})
	var lost *errLost
	if errors.As(err, &lost) && lost.sent {
		err = fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	}
	if err != nil {
		return c.failure(s.remote.text, err)
	}
	s.conn.close() // its schema is the old one
	_, err = c.reach(ctx, nil, true)
	return err
}

// SchemaVersion asks the server for the schema's current version; Version is from when the connection was
// made.
func (c *Client) SchemaVersion(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, max(c.config.Timeout, wholeTimeout))
	defer cancel()
	s, err := c.leader(ctx)
	if err != nil {
		return "", err
	}
	text, err := s.conn.call(ctx, "get_schema", []any{s.schema.Name})
	if err != nil {
		return "", c.failure(s.remote.text, err)
	}
	var declared struct{ Version string }
	err = json.Unmarshal(text, &declared)
	return declared.Version, err
}
