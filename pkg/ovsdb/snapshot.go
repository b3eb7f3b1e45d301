package ovsdb

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ovnctl/ovnctl/pkg/memory"
)

// A Snapshot is a database read from a file or a dump. A large file's rows stay there until needed.
type Snapshot struct {
	origin string
	schema *schema
	tables map[string]*table
	texts  *texts
	time   time.Time
	damage string
	notice string
	dump   bool // the schema is only what the headings show

	converted int64 // bytes that conversions processed
}

// Name returns the database's name.
func (s *Snapshot) Name() string { return s.schema.Name }

// Origin returns the path of the file.
func (s *Snapshot) Origin() string { return s.origin }

// Version returns the version of the schema; a dump has none.
func (s *Snapshot) Version() string { return s.schema.Version }

// Has reports whether the column can be in the file: files lack the ephemeral
// columns of the schema, such as Connection.status.
func (s *Snapshot) Has(table, column string) bool {
	if !s.schema.has(table, column) {
		return false
	}
	c := s.schema.Tables[table].Columns[column]
	return c == nil || !c.ephemeral
}

// Status is zero: no server was asked.
func (s *Snapshot) Status() Status { return Status{} }

// Close closes the file. No rows can be read afterwards.
func (s *Snapshot) Close() error { return s.texts.close() }

// Time returns the time of the last transaction, zero if none is recorded.
func (s *Snapshot) Time() time.Time { return s.time }

// Damage describes what of the file could not be read; empty for a sound file. The rows are those of the
// transactions before the damage.
func (s *Snapshot) Damage() string { return s.damage }

// Notice describes what of a sound clustered file is not in the rows: entries that the file does not know to
// be committed, which any running cluster may have. It is empty if there are none.
func (s *Snapshot) Notice() string { return s.notice }

// empty reports whether there are no rows.
func (s *Snapshot) empty() bool {
	for _, t := range s.tables {
		if len(t.rows) > 0 {
			return false
		}
	}
	return true
}

// Select fills the queries' rows, in the order of their UUIDs.
func (s *Snapshot) Select(ctx context.Context, queries ...*Query) error {
	sinks, err := selects(s.schema, queries)
	if err != nil {
		return fmt.Errorf("%s: %w", s.origin, err)
	}
	for i, k := range sinks {
		if k == nil {
			continue
		}
		if memory.Left() <= 0 {
			return fmt.Errorf("%s: table %s: %w", s.origin, k.plan.table, ErrNoMemory)
		}
		if err := s.gather(ctx, k, queries[i].Where); err != nil {
			return fmt.Errorf("%s: %w", s.origin, err)
		}
	}
	fill(sinks, queries)
	return nil
}

func (s *Snapshot) gather(ctx context.Context, k *sink, where []Condition) error {
	tests, err := s.tests(k.plan.table, where)
	if err != nil {
		return err
	}
	defaults := s.defaults(k.plan)
	t := s.tables[k.plan.table]
	rows := s.candidates(t, where)
	seen := internRows(len(rows))
	if len(where) == 0 {
		k.slice.Grow(len(rows))
	}
	var ids []rowID
	err = s.texts.each(rows, func(id rowID, text []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		r := record{id, text, t.changed[id]}
		ok, err := r.passes(tests)
		if err != nil {
			return k.blame(err, "", id.UUID())
		}
		if !ok {
			return nil
		}
		if ids = append(ids, id); len(ids)%manyRows == 0 && memory.Left() <= 0 {
			return ErrNoMemory
		}
		return s.load(k, r, defaults, seen)
	})
	k.sort(ids)
	return err
}

// manyRows need a look at how much memory is left.
const manyRows = 10_000

// Rows returns how many rows a table has.
func (s *Snapshot) Rows(table string) int {
	if t := s.tables[table]; t != nil {
		return len(t.rows)
	}
	return 0
}

// EachRaw calls visit for each row of a table with the columns in the file: those with their default value may
// be missing.
func (s *Snapshot) EachRaw(table string, visit func(Raw) error) error {
	t, declared := s.tables[table], s.schema.Tables[table]
	texts := t.texts()
	seen := internRows(len(texts))
	err := s.texts.each(texts, func(id rowID, text []byte) error {
		row, err := (&scanner{b: text, seen: seen}).rawRow()
		if err != nil {
			return err
		}
		for column, d := range t.changed[id] {
			row[column] = Value(d.text(declared.Columns[column].value != ""))
		}
		row["_uuid"] = Value(`["uuid","` + string(id.UUID()) + `"]`)
		return visit(row)
	})
	if err != nil {
		return fmt.Errorf("%s: table %s: %w", s.origin, table, err)
	}
	return nil
}

// candidates returns the rows that may meet the conditions: one if a condition names it.
func (s *Snapshot) candidates(t *table, where []Condition) []rowText {
	for _, c := range where {
		if named, ok := c.Value.(UUID); ok && c.Column == "_uuid" && c.Function == "==" {
			if id, ok := named.id(); ok && t.has(id) {
				return []rowText{{id, t.rows[id]}}
			}
			return nil
		}
	}
	return t.texts()
}

// A record is one row: its text, and what later transactions changed.
type record struct {
	id      rowID
	text    []byte
	changed map[string]datum
}

// load parses a record into an element of k.
func (s *Snapshot) load(k *sink, r record, defaults map[string][]byte, seen interned) error {
	id := r.id.UUID()
	if err := k.add(&scanner{b: r.text, seen: seen}, id); err != nil {
		return err
	}
	for column, d := range r.changed {
		c := s.schema.Tables[k.plan.table].Columns[column]
		if err := k.set(column, d.text(c.value != ""), id); err != nil {
			return err
		}
	}
	for column, text := range defaults {
		if k.zero(column) {
			if err := k.set(column, text, id); err != nil {
				return err
			}
		}
	}
	return k.set("_uuid", []byte(`["uuid","`+string(id)+`"]`), id)
}

// defaults returns the columns of the plan whose default is not Go's zero value.
func (s *Snapshot) defaults(p *plan) map[string][]byte {
	texts := map[string][]byte{}
	for _, column := range p.columns {
		c := s.schema.Tables[p.table].Columns[column]
		if c != nil && !s.dump && (c.key == "uuid" || c.max > 1) {
			if text := c.defaultText(); text != nil {
				texts[column] = text
			}
		}
	}
	return texts
}

// A test is a parsed condition.
type test struct {
	Condition
	value datum
	table *tableSchema
	is    *rowID // the column must be this one reference
}

func (s *Snapshot) tests(table string, where []Condition) ([]test, error) {
	tests := make([]test, len(where))
	for i, c := range where {
		v, err := wire(c.Value)
		if err != nil {
			return nil, fmt.Errorf("table %s: column %s: %w", table, c.Column, err)
		}
		text, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("table %s: column %s: %w", table, c.Column, err)
		}
		d, err := parseDatum(text)
		if err != nil {
			return nil, fmt.Errorf("table %s: column %s: %w", table, c.Column, err)
		}
		tests[i] = test{Condition: c, value: d, table: s.schema.Tables[table]}
		if id, ok := referenceOf(text); ok && c.Function == "==" {
			tests[i].is = &id
		}
	}
	return tests, nil
}

func (r *record) passes(tests []test) (bool, error) {
	for _, t := range tests {
		if t.is != nil {
			// Large tables are often queried for rows with one reference: avoid parsing the values of all others.
			is, ok, err := r.reference(t.Column, t.table)
			if err != nil || ok && is != *t.is {
				return false, err
			}
		}
		d := datum{`["uuid","` + string(r.id.UUID()) + `"]`: ""}
		if t.Column != "_uuid" {
			var err error
			if d, err = r.column(t.Column, t.table); err != nil {
				return false, err
			}
		}
		ok, err := d.holds(t.Function, t.value)
		if err != nil {
			return false, fmt.Errorf("column %s: %w", t.Column, err)
		}
		if !ok {
			return false, nil
		}
	}
	return true, nil
}

// reference returns the row that a column refers to; false if it is not exactly one reference.
func (r *record) reference(column string, t *tableSchema) (rowID, bool, error) {
	if column == "_uuid" {
		return r.id, true, nil
	}
	if _, ok := r.changed[column]; ok {
		return rowID{}, false, nil
	}
	text, err := objectMember(r.text, column, t.names())
	id, ok := referenceOf(text)
	return id, ok, err
}

// referenceOf returns the row that a value refers to, as servers write it; false for other values or
// notations.
func referenceOf(text []byte) (rowID, bool) {
	rest, before := bytes.CutPrefix(text, []byte(`["uuid","`))
	rest, behind := bytes.CutSuffix(rest, []byte(`"]`))
	if !before || !behind {
		return rowID{}, false
	}
	return parseRowID(rest)
}

// column returns the value of a column, or its default if the record has none.
func (r *record) column(name string, t *tableSchema) (datum, error) {
	if d, ok := r.changed[name]; ok {
		return d, nil
	}
	return columnOf(r.text, name, t)
}

// columnOf is column for an unchanged row.
func columnOf(row []byte, name string, t *tableSchema) (datum, error) {
	text, err := objectMember(row, name, t.names())
	if err != nil {
		return nil, err
	}
	if text == nil {
		if text = t.Columns[name].defaultText(); text == nil {
			return datum{}, nil
		}
	}
	d, err := parseDatum(text)
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", name, err)
	}
	return d, nil
}

// objectMember returns the text of one member of an object, nil if it has none.
func objectMember(object []byte, name string, names map[string]string) ([]byte, error) {
	var text []byte
	s := scanner{b: object}
	err := s.object(names, func(key string) error {
		raw, err := s.raw()
		if key == name {
			text = raw
		}
		return err
	})
	return text, err
}

// defaultText returns the default of a column, nil for no value at all; RFC
// 7047 section 5.2.1.
func (c *columnSchema) defaultText() []byte {
	if c.min == 0 {
		return nil
	}
	switch c.key {
	case "integer", "real":
		return []byte("0")
	case "boolean":
		return []byte("false")
	case "string":
		return []byte(`""`)
	case "uuid":
		return []byte(`["uuid","00000000-0000-0000-0000-000000000000"]`)
	}
	return nil
}
