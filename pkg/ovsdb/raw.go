package ovsdb

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/pattern"
)

// A Value is the value of a column of any type in OVSDB's notation. It can be
// written where a string, int, bool, float64, UUID or a slice or map of these can.
type Value string

// NewValue returns v, of one of these types, in OVSDB's notation.
func NewValue(v any) (Value, error) {
	if v, ok := v.(Value); ok {
		return v, nil
	}
	w, err := wire(v)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(w)
	return Value(text), err
}

// MarshalJSON returns v unchanged.
func (v Value) MarshalJSON() ([]byte, error) { return []byte(v), nil }

// UnmarshalJSON accepts any text that is a value.
func (v *Value) UnmarshalJSON(text []byte) error {
	if _, err := parseDatum(newRow.Get().ReplaceAll(text, []byte(`"@$1"`))); err != nil {
		return err
	}
	*v = Value(bytes.Clone(text))
	return nil
}

// Equal reports whether two values are equal, regardless of order. A set of one element equals that element.
func (v Value) Equal(w Value) bool {
	a, err1 := parseDatum([]byte(v))
	b, err2 := parseDatum([]byte(w))
	return err1 == nil && err2 == nil && maps.Equal(a, b)
}

// Key returns a map's value for a string key.
func (v Value) Key(key string) (Value, bool) {
	d, err := parseDatum([]byte(v))
	if err != nil {
		return "", false
	}
	quoted, _ := json.Marshal(key)
	text, ok := d[string(quoted)]
	return Value(text), ok
}

// Keys returns the string keys of a map, or the elements of a set of strings.
func (v Value) Keys() []string {
	d, err := parseDatum([]byte(v))
	if err != nil {
		return nil
	}
	var keys []string
	for _, atom := range slices.Sorted(maps.Keys(d)) {
		var s string
		if json.Unmarshal([]byte(atom), &s) == nil {
			keys = append(keys, s)
		}
	}
	return keys
}

// UUIDs returns the rows that a value refers to.
func (v Value) UUIDs() []UUID {
	d, err := parseDatum([]byte(v))
	if err != nil {
		return nil
	}
	var ids []UUID
	for _, key := range slices.Sorted(maps.Keys(d)) {
		for _, atom := range []string{key, d[key]} {
			if id, err := atomUUID(atom); err == nil {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// A Raw row has all requested columns that the schema has, of whatever type, and its _uuid.
type Raw map[string]Value

// UUID returns the row's own UUID.
func (r Raw) UUID() UUID {
	ids := r["_uuid"].UUIDs()
	if len(ids) != 1 {
		return ""
	}
	return ids[0]
}

// A Lookup asks for unparsed rows of a table.
type Lookup struct {
	Table   string
	Columns []string // all if empty
	Where   []Condition
	// Distinct returns each distinct set of values once, without _uuid.
	Distinct bool
}

// A Reference is a column whose values refer to rows of a table.
type Reference struct {
	Table, Column string
	To            string
	Weak          bool // removed with the row
	Map           bool // its values are a map
}

// Tables describes the server's schema: each table's columns and whether they are kept in the file, the
// references, and which tables are in the root set.
type Tables struct {
	Columns    map[string]map[string]bool // table, column: kept in the file
	References []Reference
	Rooted     func(table string) bool
}

// Tables returns the server's schema.
func (c *Client) Tables() Tables {
	s := c.current().schema
	t := Tables{Columns: map[string]map[string]bool{}, Rooted: s.rooted()}
	for _, name := range slices.Sorted(maps.Keys(s.Tables)) {
		t.Columns[name] = map[string]bool{}
		for _, column := range slices.Sorted(maps.Keys(s.Tables[name].Columns)) {
			d := s.Tables[name].Columns[column]
			t.Columns[name][column] = !d.ephemeral
			for _, ref := range []reference{d.keyRef, d.valueRef} {
				t.References = append(t.References, Reference{name, column, ref.table, ref.weak, d.value != ""})
			}
		}
	}
	t.References = slices.DeleteFunc(t.References, func(r Reference) bool { return r.To == "" })
	return t
}

// Raw runs lookups in one transaction, on the leader of a cluster.
func (c *Client) Raw(ctx context.Context, lookups ...Lookup) ([][]Raw, error) {
	done, waited := c.turn(ctx)
	defer done()
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	var lastErr error
	for range 2 { // retry once elsewhere
		s, err := c.leader(ctx)
		if err != nil {
			return nil, err
		}
		if waited {
			s.breathe(ctx)
		}
		rows, err := s.raw(ctx, lookups)
		if err == nil {
			return rows, nil
		}
		lastErr = c.failure(s.remote.text, err)
		if s.conn.cause() == nil {
			break
		}
	}
	return nil, lastErr
}

func (s *session) raw(ctx context.Context, lookups []Lookup) ([][]Raw, error) {
	text, err := s.ask(ctx, lookups)
	if err != nil {
		return nil, err
	}
	return rawRows(text, lookups)
}

// ask returns the text of the reply to lookups.
func (s *session) ask(ctx context.Context, lookups []Lookup) ([]byte, error) {
	params := []any{s.schema.Name}
	for _, l := range lookups {
		t := s.schema.table(l.Table)
		if t == nil {
			return nil, fmt.Errorf("table %s: the server's schema lacks it", l.Table)
		}
		columns := l.Columns
		if columns == nil {
			columns = slices.Sorted(maps.Keys(t.Columns))
		}
		where, err := wireWhere(l.Where)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", l.Table, err)
		}
		if !l.Distinct {
			columns = append([]string{"_uuid"}, columns...)
		}
		params = append(params, selectOp(l.Table, columns, where))
	}
	return s.conn.call(ctx, "transact", params)
}

// rawRows parses the reply to lookups.
func rawRows(text []byte, lookups []Lookup) ([][]Raw, error) {
	all := make([][]Raw, len(lookups))
	n := 0
	in := scanner{b: text, seen: internText(len(text))}
	err := in.array(func() error {
		i := n
		n++
		if in.peek() != '{' || i >= len(lookups) {
			return in.skip()
		}
		failed := &OperationError{Index: i, Op: "select", Table: lookups[i].Table}
		err := in.object(nil, func(key string) (err error) {
			switch key {
			case "rows":
				err = in.array(func() error {
					row, err := in.rawRow()
					all[i] = append(all[i], row)
					return err
				})
			case "error":
				failed.Name, err = in.str()
			case "details":
				failed.Details, err = in.str()
			default:
				err = in.skip()
			}
			return err
		})
		if err == nil && failed.Name != "" {
			err = failed
		}
		return err
	})
	if err == nil && n < len(lookups) {
		err = fmt.Errorf("reply with %d results, want %d", n, len(lookups))
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

// rawRow parses a row unchanged.
func (s *scanner) rawRow() (Raw, error) {
	row := Raw{}
	err := s.object(nil, func(column string) error {
		text, err := s.raw()
		row[column] = Value(text)
		return err
	})
	return row, err
}

// Abort ends a transaction without any change. Its error is an *OperationError named "aborted": the operations
// before it would have succeeded.
func abort() Operation { return Operation{op: "abort"} }

// ChoosesUUIDs reports whether the server lets the writer choose the UUID of an inserted row (Open vSwitch 3.0
// and later). Nothing is changed.
func (c *Client) ChoosesUUIDs(ctx context.Context, table string) (bool, error) {
	_, err := c.Transact(ctx, Insert(table, "00000000-0000-4000-8000-000000000000", nil), abort())
	failed, ok := asOperationError(err)
	if !ok {
		return false, err
	}
	// An older server does not understand the operation. One that does may well refuse
	// an empty row of this table: that of a table with a column of fixed words is none.
	return failed.Name != "syntax error", nil
}

// String returns the value as ovs-vsctl(8) writes it: bare words if they need no quotes, [sets] and {maps}.
func (v Value) String() string {
	d, err := parseDatum(newRow.Get().ReplaceAll([]byte(v), []byte(`"@$1"`)))
	if err != nil {
		return string(v)
	}
	isMap := strings.HasPrefix(string(v), `["map"`)
	var parts []string
	for _, key := range slices.SortedFunc(maps.Keys(d), compareAtoms) {
		part := bareAtom(key)
		if isMap {
			part += "=" + bareAtom(d[key])
		}
		parts = append(parts, part)
	}
	switch {
	case isMap:
		return "{" + strings.Join(parts, ", ") + "}"
	case len(parts) == 1:
		return parts[0]
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

var (
	bareWord = pattern.New(`^"[A-Za-z_@][A-Za-z0-9_.-]*"$`)
	newRow   = pattern.New(`\["named-uuid","([A-Za-z0-9_]*)"\]`) // a row of the same transaction, @NAME to ovs-vsctl
)

func bareAtom(atom string) string {
	if bareWord.Get().MatchString(atom) {
		return atom[1 : len(atom)-1]
	}
	if id, err := atomUUID(atom); err == nil {
		return string(id)
	}
	return atom
}
