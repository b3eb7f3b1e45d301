package ovsdb

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
)

// maxConverted bounds the text of all rows that conversions go through, in
// bytes: each conversion in a file goes through all of them.
const maxConverted = maxFile

// convert gives the rows another schema, as a server does when a clustered
// file tells of the new schema only (Open vSwitch 3.2 and later): columns
// keep their values, rows lose what the schema lacks, and then rows that
// nothing refers to any more are gone, and weak references to them.
func (s *Snapshot) convert(to *schema) error {
	next := &Snapshot{schema: to, tables: map[string]map[UUID]*record{}}
	if s.schema == nil {
		s.schema, s.tables = to, next.tables
		return nil
	}
	for name, rows := range s.tables {
		if to.table(name) == nil {
			continue
		}
		shape := newReshape(s.schema.Tables[name], to.Tables[name])
		converted := make(map[UUID]*record, len(rows))
		for id, r := range rows {
			c, err := shape.record(r)
			if err != nil {
				return fmt.Errorf("table %s: row %s: %w", name, id, err)
			}
			converted[id] = c
			if s.converted += int64(len(c.text) + len(id)); s.converted > maxConverted {
				return fmt.Errorf("conversions: %w", ErrTooLarge)
			}
		}
		next.tables[name] = converted
	}
	if err := next.collect(); err != nil {
		return err
	}
	s.schema, s.tables = to, next.tables
	return nil
}

// A reshape makes records of one table fit its new schema.
type reshape struct {
	from, to *tableSchema
	keys     map[string][]byte // `"name":` of the columns in both
	defaults map[string][]byte // values that a record leaves out, and no longer may
	same     bool              // records need no change
}

func newReshape(from, to *tableSchema) *reshape {
	s := &reshape{from: from, to: to, keys: map[string][]byte{}, defaults: map[string][]byte{}, same: true}
	for name, old := range from.Columns {
		c := to.Columns[name]
		if c == nil {
			s.same = false
			continue
		}
		quoted, _ := json.Marshal(name)
		s.keys[name] = append(quoted, ':')
		if text := old.defaultText(); text != nil && !bytes.Equal(text, c.defaultText()) {
			s.same = false
			s.defaults[name] = text
		}
	}
	return s
}

func (s *reshape) record(r *record) (*record, error) {
	if s.same {
		return &record{r.text, maps.Clone(r.changed)}, nil
	}
	text := []byte{'{'}
	missing := maps.Clone(s.defaults)
	add := func(column string, value []byte) {
		if s.keys[column] == nil {
			return
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(append(text, s.keys[column]...), value...)
		delete(missing, column)
	}
	in := scanner{b: r.text}
	err := in.object(s.from.names, func(column string) error {
		value, err := in.raw()
		if _, changed := r.changed[column]; !changed {
			add(column, value)
		}
		return err
	})
	for column, d := range r.changed {
		add(column, d.text(s.from.Columns[column].value != ""))
	}
	for column, value := range missing {
		add(column, value)
	}
	return &record{text: append(text, '}')}, err
}

// A rowRef names a row.
type rowRef struct {
	table string
	id    UUID
}

// collect removes the rows that nothing refers to, unless their table is of
// the root set, and then the weak references to rows that are not there; RFC
// 7047 section 3.2. After an error nothing has changed.
func (s *Snapshot) collect() error {
	dead, err := s.unreferenced()
	if err != nil {
		return err
	}
	edits := map[rowRef]map[string]datum{}
	for name, rows := range s.tables {
		for id := range rows {
			row := rowRef{name, id}
			err := s.references(row, true, func(column, key string, d datum, target rowRef) {
				if !dead[target] && s.tables[target.table][target.id] != nil {
					return
				}
				if edits[row] == nil {
					edits[row] = map[string]datum{}
				}
				if edits[row][column] == nil {
					edits[row][column] = maps.Clone(d)
				}
				delete(edits[row][column], key)
			})
			if err != nil {
				return err
			}
		}
	}
	for row, columns := range edits {
		r := s.tables[row.table][row.id]
		if r.changed == nil {
			r.changed = map[string]datum{}
		}
		maps.Copy(r.changed, columns)
	}
	for row := range dead {
		delete(s.tables[row.table], row.id)
	}
	return nil
}

// unreferenced returns the rows that collect removes. As in the server, rows
// that refer to each other in a circle keep each other, and a row's reference
// to itself does not count.
func (s *Snapshot) unreferenced() (map[rowRef]bool, error) {
	counts := map[rowRef]int{}
	for name, rows := range s.tables {
		for id := range rows {
			row := rowRef{name, id}
			err := s.references(row, false, func(_, _ string, _ datum, target rowRef) {
				if target != row {
					counts[target]++
				}
			})
			if err != nil {
				return nil, err
			}
		}
	}
	rooted := s.schema.rooted()
	var queue []rowRef
	for name, rows := range s.tables {
		for id := range rows {
			if row := (rowRef{name, id}); !rooted(name) && counts[row] == 0 {
				queue = append(queue, row)
			}
		}
	}
	dead := map[rowRef]bool{}
	for len(queue) > 0 {
		row := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		dead[row] = true
		err := s.references(row, false, func(_, _ string, _ datum, target rowRef) {
			if target == row {
				return
			}
			counts[target]--
			if counts[target] == 0 && !rooted(target.table) {
				queue = append(queue, target)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return dead, nil
}

// references calls visit for each reference in a row, if there is the row; key
// is the element of the column's value that holds it.
func (s *Snapshot) references(row rowRef, weak bool, visit func(column, key string, d datum, target rowRef)) error {
	r := s.tables[row.table][row.id]
	if r == nil {
		return nil
	}
	t := s.schema.Tables[row.table]
	in := scanner{b: r.text}
	err := in.object(t.names, func(column string) error {
		if _, changed := r.changed[column]; changed || !t.Columns[column].refers(weak) {
			return in.skip()
		}
		d, err := in.datum()
		if err != nil {
			return err
		}
		return d.references(t.Columns[column], weak, func(key string, target rowRef) { visit(column, key, d, target) })
	})
	for column, d := range r.changed {
		if err == nil && t.Columns[column].refers(weak) {
			err = d.references(t.Columns[column], weak, func(key string, target rowRef) { visit(column, key, d, target) })
		}
	}
	if err != nil {
		return fmt.Errorf("table %s: row %s: %w", row.table, row.id, err)
	}
	return nil
}

// refers reports whether the column's values are references of the kind.
func (c *columnSchema) refers(weak bool) bool { return c.keyRef.is(weak) || c.valueRef.is(weak) }

func (r reference) is(weak bool) bool { return r.table != "" && r.weak == weak }

// references calls visit for the references in a value.
func (d datum) references(c *columnSchema, weak bool, visit func(key string, target rowRef)) error {
	for key, value := range d {
		if c.keyRef.is(weak) {
			id, err := atomUUID(key)
			if err != nil {
				return err
			}
			visit(key, rowRef{c.keyRef.table, id})
		}
		if c.valueRef.is(weak) {
			id, err := atomUUID(value)
			if err != nil {
				return err
			}
			visit(key, rowRef{c.valueRef.table, id})
		}
	}
	return nil
}

func atomUUID(atom string) (UUID, error) {
	in := scanner{b: []byte(atom)}
	return in.uuid()
}
