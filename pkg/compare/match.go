package compare

import (
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// A pair is a record as both sides have it; one is nil where only the other has it.
type pair struct{ a, b *record }

// sides are a part as both states hold it.
type sides struct {
	a, b        *part
	same        map[ovsdb.UUID]ovsdb.UUID // of B's rows, to A's
	counterpart map[ovsdb.UUID]ovsdb.UUID // of A's rows, to B's
}

func newSides() *sides {
	return &sides{same: map[ovsdb.UUID]ovsdb.UUID{}, counterpart: map[ovsdb.UUID]ovsdb.UUID{}}
}

// pairs joins the records of a kind.
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

// key is what the columns say; empty if they are.
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
