package ovsdb

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"
)

// Touched follows which tables of a database change, and holds none of their rows: who has read a table need not read it
// again until then. The zero value knows nothing yet. It is safe for concurrent use.
type Touched struct {
	mu    sync.Mutex
	since time.Time            // from when on no change was missed; zero: changes are missed now
	last  map[string]time.Time // by table, when the latest change since then came
}

// Same reports whether tables are surely as they were at a time: before their rows were asked for. A change counts from when its
// notice came, some milliseconds late.
func (t *Touched) Same(at time.Time, tables ...string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.since.IsZero() && !at.Before(t.since) && !slices.ContainsFunc(tables, func(table string) bool { return !t.last[table].Before(at) })
}

// Follow notes changes of the tables that [Load] would read into the structs, until the context ends or the server cannot be
// followed. It tells which tables have changed; none if it is not known which, after a connection was lost. Tell is called from
// one goroutine.
func (t *Touched) Follow(ctx context.Context, c *Client, tell func(tables []string), structs ...any) error {
	wanted, err := columnsOf(structs)
	if err != nil {
		return err
	}
	first := true
	return c.Follow(ctx, func(f *Feed, began func()) error {
		defer t.missing()
		var lookups []Lookup
		for table, columns := range wanted {
			if !f.session.schema.has(table, "") {
				continue
			}
			known := slices.DeleteFunc(append([]string{}, columns...), func(column string) bool { return !f.session.schema.has(table, column) })
			lookups = append(lookups, Lookup{Table: table, Columns: known})
		}
		if err := f.StartChanges(ctx, lookups...); err != nil {
			return err
		}
		t.begin()
		began()
		if !first {
			tell(nil)
		}
		first = false
		for {
			b, err := f.Next(ctx)
			if err != nil {
				return err
			}
			var rows map[string]json.RawMessage
			if err := json.Unmarshal(b.Rows, &rows); err != nil {
				return err
			}
			tables := slices.Sorted(maps.Keys(rows))
			t.note(tables)
			tell(tables)
		}
	}, func(error) {})
}

func (t *Touched) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.since, t.last = time.Now(), map[string]time.Time{}
}

func (t *Touched) missing() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.since = time.Time{}
}

func (t *Touched) note(tables []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, table := range tables {
		t.last[table] = time.Now()
	}
}

// TablesOf returns the names of the tables that [Load] reads into a struct.
func TablesOf(structure any) []string {
	columns, _ := columnsOf([]any{structure})
	return slices.Sorted(maps.Keys(columns))
}

// columnsOf returns the columns that structs have, by table.
func columnsOf(structs []any) (map[string][]string, error) {
	all := map[string]map[string]bool{}
	for _, structure := range structs {
		v := reflect.Indirect(reflect.ValueOf(structure))
		if v.Kind() != reflect.Struct {
			return nil, fmt.Errorf("follow: want a struct of slices, not %T", structure)
		}
		for i := range v.NumField() {
			p, err := planFor(reflect.New(v.Field(i).Type()).Interface())
			if err != nil {
				return nil, err
			}
			if all[p.table] == nil {
				all[p.table] = map[string]bool{}
			}
			for _, column := range p.columns {
				if column != "_uuid" {
					all[p.table][column] = true
				}
			}
		}
	}
	columns := map[string][]string{}
	for table, names := range all {
		columns[table] = slices.Sorted(maps.Keys(names))
	}
	return columns, nil
}
