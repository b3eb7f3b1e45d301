package ovsdb

import (
	"bytes"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// A plan maps the columns of a table to the fields of a struct. It is built once per type.
type plan struct {
	table   string
	columns []string          // in the order of the struct's fields
	sparse  map[string]string // columns that are empty in most rows, "set" or "map"
	fields  map[string][]int  // column to field, see [reflect.Value.FieldByIndex]
	names   map[string]string // column names, for scanner.key
}

var plans sync.Map // reflect.Type of the row to *plan

var rowType = reflect.TypeFor[Row]()

// planFor returns the plan for the elements of rows, a *[]T.
func planFor(rows any) (*plan, error) {
	t := reflect.TypeOf(rows)
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Slice {
		return nil, fmt.Errorf("rows: want a pointer to a slice, not %T", rows)
	}
	return planOf(t.Elem().Elem())
}

// planOf returns the plan for rows of a type.
func planOf(t reflect.Type) (*plan, error) {
	if p, ok := plans.Load(t); ok {
		return p.(*plan), nil
	}
	if t.Kind() != reflect.Struct || !t.Implements(rowType) {
		return nil, fmt.Errorf("rows: %s is not a struct that is a Row", t)
	}
	p := &plan{
		table:  reflect.Zero(t).Interface().(Row).Table(),
		sparse: map[string]string{},
		fields: map[string][]int{},
		names:  map[string]string{},
	}
	for _, f := range reflect.VisibleFields(t) {
		tag, ok := f.Tag.Lookup("ovsdb")
		if !ok {
			continue
		}
		if !f.IsExported() {
			return nil, fmt.Errorf("rows: %s.%s is not exported", t, f.Name)
		}
		column, sparse := strings.CutSuffix(tag, ",sparse")
		switch kind := f.Type.Kind(); {
		case !sparse:
		case kind == reflect.Slice:
			p.sparse[column] = "set"
		case kind == reflect.Map:
			p.sparse[column] = "map"
		default:
			return nil, fmt.Errorf("rows: %s.%s cannot be sparse: it is neither a set nor a map", t, f.Name)
		}
		p.columns = append(p.columns, column)
		p.fields[column] = f.Index
		p.names[column] = column
	}
	if _, ok := p.fields["_uuid"]; !ok && len(p.sparse) > 0 {
		return nil, fmt.Errorf("rows: %s has sparse columns and no _uuid, by which they are joined", t)
	}
	plans.Store(t, p)
	return p, nil
}

// Columns returns the columns of a [Row] with the fields that hold them.
func Columns(row reflect.Value) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		p, err := planOf(row.Type())
		if err != nil {
			return
		}
		for _, column := range p.columns {
			if !yield(column, row.FieldByIndex(p.fields[column])) {
				return
			}
		}
	}
}

// Table returns the table to read; empty if Rows is not a pointer to a slice of Rows.
func (q *Query) Table() string {
	p, err := planFor(q.Rows)
	if err != nil {
		return ""
	}
	return p.table
}

// known returns the plan's columns that the schema has, and separately the sparse ones that can be empty there.
func (p *plan) known(s *schema) (columns, sparse []string) {
	columns = []string{}
	if _, ok := p.fields["_uuid"]; ok {
		columns = append(columns, "_uuid")
	}
	for _, c := range p.columns {
		switch {
		case c == "_uuid" || !s.has(p.table, c):
		case p.sparse[c] != "" && s.table(p.table).Columns[c].optional(p.sparse[c]):
			sparse = append(sparse, c)
		default:
			columns = append(columns, c)
		}
	}
	return columns, sparse
}

// empty returns what a sparse column holds in most rows, in OVSDB's notation.
func (p *plan) empty(column string) any {
	return []any{p.sparse[column], []any{}}
}

// A sink collects rows in a new slice of the query's type.
type sink struct {
	plan  *plan
	dst   reflect.Value // the query's slice
	slice reflect.Value // the new one
}

func newSink(q *Query) (*sink, error) {
	p, err := planFor(q.Rows)
	if err != nil {
		return nil, err
	}
	dst := reflect.ValueOf(q.Rows).Elem()
	return &sink{p, dst, reflect.New(dst.Type()).Elem()}, nil
}

// add parses the row at s, an object of columns, into a new element. The id is for messages; if empty it is
// taken from the row.
func (k *sink) add(s *scanner, id UUID) error {
	return k.read(s, k.grow(), id)
}

// read parses the row at s into an element.
func (k *sink) read(s *scanner, row reflect.Value, id UUID) error {
	start := s.i
	column := ""
	err := s.object(k.plan.names, func(name string) error {
		i, ok := k.plan.fields[name]
		if !ok {
			return s.skip()
		}
		column = name
		return scanInto(s, row.FieldByIndex(i).Addr().Interface())
	})
	if err != nil {
		if id == "" {
			id = rowUUID(s.b[start:])
		}
		return k.blame(err, column, id)
	}
	return nil
}

func (k *sink) grow() reflect.Value {
	n := k.slice.Len()
	k.slice.Grow(1)
	k.slice.SetLen(n + 1)
	return k.slice.Index(n)
}

// set parses the text of one column into the last row.
func (k *sink) set(column string, text []byte, id UUID) error {
	i, ok := k.plan.fields[column]
	if !ok {
		return nil
	}
	s := scanner{b: text}
	err := scanInto(&s, k.slice.Index(k.slice.Len()-1).FieldByIndex(i).Addr().Interface())
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return k.blame(err, column, id)
	}
	return nil
}

// A supplement fills a sparse column of those rows of a sink that have a value in it.
type supplement struct {
	*sink
	at map[UUID]int // index of each row in the sink; nil until first needed
}

// add parses the row at s, _uuid and the column, into its row of the sink.
func (u *supplement) add(s *scanner, _ UUID) error {
	if u.at == nil {
		u.at = make(map[UUID]int, u.slice.Len())
		for i := range u.slice.Len() {
			u.at[UUID(u.slice.Index(i).FieldByIndex(u.plan.fields["_uuid"]).String())] = i
		}
	}
	id := rowUUID(s.b[s.i:])
	row, ok := u.at[id]
	if !ok {
		return u.blame(fmt.Errorf("a row that was not there before"), "", id)
	}
	return u.read(s, u.slice.Index(row), id)
}

// sort sorts the rows by their ids, which are given in the order of the rows.
func (k *sink) sort(ids []rowID) {
	if k.slice.Len() != len(ids) { // after an error
		return
	}
	order := make([]int, len(ids))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(ids[a][:], ids[b][:]) })
	// Each row moves once, following the permutation's cycles.
	swap := reflect.Swapper(k.slice.Interface())
	for i := range order {
		at := i
		for order[at] != i {
			from := order[at]
			swap(at, from)
			order[at], at = at, from
		}
		order[at] = at
	}
}

// zero reports whether the last row has no value in the column.
func (k *sink) zero(column string) bool {
	v := k.slice.Index(k.slice.Len() - 1).FieldByIndex(k.plan.fields[column])
	return v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0
}

func (k *sink) blame(err error, column string, id UUID) error {
	where := "table " + k.plan.table
	if column != "" {
		where += ", column " + column
	}
	if id != "" {
		where += ", row " + string(id)
	}
	return fmt.Errorf("%s: %w", where, err)
}

// store sets the query's rows.
func (k *sink) store() { k.dst.Set(k.slice) }

// rowUUID returns the _uuid of a malformed row, if it can be parsed.
func rowUUID(text []byte) UUID {
	var id UUID
	s := scanner{b: text}
	_ = s.object(nil, func(name string) error {
		if name != "_uuid" {
			return s.skip()
		}
		var err error
		id, err = s.uuid()
		return err
	})
	return id
}

// selects prepares the queries for a schema: a sink each, nil if the table is missing.
func selects(s *schema, queries []*Query) ([]*sink, error) {
	sinks := make([]*sink, len(queries))
	for i, q := range queries {
		k, err := newSink(q)
		if err != nil {
			return nil, err
		}
		if !s.has(k.plan.table, "") {
			continue
		}
		for _, c := range q.Where {
			if !s.has(k.plan.table, c.Column) {
				return nil, fmt.Errorf("table %s: %w: %s", k.plan.table, ErrNoColumn, c.Column)
			}
			if !slices.Contains(functions, c.Function) {
				return nil, fmt.Errorf("table %s: column %s: no function %q", k.plan.table, c.Column, c.Function)
			}
		}
		sinks[i] = k
	}
	return sinks, nil
}

var functions = []string{"==", "!=", "<", "<=", ">", ">=", "includes", "excludes"}

// fill sets each query's rows; those of a missing table become empty.
func fill(sinks []*sink, queries []*Query) {
	for i, k := range sinks {
		if k == nil {
			reflect.ValueOf(queries[i].Rows).Elem().SetZero()
			continue
		}
		k.store()
	}
}
