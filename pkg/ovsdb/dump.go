package ovsdb

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ParseDump parses the output of `ovsdb-client dump -f json` for the database db; origin names it in messages.
// Only tables and columns in the dump are known. A truncated dump gives the tables before the cut; see Damage.
func ParseDump(db, origin string, r io.Reader) (*Snapshot, error) {
	s := &Snapshot{
		origin: origin,
		schema: &schema{Name: db, Tables: map[string]*tableSchema{}},
		tables: map[string]*table{},
		texts:  noTexts(),
		dump:   true,
	}
	d := dumpReader{s: s, left: maxFile}
	_, err := io.Copy(&d, r)
	if err == nil && d.f.depth > 0 {
		err = errors.New("cut short")
	}
	return s.dumped(err)
}

// A dumpReader reads a dump as it is written to it: one in memory at once, so that its tables are not put together from parts.
type dumpReader struct {
	s    *Snapshot
	f    framer
	left int64
}

func (d *dumpReader) Write(part []byte) (int, error) {
	if int64(len(part)) > d.left {
		return 0, ErrTooLarge
	}
	d.left -= int64(len(part))
	for rest := part; len(rest) > 0; {
		table, after, err := d.f.add(rest, maxFile)
		if err == nil && table != nil {
			err = d.s.dumpTable(table.text)
		}
		if err != nil {
			return 0, err
		}
		rest = after
	}
	return len(part), nil
}

// dumped returns what is usable of the dump after err.
func (s *Snapshot) dumped(err error) (*Snapshot, error) {
	if len(s.schema.Tables) == 0 {
		if err == nil {
			err = errors.New("the dump is empty")
		}
		return nil, fmt.Errorf("%s: %w (want what `ovsdb-client dump -f json` writes)", s.origin, err)
	}
	if err != nil {
		s.damage = fmt.Sprintf("table %d: %v; only what came before it was read", len(s.schema.Tables)+1, err)
	}
	return s, nil
}

// dumpTable parses one table: {"caption":"X table","headings":[…],"data":[[…]…]}.
func (s *Snapshot) dumpTable(text []byte) error {
	var name string
	var headings []string
	var data []byte
	in := scanner{b: text}
	err := in.object(nil, func(key string) (err error) {
		switch key {
		case "caption":
			name, err = in.str()
		case "headings":
			err = in.array(func() error {
				h, err := in.str()
				headings = append(headings, h)
				return err
			})
		case "data":
			data, err = in.raw()
		default:
			err = in.skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	name, ok := strings.CutSuffix(name, " table")
	if !ok || len(headings) == 0 {
		return errors.New("not a table of a dump")
	}
	columns := map[string]*columnSchema{}
	keys := make([][]byte, len(headings)) // `"name":`
	for i, h := range headings {
		columns[h] = &columnSchema{max: unlimited}
		quoted, err := json.Marshal(h)
		if err != nil {
			return err
		}
		keys[i] = append(quoted, ':')
	}
	rows := newTable()
	cells := scanner{b: data}
	var row []byte // of one row after the other
	err = cells.array(func() (err error) {
		var id rowID
		if id, row, err = dumpRow(row[:0], &cells, keys); err != nil {
			return err
		}
		if len(rows.rows) == 0 && cells.i > 0 { // the others are about as long
			s.texts.made.reserve(int64(len(data)) * int64(len(row)) / int64(cells.i))
		}
		rows.rows[id], err = s.texts.add(row)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.schema.Tables[name] = &tableSchema{Columns: columns}
	s.tables[name] = rows
	return nil
}

// dumpRow appends a row's text to an empty one: that of its cells, which are in the order of the headings.
func dumpRow(text []byte, in *scanner, keys [][]byte) (rowID, []byte, error) {
	var id rowID
	text = append(text, '{')
	n, named := 0, false
	err := in.array(func() error {
		if n == len(keys) {
			return errors.New("more cells than headings")
		}
		key := keys[n]
		n++
		if string(key) == `"_uuid":` {
			uuid, err := in.uuid()
			id, named = uuid.id()
			return err
		}
		cell, err := in.raw()
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(append(text, key...), cell...)
		return err
	})
	if err == nil && !named {
		err = errors.New("a row without _uuid")
	}
	if err == nil && n < len(keys) {
		err = errors.New("fewer cells than headings")
	}
	return id, append(text, '}'), err
}
