package ovsdb

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// A Snapshot is a database in memory, read from a file or a dump.
type Snapshot struct {
	origin string
	schema *schema
	tables map[string]map[UUID]*record
	time   time.Time
	damage string
	notice string
	dump   bool // the schema is only what the headings tell

	converted int64 // bytes that conversions went through
}

// A record is one row. Its text is an object of the columns that do not hold
// their default; changed overrides it by what later transactions made of it.
type record struct {
	text    []byte
	changed map[string]datum
}

// Name returns the database's name.
func (s *Snapshot) Name() string { return s.schema.Name }

// Origin returns the path of the file.
func (s *Snapshot) Origin() string { return s.origin }

// Version returns the version of the schema; a dump does not tell it.
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

// Close does nothing.
func (s *Snapshot) Close() error { return nil }

// Time returns the time of the last transaction, zero if none is recorded.
func (s *Snapshot) Time() time.Time { return s.time }

// Damage says what of the file could not be read, in words; it is empty for a
// sound file. The rows are those of the transactions before the damage.
func (s *Snapshot) Damage() string { return s.damage }

// Notice says what of a sound clustered file is not in the rows, in words:
// entries that the file does not know to be committed, which any running
// cluster may have. It is empty when there is nothing to say.
func (s *Snapshot) Notice() string { return s.notice }

// empty reports whether there is no row.
func (s *Snapshot) empty() bool {
	for _, rows := range s.tables {
		if len(rows) > 0 {
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
	seen := map[string]string{}
	rows := s.tables[k.plan.table]
	for _, id := range s.candidates(k.plan.table, where) {
		if err := ctx.Err(); err != nil {
			return err
		}
		r := rows[id]
		ok, err := r.passes(id, tests)
		if err != nil {
			return k.blame(err, "", id)
		}
		if !ok {
			continue
		}
		if err := s.load(k, id, r, defaults, seen); err != nil {
			return err
		}
	}
	return nil
}

// candidates are the rows that may meet the conditions, in the order of their UUIDs: one if a condition names it.
func (s *Snapshot) candidates(table string, where []Condition) []UUID {
	rows := s.tables[table]
	for _, c := range where {
		id, ok := c.Value.(UUID)
		if !ok || c.Column != "_uuid" || c.Function != "==" {
			continue
		}
		if _, ok := rows[id]; ok {
			return []UUID{id}
		}
		return nil
	}
	return slices.Sorted(maps.Keys(rows))
}

// load makes an element of k from a record.
func (s *Snapshot) load(k *sink, id UUID, r *record, defaults map[string][]byte, seen map[string]string) error {
	text := scanner{b: r.text, seen: seen}
	if err := k.add(&text, id); err != nil {
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

// A test is a condition with its value parsed.
type test struct {
	Condition
	value  datum
	column *columnSchema // nil for _uuid
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
		tests[i] = test{c, d, s.schema.Tables[table].Columns[c.Column]}
	}
	return tests, nil
}

func (r *record) passes(id UUID, tests []test) (bool, error) {
	for _, t := range tests {
		d := datum{`["uuid","` + string(id) + `"]`: ""}
		if t.Column != "_uuid" {
			var err error
			if d, err = r.column(t.Column, t.column); err != nil {
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

// column returns the value of one column, its default if the record has none.
func (r *record) column(name string, c *columnSchema) (datum, error) {
	if d, ok := r.changed[name]; ok {
		return d, nil
	}
	text, err := objectMember(r.text, name)
	if err != nil {
		return nil, err
	}
	if text == nil {
		if text = c.defaultText(); text == nil {
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
func objectMember(object []byte, name string) ([]byte, error) {
	var text []byte
	s := scanner{b: object}
	names := map[string]string{name: name}
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
