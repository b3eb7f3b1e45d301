package ovsdb

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
)

// maxConverted bounds the row text that all conversions of a file process, in bytes: each conversion processes
// all rows.
const maxConverted = maxFile

// convert changes the rows to another schema, as a server does when a clustered file holds only the new schema
// (Open vSwitch 3.2 and later): columns keep their values and rows lose what the schema lacks; then
// unreferenced rows go, and weak references to them.
func (s *Snapshot) convert(to *schema) error {
	next := &Snapshot{schema: to, tables: map[string]*table{}, texts: s.texts}
	if s.schema == nil {
		s.schema, s.tables = to, next.tables
		return nil
	}
	for name, t := range s.tables {
		if to.table(name) == nil {
			continue
		}
		for id, p := range t.rows {
			s.converted += int64(p.length) + int64(len(id))
		}
		if s.converted > maxConverted {
			return fmt.Errorf("conversions: %w", ErrTooLarge)
		}
		shape := newReshape(s.schema.Tables[name], to.Tables[name])
		converted, err := shape.table(s, t)
		if err != nil {
			return fmt.Errorf("table %s: %w", name, err)
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
	defaults map[string][]byte // values that old records may leave out, but new ones may not
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

// table returns a table of the snapshot with its records reshaped.
func (s *reshape) table(snap *Snapshot, old *table) (*table, error) {
	if s.same {
		t := &table{maps.Clone(old.rows), map[rowID]map[string]datum{}}
		for id, columns := range old.changed {
			t.changed[id] = maps.Clone(columns)
		}
		return t, nil
	}
	t := newTable()
	return t, snap.texts.each(old.texts(), func(id rowID, text []byte) error {
		text, err := s.record(record{id, text, old.changed[id]})
		if err == nil {
			t.rows[id], err = snap.texts.add(text)
		}
		if err != nil {
			return fmt.Errorf("row %s: %w", id.UUID(), err)
		}
		return nil
	})
}

// record returns the text of a reshaped record.
func (s *reshape) record(r record) ([]byte, error) {
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
	err := in.object(s.from.names(), func(column string) error {
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
	return append(text, '}'), err
}

// A rowRef names a row.
type rowRef struct {
	table string
	id    rowID
}

// collect removes rows that nothing refers to, unless their table is in the root set, then weak references to
// missing rows; RFC 7047 section 3.2. On error nothing has changed.
func (s *Snapshot) collect() error {
	dead, err := s.unreferenced()
	if err != nil {
		return err
	}
	edits := map[rowRef]map[string]datum{}
	err = s.references(true, func(row rowRef, column, key string, d datum, target rowRef) {
		if !dead[target] && s.tables[target.table].has(target.id) {
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
	for row, columns := range edits {
		for column, d := range columns {
			s.tables[row.table].set(row.id, column, d)
		}
	}
	for row := range dead {
		s.tables[row.table].delete(row.id)
	}
	return nil
}

// unreferenced returns the rows that collect removes. As in the server, rows in a reference cycle keep each
// other, and a row's reference to itself does not count.
func (s *Snapshot) unreferenced() (map[rowRef]bool, error) {
	counts := map[rowRef]int{}
	err := s.references(false, func(row rowRef, _, _ string, _ datum, target rowRef) {
		if target != row {
			counts[target]++
		}
	})
	if err != nil {
		return nil, err
	}
	rooted := s.schema.rooted()
	var queue []rowRef
	for name, t := range s.tables {
		if rooted(name) {
			continue
		}
		for id := range t.rows {
			if row := (rowRef{name, id}); counts[row] == 0 {
				queue = append(queue, row)
			}
		}
	}
	dead := map[rowRef]bool{}
	for len(queue) > 0 {
		row := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		dead[row] = true
		t := s.tables[row.table]
		if !t.has(row.id) {
			continue
		}
		text, err := s.texts.read(t.rows[row.id])
		if err != nil {
			return nil, err
		}
		err = s.referencesOf(row.table, record{row.id, text, t.changed[row.id]}, false, func(row rowRef, _, _ string, _ datum, target rowRef) {
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

// A visitor is called for each reference in a row; key is the element of the column's value that holds it.
type visitor func(row rowRef, column, key string, d datum, target rowRef)

// references calls visit for each reference in any row.
func (s *Snapshot) references(weak bool, visit visitor) error {
	for name, t := range s.tables {
		if !s.schema.Tables[name].refers(weak) {
			continue
		}
		err := s.texts.each(t.texts(), func(id rowID, text []byte) error {
			return s.referencesOf(name, record{id, text, t.changed[id]}, weak, visit)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// referencesOf calls visit for each reference in a row.
func (s *Snapshot) referencesOf(table string, r record, weak bool, visit visitor) error {
	row := rowRef{table, r.id}
	t := s.schema.Tables[table]
	in := scanner{b: r.text}
	err := in.object(t.names(), func(column string) error {
		if _, changed := r.changed[column]; changed || !t.Columns[column].refers(weak) {
			return in.skip()
		}
		d, err := in.datum()
		if err != nil {
			return err
		}
		return d.references(t.Columns[column], weak, func(key string, target rowRef) { visit(row, column, key, d, target) })
	})
	for column, d := range r.changed {
		if err == nil && t.Columns[column].refers(weak) {
			err = d.references(t.Columns[column], weak, func(key string, target rowRef) { visit(row, column, key, d, target) })
		}
	}
	if err != nil {
		return fmt.Errorf("table %s: row %s: %w", table, r.id.UUID(), err)
	}
	return nil
}

// refers reports whether any column's values are references of the kind.
func (t *tableSchema) refers(weak bool) bool {
	for _, c := range t.Columns {
		if c.refers(weak) {
			return true
		}
	}
	return false
}

// refers reports whether the column's values are references of the kind.
func (c *columnSchema) refers(weak bool) bool { return c.keyRef.is(weak) || c.valueRef.is(weak) }

func (r reference) is(weak bool) bool { return r.table != "" && r.weak == weak }

// references calls visit for the references in a value.
func (d datum) references(c *columnSchema, weak bool, visit func(key string, target rowRef)) error {
	for key, value := range d {
		if c.keyRef.is(weak) {
			target, err := c.keyRef.target(key)
			if err != nil {
				return err
			}
			visit(key, target)
		}
		if c.valueRef.is(weak) {
			target, err := c.valueRef.target(value)
			if err != nil {
				return err
			}
			visit(key, target)
		}
	}
	return nil
}

func atomUUID(atom string) (UUID, error) {
	in := scanner{b: []byte(atom)}
	return in.uuid()
}

// target returns the row that an element of a value refers to.
func (r reference) target(atom string) (rowRef, error) {
	uuid, err := atomUUID(atom)
	id, _ := uuid.id()
	return rowRef{r.table, id}, err
}
