package ovsdb

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/pattern"
)

// ParseLists parses the output of `ovn-nbctl list TABLE` and the like for tables of the database db; origin
// names it in messages. An empty table has no known columns. A table that cannot be parsed is left out; see
// Damage.
func ParseLists(db, origin string, tables map[string]io.Reader) (*Snapshot, error) {
	s := &Snapshot{
		origin: origin,
		schema: &schema{Name: db, Tables: map[string]*tableSchema{}},
		tables: map[string]*table{},
		texts:  noTexts(),
		dump:   true,
	}
	var damage []string
	for _, table := range slices.Sorted(maps.Keys(tables)) {
		if err := s.list(table, tables[table]); err != nil {
			damage = append(damage, fmt.Sprintf("table %s: %v", table, err))
		}
	}
	s.damage = strings.Join(damage, "; ")
	if len(s.tables) == 0 {
		return nil, fmt.Errorf("%s: %s", origin, s.damage)
	}
	return s, nil
}

// list parses one table: a line `COLUMN : VALUE` for each column, and a blank one between rows.
func (s *Snapshot) list(table string, r io.Reader) error {
	columns := map[string]*columnSchema{}
	rows := newTable()
	var id UUID
	row := []byte{'{'}
	end := func() (err error) {
		if len(row) > 1 && id == "" {
			return errors.New("a row without _uuid")
		}
		if id, ok := id.id(); ok {
			rows.rows[id], err = s.texts.add(append(row, '}'))
		}
		id, row = "", []byte{'{'}
		return err
	}
	in := bufio.NewReader(io.LimitReader(r, maxFile))
	for n := 1; ; n++ {
		line, err := in.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		last := err != nil
		line = strings.TrimSpace(line)
		if line == "" {
			err = end()
		} else {
			id, row, err = listColumn(line, id, row, columns)
		}
		if err == nil && last {
			err = end()
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if last {
			break
		}
	}
	s.schema.Tables[table] = &tableSchema{Columns: columns}
	s.tables[table] = rows
	return nil
}

// listColumn adds a column to a row.
func listColumn(line string, id UUID, row []byte, columns map[string]*columnSchema) (UUID, []byte, error) {
	column, text, ok := strings.Cut(line, ":")
	column = strings.TrimSpace(column)
	if !ok || !listWord.Get().MatchString(column) {
		return id, row, fmt.Errorf("%.80q is not COLUMN : VALUE", line)
	}
	text = strings.TrimSpace(text)
	columns[column] = &columnSchema{max: unlimited}
	if column == "_uuid" {
		if !validUUID(text) {
			return id, row, fmt.Errorf("%.80q is not a UUID", text)
		}
		return UUID(text), row, nil
	}
	v := listValue{rest: text}
	value, err := v.whole()
	if err != nil {
		return id, row, fmt.Errorf("%s: %w", column, err)
	}
	if len(row) > 1 {
		row = append(row, ',')
	}
	return id, append(append(row, strconv.Quote(column)+":"...), value...), nil
}

// listWord is a column's name, or an atom that needs no quotes.
var listWord = pattern.New(`^[\w.+-]+`)

// A listValue is the rest of a value as ovs-vsctl(8) writes it: an atom, [atoms] or {keys=atoms}. A string is
// quoted wherever it could be taken for another type.
type listValue struct{ rest string }

// whole returns the value in OVSDB's notation.
func (v *listValue) whole() (string, error) {
	var value string
	var err error
	switch {
	case v.take("["):
		value, err = v.several("set", "]", v.atom)
	case v.take("{"):
		value, err = v.several("map", "}", v.pair)
	default:
		value, err = v.atom()
	}
	if err == nil && v.rest != "" {
		err = fmt.Errorf("%.80q is left over", v.rest)
	}
	return value, err
}

func (v *listValue) take(token string) bool {
	rest, ok := strings.CutPrefix(v.rest, token)
	v.rest = rest
	return ok
}

// several parses elements up to the closing bracket.
func (v *listValue) several(kind, closes string, element func() (string, error)) (string, error) {
	var list []string
	for !v.take(closes) {
		if len(list) > 0 && !v.take(", ") {
			return "", fmt.Errorf("want a comma before %.80q", v.rest)
		}
		e, err := element()
		if err != nil {
			return "", err
		}
		list = append(list, e)
	}
	return `["` + kind + `",[` + strings.Join(list, ",") + "]]", nil
}

func (v *listValue) pair() (string, error) {
	key, err := v.atom()
	if err == nil && !v.take("=") {
		err = fmt.Errorf("want = before %.80q", v.rest)
	}
	if err != nil {
		return "", err
	}
	value, err := v.atom()
	return "[" + key + "," + value + "]", err
}

func (v *listValue) atom() (string, error) {
	if strings.HasPrefix(v.rest, `"`) {
		in := json.NewDecoder(strings.NewReader(v.rest))
		var text string
		if err := in.Decode(&text); err != nil {
			return "", fmt.Errorf("%.80q: %w", v.rest, err)
		}
		quoted := v.rest[:in.InputOffset()]
		v.rest = v.rest[len(quoted):]
		return quoted, nil
	}
	word := listWord.Get().FindString(v.rest)
	v.rest = v.rest[len(word):]
	switch {
	case word == "":
		return "", fmt.Errorf("want a value before %.80q", v.rest)
	case validUUID(word):
		return `["uuid","` + word + `"]`, nil
	case json.Valid([]byte(word)) && word != "null": // a number, true or false
		return word, nil
	}
	return strconv.Quote(word), nil
}
