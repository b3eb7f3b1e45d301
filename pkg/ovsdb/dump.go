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
	var f framer
	chunk := make([]byte, 64<<10)
	in := io.LimitReader(r, maxFile)
	for {
		n, err := in.Read(chunk)
		for part := chunk[:n]; len(part) > 0; {
			table, rest, err := f.add(part, maxFile)
			if err == nil && table != nil {
				err = s.dumpTable(table.text)
			}
			if err != nil {
				return s.dumped(err)
			}
			part = rest
		}
		if errors.Is(err, io.EOF) {
			if f.depth > 0 {
				return s.dumped(errors.New("cut short"))
			}
			return s.dumped(nil)
		}
		if err != nil {
			return s.dumped(err)
		}
	}
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
	err = cells.array(func() error {
		id, text, err := dumpRow(&cells, keys)
		if err == nil {
			rows.rows[id], err = s.texts.add(text)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.schema.Tables[name] = &tableSchema{Columns: columns}
	s.tables[name] = rows
	return nil
}

// dumpRow builds a row's text from its cells, which are in the order of the headings.
func dumpRow(in *scanner, keys [][]byte) (id rowID, text []byte, err error) {
	text = []byte{'{'}
	n, named := 0, false
	err = in.array(func() error {
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
