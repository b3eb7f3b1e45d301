package compare

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/pattern"
	"github.com/ovnctl/ovnctl/pkg/secret"
)

// A part is what one database, or one node besides its database, holds.
type part struct {
	kinds []*kind
	// knows reports whether the source has a column; an empty column means the kind itself.
	knows   func(k *kind, column string) bool
	records map[*kind][]*record
	rows    map[ovsdb.UUID]*record
}

// A record is a row, or a thing of a node.
type record struct {
	kind    *kind
	uuid    ovsdb.UUID // empty: not a row
	columns map[string]value
	holders []*record
}

// A value is a column's value, of any type.
type value struct {
	words []string          // of a set, sorted; one for a single value, none if empty
	pairs map[string]string // of a map; values of keys that name a secret are hidden
	refs  bool              // words, or the values of pairs, are UUIDs
}

func (v value) empty() bool { return len(v.words) == 0 && len(v.pairs) == 0 }

func one(text string) value {
	if text == "" {
		return value{}
	}
	return value{words: []string{text}}
}

func newPart(kinds []*kind, knows func(*kind, string) bool) *part {
	return &part{kinds: kinds, knows: knows, records: map[*kind][]*record{}, rows: map[ovsdb.UUID]*record{}}
}

func (p *part) add(r *record) {
	p.records[r.kind] = append(p.records[r.kind], r)
	if r.uuid != "" {
		p.rows[r.uuid] = r
	}
}

// readRows reads the tables of a database in one transaction.
func readRows(ctx context.Context, db ovsdb.Reader, kinds []*kind) (*part, error) {
	queries := make([]*ovsdb.Query, len(kinds))
	tables := map[*kind]string{}
	for i, k := range kinds {
		queries[i] = &ovsdb.Query{Rows: k.rows()}
		tables[k] = queries[i].Table()
	}
	if err := db.Select(ctx, queries...); err != nil {
		return nil, err
	}
	// A capture's schema has columns that its files lack; only the rows show which.
	seen := map[*kind]map[string]bool{}
	p := newPart(kinds, func(k *kind, column string) bool { return db.Has(tables[k], column) || seen[k][column] })
	for i, k := range kinds {
		rows := reflect.ValueOf(queries[i].Rows).Elem()
		seen[k] = map[string]bool{}
		for n := range rows.Len() {
			r := newRecord(k, rows.Index(n))
			for column := range r.columns {
				seen[k][column] = true
			}
			p.add(r)
		}
	}
	p.join()
	return p, nil
}

// newRecord makes a record from a row, a struct with column names as tags.
func newRecord(k *kind, row reflect.Value) *record {
	r := &record{kind: k, columns: map[string]value{}}
	for column, field := range ovsdb.Columns(row) {
		if column == "_uuid" {
			r.uuid = field.Interface().(ovsdb.UUID)
		} else if v := newValue(field); !v.empty() {
			r.columns[column] = v
		}
	}
	return r
}

var uuidType = reflect.TypeFor[ovsdb.UUID]()

func newValue(field reflect.Value) value {
	switch field.Kind() {
	case reflect.Slice:
		v := value{refs: field.Type().Elem() == uuidType}
		for i := range field.Len() {
			v.words = append(v.words, fmt.Sprint(field.Index(i)))
		}
		slices.Sort(v.words)
		return v
	case reflect.Map:
		v := value{refs: field.Type().Elem() == uuidType, pairs: make(map[string]string, field.Len())}
		for key, e := range field.Seq2() {
			v.pairs[fmt.Sprint(key)] = fmt.Sprint(e)
		}
		v.pairs = secret.Map(v.pairs)
		return v
	}
	v := one(fmt.Sprint(field))
	v.refs = field.Type() == uuidType
	return v
}

// join sets the records' holders.
func (p *part) join() {
	for _, k := range p.kinds {
		for _, r := range p.records[k] {
			p.hold(r)
		}
	}
}

func (p *part) hold(r *record) {
	for _, column := range r.kind.holds {
		v := r.columns[column]
		for _, id := range slices.Concat(v.words, slices.Collect(maps.Values(v.pairs))) {
			if held := p.rows[ovsdb.UUID(id)]; held != nil && !slices.Contains(held.holders, r) {
				held.holders = append(held.holders, r)
			}
		}
	}
}

// deep is how far references are followed for a title.
const deep = 3

var placeholder = pattern.New(`\{[^}]+\}`)

// title returns what people call a record.
func (p *part) title(r *record, depth int) string {
	text, _ := p.fill(r.kind.title, r, depth)
	return text
}

// whole returns the title of a record that only one side has.
func (p *part) whole(r *record) string {
	text := p.title(r, 0)
	if more, ok := p.fill(r.kind.more, r, 0); ok {
		text += " " + more
	}
	return text
}

// fill puts column values into a title; false if none has a value.
func (p *part) fill(title string, r *record, depth int) (text string, ok bool) {
	text = placeholder.Get().ReplaceAllStringFunc(title, func(name string) string {
		value := p.text(r, strings.Trim(name, "{}"), depth)
		ok = ok || value != ""
		return value
	})
	return strings.Join(strings.Fields(text), " "), ok
}

// text returns a column, or a key of one, in words.
func (p *part) text(r *record, column string, depth int) string {
	if column == holder {
		return p.holderText(r, depth)
	}
	column, key, ofMap := strings.Cut(column, ":")
	v := r.columns[column]
	if ofMap {
		return v.pairs[key]
	}
	var words []string
	for _, w := range v.words {
		words = append(words, p.word(w, v.refs, depth))
	}
	for _, key := range slices.Sorted(maps.Keys(v.pairs)) {
		if !moving.Get().MatchString(key) {
			words = append(words, key+"="+p.word(v.pairs[key], v.refs, depth))
		}
	}
	slices.Sort(words)
	return strings.Join(words, ", ")
}

// word returns an element of a value, a reference by what it refers to.
func (p *part) word(w string, ref bool, depth int) string {
	if !ref {
		return w
	}
	if r := p.rows[ovsdb.UUID(w)]; r != nil && depth < deep {
		if title := p.title(r, depth+1); title != "" {
			return title
		}
	}
	return w
}

// holderText returns what holds a record, in words.
func (p *part) holderText(r *record, depth int) string {
	if depth >= deep {
		return ""
	}
	var names []string
	for _, h := range r.holders {
		names = append(names, strings.TrimSpace(h.kind.name+" "+p.title(h, depth+1)))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
