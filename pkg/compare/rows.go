package compare

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// A place is where both sides of a part come from.
type place struct {
	node, zone, database string
	copied               bool // columns that ovn-northd copies from the other database are compared there
}

// changes compares the records of both sides.
func (s *sides) changes(at place, o Options) []Change {
	joined := map[*kind][]pair{}
	gone := map[*record]bool{} // removed or added: only one side has it
	for _, k := range s.a.kinds {
		if !s.a.knows(k, "") || !s.b.knows(k, "") {
			continue
		}
		joined[k] = s.pairs(k) // also kinds not requested: others refer to them
		for _, p := range joined[k] {
			if p.a == nil || p.b == nil {
				gone[p.a], gone[p.b] = true, true
			}
		}
	}
	var changes []Change
	for _, k := range s.a.kinds {
		for _, p := range joined[k] {
			if !o.wants(k.group) || k.part && s.follows(p, gone) {
				continue
			}
			if c, ok := s.change(k, p, at, o); ok {
				changes = append(changes, c)
			}
		}
	}
	return changes
}

// follows reports whether a record was added or removed with what holds it.
func (s *sides) follows(p pair, gone map[*record]bool) bool {
	r := p.a
	switch {
	case p.a != nil && p.b != nil:
		return false
	case p.a == nil:
		r = p.b
	}
	return len(r.holders) > 0 && !slices.ContainsFunc(r.holders, func(h *record) bool { return !gone[h] })
}

// change compares a record; false if it is equal.
func (s *sides) change(k *kind, p pair, at place, o Options) (Change, bool) {
	c := Change{Group: k.group, Change: Changed, Kind: k.name, Node: at.node, Zone: at.zone, Columns: []Column{}}
	shown, r := s.b, p.b
	switch {
	case p.a == nil:
		c.Change = Added
	case p.b == nil:
		c.Change, shown, r = Removed, s.a, p.a
	}
	if k.rows != nil {
		q := ovsdb.Query{Rows: k.rows()}
		c.Database, c.Table = at.database, q.Table()
	}
	if p.a != nil {
		c.UUIDA = string(p.a.uuid)
	}
	if p.b != nil {
		c.UUIDB = string(p.b.uuid)
	}
	c.id, c.On = shown.title(r, 0), shown.holderText(r, 0)
	c.Name = c.id
	if c.Change != Changed {
		c.Name = shown.whole(r)
	}
	if k.group == Configuration || k.group == Bindings {
		c.Owner = ownerOf(r)
	}
	for _, column := range columnsOf(p) {
		if s.compared(k, column, at, o) {
			c.Columns = append(c.Columns, s.column(column, p, o)...)
		}
	}
	if p.a != nil && p.b != nil && !slices.Equal(s.canonicalHolders(s.a, p.a), s.canonicalHolders(s.b, p.b)) {
		c.Columns = append(c.Columns, Column{Name: "held by", A: s.a.holderText(p.a, 0), B: s.b.holderText(p.b, 0)})
	}
	return c, c.Change != Changed || len(c.Columns) > 0
}

// ownerOf returns the CMS name of a row, or of what holds it.
func ownerOf(r *record) string {
	for _, row := range append([]*record{r}, r.holders...) {
		if owner := decode.OwnerOf(row.columns["external_ids"].pairs); owner != (decode.Owner{}) {
			return owner.String()
		}
	}
	return ""
}

// columnsOf returns the columns in which either side has a value.
func columnsOf(p pair) []string {
	names := map[string]value{}
	for _, r := range []*record{p.a, p.b} {
		if r != nil {
			maps.Copy(names, r.columns)
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// compared reports whether a column has lasting information of its own, and both sides know it.
func (s *sides) compared(k *kind, column string, at place, o Options) bool {
	if slices.Contains(k.holds, column) || at.copied && slices.Contains(k.copies, column) {
		return false
	}
	if !o.All && slices.Contains(k.quiet, column) {
		return false
	}
	return s.a.knows(k, column) && s.b.knows(k, column)
}

// column compares one column.
func (s *sides) column(name string, p pair, o Options) []Column {
	var a, b value
	if p.a != nil {
		a = p.a.columns[name]
	}
	if p.b != nil {
		b = p.b.columns[name]
	}
	if a.pairs != nil || b.pairs != nil {
		return s.keys(name, a, b, o)
	}
	onlyA, onlyB := s.apart(a, b)
	if len(onlyA) == 0 && len(onlyB) == 0 {
		return nil
	}
	c := Column{Name: name}
	if len(a.words) <= 1 && len(b.words) <= 1 {
		c.A, c.B = strings.Join(onlyA, ""), strings.Join(onlyB, "")
		if name == "match" {
			c.Terms = terms(c.A, c.B)
		}
	} else {
		c.Removed, c.Added = onlyA, onlyB
	}
	return []Column{c}
}

// apart returns the elements that only one of two sets has, in words.
func (s *sides) apart(a, b value) (onlyA, onlyB []string) {
	inA := map[string]bool{}
	for _, w := range a.words {
		inA[w] = true
	}
	for _, w := range b.words {
		if same := s.canonical(w, b.refs); inA[same] {
			delete(inA, same)
			continue
		}
		onlyB = append(onlyB, s.b.word(w, b.refs, 0))
	}
	for _, w := range a.words {
		if inA[w] {
			onlyA = append(onlyA, s.a.word(w, a.refs, 0))
		}
	}
	slices.Sort(onlyA)
	slices.Sort(onlyB)
	return onlyA, onlyB
}

// canonical returns an element of B as in A.
func (s *sides) canonical(w string, ref bool) string {
	if ref {
		if same, ok := s.same[ovsdb.UUID(w)]; ok {
			return string(same)
		}
	}
	return w
}

// canonicalHolders returns the UUIDs, as in A, of a record's holders.
func (s *sides) canonicalHolders(of *part, r *record) []string {
	var ids []string
	for _, h := range r.holders {
		id := string(h.uuid)
		if of == s.b {
			id = s.canonical(id, true)
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// nothing is a value that is present but empty.
const nothing = `""`

// keys compares the keys of a map.
func (s *sides) keys(name string, a, b value, o Options) []Column {
	all := map[string]string{}
	maps.Copy(all, a.pairs)
	maps.Copy(all, b.pairs)
	var columns []Column
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if !o.All && moving.Get().MatchString(key) {
			continue
		}
		x, inA := a.pairs[key]
		y, inB := b.pairs[key]
		if inA == inB && x == s.canonical(y, b.refs) {
			continue
		}
		c := Column{Name: name + ":" + key}
		if inA {
			c.A = cmp.Or(s.a.word(x, a.refs, 0), nothing)
		}
		if inB {
			c.B = cmp.Or(s.b.word(y, b.refs, 0), nothing)
		}
		columns = append(columns, c)
	}
	return columns
}

// A pair is a record on both sides; nil for the side that lacks it.
type pair struct{ a, b *record }

// sides are a part in both states.
type sides struct {
	a, b        *part
	same        map[ovsdb.UUID]ovsdb.UUID // of B's rows, to A's
	counterpart map[ovsdb.UUID]ovsdb.UUID // of A's rows, to B's
}

func newSides() *sides {
	return &sides{same: map[ovsdb.UUID]ovsdb.UUID{}, counterpart: map[ovsdb.UUID]ovsdb.UUID{}}
}

// pairs matches the records of a kind.
func (s *sides) pairs(k *kind) []pair {
	var pairs []pair
	restA, restB := s.a.records[k], s.b.records[k]
	join := func(key func(*part, *record) string) {
		found := map[string][]*record{}
		for _, b := range restB {
			if id := key(s.b, b); id != "" {
				found[id] = append(found[id], b)
			}
		}
		joined := map[*record]bool{}
		restA = slices.DeleteFunc(slices.Clone(restA), func(a *record) bool {
			id := key(s.a, a)
			if id == "" || len(found[id]) == 0 {
				return false
			}
			b := found[id][0]
			found[id] = found[id][1:]
			pairs, joined[b] = append(pairs, pair{a, b}), true
			if b.uuid != "" {
				s.same[b.uuid], s.counterpart[a.uuid] = a.uuid, b.uuid
			}
			return true
		})
		restB = slices.DeleteFunc(slices.Clone(restB), func(b *record) bool { return joined[b] })
	}
	join(func(_ *part, r *record) string { return string(r.uuid) })
	for _, columns := range k.keys {
		join(func(p *part, r *record) string { return p.key(r, columns) })
	}
	for _, a := range restA {
		pairs = append(pairs, pair{a: a})
	}
	for _, b := range restB {
		pairs = append(pairs, pair{b: b})
	}
	return pairs
}

// key returns the columns' values; empty if they are.
func (p *part) key(r *record, columns []string) string {
	if len(columns) == 0 {
		return "the only one"
	}
	words := make([]string, len(columns))
	some := false
	for i, column := range columns {
		words[i] = p.text(r, column, 0)
		some = some || words[i] != ""
	}
	if !some {
		return ""
	}
	return strings.Join(words, "\x00")
}
