package ovsdb

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"
	"time"
)

// An update is what a transaction in a file does to rows, before it is committed.
type update struct {
	schema *schema
	tables map[string]*tableUpdate
	date   int64
	diff   bool // changes to columns with several values are differences
}

// A tableUpdate is an update's changes to one table.
type tableUpdate struct {
	inserted map[rowID]place
	deleted  map[rowID]bool
	changed  map[rowID]map[string]datum
}

// transaction parses a transaction on the snapshot's rows; at is the offset of the scanner's text in the file.
func (s *Snapshot) transaction(in *scanner, at int64) (*update, error) {
	u := &update{schema: s.schema, tables: map[string]*tableUpdate{}}
	return u, in.object(nil, func(key string) (err error) {
		switch {
		case key == "_date":
			u.date, err = in.integer()
		case key == "_is_diff":
			u.diff, err = in.boolean()
		case strings.HasPrefix(key, "_"):
			err = in.skip()
		default:
			err = u.table(in, key, s.tables[key], at)
		}
		return err
	})
}

func (u *update) table(in *scanner, name string, old *table, at int64) error {
	declared := u.schema.table(name)
	if declared == nil {
		return fmt.Errorf("table %.100q is not in the schema", name)
	}
	c := u.tables[name]
	if c == nil {
		c = &tableUpdate{map[rowID]place{}, map[rowID]bool{}, map[rowID]map[string]datum{}}
		u.tables[name] = c
	}
	return in.members(func() error {
		raw, _, err := in.rawString()
		if err != nil {
			return err
		}
		id, ok := parseRowID(raw)
		if !ok {
			return fmt.Errorf("table %s: row %.40q: not a UUID", name, raw)
		}
		if !in.take(':') {
			return in.fail("a colon")
		}
		if err := c.row(in, id, declared, old.has(id), at); err != nil {
			return fmt.Errorf("table %s: row %s: %w", name, id.UUID(), err)
		}
		in.release()
		return nil
	})
}

// row parses what the transaction does to a row. A new row's values are parsed when they are loaded.
func (c *tableUpdate) row(in *scanner, id rowID, declared *tableSchema, old bool, at int64) error {
	// Of duplicate members the last one counts.
	if in.null() {
		delete(c.inserted, id)
		delete(c.changed, id)
		c.deleted[id] = true
		return nil
	}
	delete(c.deleted, id)
	columns := map[string]datum{}
	text, start, err := in.text(func() error {
		return in.object(declared.names(), func(column string) error {
			if declared.Columns[column] == nil {
				return fmt.Errorf("no such column: %q", column)
			}
			if !old {
				return in.skip()
			}
			var err error
			columns[column], err = in.datum()
			return err
		})
	})
	if err != nil {
		return err
	}
	if old {
		c.changed[id] = columns
		return nil
	}
	c.inserted[id], err = newPlace(at+start, text)
	return err
}

// commit applies a transaction in full or not at all.
func (s *Snapshot) commit(u *update) error {
	if u.diff {
		if err := s.readOld(u); err != nil {
			return err
		}
	}
	for name, c := range u.tables {
		rows := s.tables[name]
		if rows == nil {
			rows = newTable()
			s.tables[name] = rows
		}
		for id := range c.deleted {
			rows.delete(id)
		}
		for id, columns := range c.changed {
			for column, d := range columns {
				s.change(name, id, column, d, u.diff)
			}
		}
		if len(rows.rows) == 0 { // most of a compacted file's rows are in one record
			rows.rows = c.inserted
		} else {
			maps.Copy(rows.rows, c.inserted)
		}
	}
	if u.date > 0 {
		s.time = fileTime(u.date)
	}
	return nil
}

// change sets a column to its new value, or applies a difference.
func (s *Snapshot) change(table string, id rowID, column string, d datum, diff bool) {
	if rows := s.tables[table]; diff && s.schema.Tables[table].Columns[column].composite() {
		rows.changed[id][column].apply(d)
	} else {
		rows.set(id, column, d)
	}
}

// readOld parses the values to which a transaction applies differences.
func (s *Snapshot) readOld(u *update) error {
	for name, c := range u.tables {
		for id, columns := range c.changed {
			if err := s.readColumns(name, id, maps.Keys(columns)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Snapshot) readColumns(table string, id rowID, columns iter.Seq[string]) error {
	for column := range columns {
		if err := s.readColumn(table, id, column); err != nil {
			return err
		}
	}
	return nil
}

func (s *Snapshot) readColumn(table string, id rowID, column string) error {
	rows, declared := s.tables[table], s.schema.Tables[table]
	if _, ok := rows.changed[id][column]; ok || !declared.Columns[column].composite() {
		return nil
	}
	text, err := s.texts.read(rows.rows[id])
	if err != nil {
		return err
	}
	old, err := columnOf(text, column, declared)
	if err != nil {
		return fmt.Errorf("table %s: row %s: %w", table, id.UUID(), err)
	}
	rows.set(id, column, old)
	return nil
}

// fileTime reads _date: milliseconds, in files of before 2.? seconds.
func fileTime(date int64) time.Time {
	if date < 1<<32 {
		return time.Unix(date, 0)
	}
	return time.UnixMilli(date)
}

// clusterTransaction parses a <cluster-txn>, ovsdb(5), and returns the function that commits it.
func (s *Snapshot) clusterTransaction(in *scanner, at int64) (commit func() error, err error) {
	var to *schema
	var u *update
	n := 0
	err = in.array(func() (err error) {
		n++
		switch {
		case n > 2:
			return in.skip()
		case in.null():
		case n == 1:
			to, err = in.schema()
		case to != nil: // the whole new database
			u, err = (&Snapshot{schema: to}).transaction(in, at)
		case s.schema == nil:
			return errors.New("a transaction before any schema")
		default:
			u, err = s.transaction(in, at)
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case n != 2:
		return nil, fmt.Errorf("want a schema and a transaction, found %d values", n)
	case to == nil && u == nil:
		return func() error { return nil }, nil
	case to == nil:
		return func() error { return s.commit(u) }, nil
	case u == nil:
		return func() error { return s.convert(to) }, nil
	}
	return func() error {
		s.schema, s.tables = to, map[string]*table{}
		return s.commit(u)
	}, nil
}
