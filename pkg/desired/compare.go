package desired

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A Difference is how what is installed differs from what is desired.
type Difference string

// The differences.
const (
	Equal   Difference = "equal"
	Missing Difference = "missing" // desired and not installed
	Foreign Difference = "foreign" // installed and not desired
	Edited  Difference = "edited"  // installed with other actions or another cookie
)

// A Pair is a flow that is desired beside the one of the same table, priority and match that is installed. One of them
// may be nil.
type Pair struct {
	Difference Difference
	Installed  *openflow.FlowEntry
	// Desired are the flows that logical flows ask for. Where several have one match and different actions,
	// ovn-controller installs one of them.
	Desired []*openflow.FlowEntry
	// Reshaped is set if flows of the same logical flow are missing while its actions are installed in other matches: then it
	// was compiled in another way, which no one does by hand.
	Reshaped bool

	actions string // those installed, as actionsKey has them, with conjunctions numbered as desired
}

// place is where a flow is: equal for flows of which a switch can have one.
type place struct {
	table, priority int
	match           string
}

func placeOf(f *openflow.FlowEntry) place {
	return place{max(f.Table.Number, 0), f.Priority, f.Match.Key()}
}

// Compare pairs desired flows with those installed in the same tables, ordered by table, falling priority and match.
// Clauses of conjunctions that several logical flows ask for in one match are one flow. The numbers of conjunctions may
// differ: a number may have been taken, and builds for other processors hash in another way.
func Compare(desired, installed []openflow.FlowEntry) []Pair {
	pairs := map[place]*Pair{}
	for i := range desired {
		f := &desired[i]
		k := placeOf(f)
		p := pairs[k]
		if p == nil {
			p = &Pair{}
			pairs[k] = p
		}
		p.want(f)
	}
	ids := renumbering(desired, installed)
	for i := range installed {
		f := ids.of(installed[i])
		k := placeOf(&f)
		if pairs[k] == nil {
			pairs[k] = &Pair{}
		}
		pairs[k].Installed, pairs[k].actions = &installed[i], actionsKey(f.Actions)
	}
	all := make([]Pair, 0, len(pairs))
	for _, p := range pairs {
		p.Difference = p.difference()
		all = append(all, *p)
	}
	reshape(all)
	return sorted(all)
}

// sorted orders pairs by table, falling priority and match.
func sorted(all []Pair) []Pair {
	type keyed struct {
		Pair
		place
	}
	list := make([]keyed, 0, len(all))
	for _, p := range all {
		f := p.Any()
		list = append(list, keyed{p, place{f.Table.Number, f.Priority, f.Match.String()}}) // once: to write a match takes longer than the rest
	}
	slices.SortFunc(list, func(a, b keyed) int {
		return cmp.Or(cmp.Compare(a.table, b.table), cmp.Compare(b.priority, a.priority), strings.Compare(a.match, b.match))
	})
	for i := range list {
		all[i] = list[i].Pair
	}
	return all
}

// A conjunction is one of a table, by its number.
type conjunction struct {
	table int
	id    uint32
}

// A numbering has the number that is desired of each conjunction installed under another.
type numbering map[conjunction]uint32

// renumbering pairs the conjunctions of the same logical flow and datapath in the order of their numbers.
func renumbering(desired, installed []openflow.FlowEntry) numbering {
	wanted, found := conjunctions(desired), conjunctions(installed)
	n := numbering{}
	for k, ids := range found {
		if want := wanted[k]; len(want) == len(ids) && !slices.Equal(want, ids) {
			for i, id := range ids {
				n[conjunction{k.table, id}] = want[i]
			}
		}
	}
	return n
}

// A source is the logical flow and what its conjunctions have in common.
type source struct {
	place
	cookie uint64
}

// conjunctions are the numbers of the conjunctions in flows, ascending.
func conjunctions(flows []openflow.FlowEntry) map[source][]uint32 {
	ids := map[source][]uint32{}
	for i := range flows {
		f := flows[i]
		id, ok := f.Match.Field("conj_id")
		if !ok {
			continue
		}
		f.Match = f.Match.Without(id.Field)
		k := source{placeOf(&f), f.Cookie}
		ids[k] = append(ids[k], uint32(id.Value.Lo))
	}
	for k := range ids {
		slices.Sort(ids[k])
	}
	return ids
}

// of is a flow with the numbers that are desired.
func (n numbering) of(f openflow.FlowEntry) openflow.FlowEntry {
	if len(n) == 0 {
		return f
	}
	table := max(f.Table.Number, 0)
	if term, ok := f.Match.Field("conj_id"); ok {
		if id, ok := n[conjunction{table, uint32(term.Value.Lo)}]; ok {
			f.Match = f.Match.Without(term.Field)
			term.Value = packet.Uint(uint64(id))
			f.Match.Terms = append(f.Match.Terms, term)
		}
	}
	if isClause(&f) {
		f.Actions = slices.Clone(f.Actions)
		for i, a := range f.Actions {
			clause, is := a.(openflow.Conjunction)
			if id, ok := n[conjunction{table, clause.ID}]; is && ok {
				clause.ID = id
				f.Actions[i] = clause
			}
		}
	}
	return f
}

// reshape finds the flows that are reshaped.
func reshape(pairs []Pair) {
	type origin struct {
		cookie, datapath uint64
		table            int
	}
	originOf := func(f *openflow.FlowEntry) origin {
		term, _ := f.Match.Field("metadata")
		return origin{f.Cookie, term.Value.Lo, f.Table.Number}
	}
	missing := map[origin]*openflow.FlowEntry{}
	for i := range pairs {
		if p := &pairs[i]; p.Difference == Missing && p.Desired[0].Cookie != 0 {
			missing[originOf(p.Desired[0])] = p.Desired[0]
		}
	}
	reshaped, ids := map[origin]bool{}, map[conjunction]bool{}
	for i := range pairs {
		p := &pairs[i]
		if f := p.Any(); p.Difference == Foreign && missing[originOf(f)] != nil && SameActions(f, missing[originOf(f)]) {
			reshaped[originOf(f)] = true
		}
	}
	if len(reshaped) == 0 {
		return
	}
	differs := func(p *Pair) bool { return p.Difference == Missing || p.Difference == Foreign }
	for i := range pairs {
		p := &pairs[i]
		if f := p.Any(); differs(p) && reshaped[originOf(f)] {
			p.Reshaped = true
			if id, ok := f.Match.Field("conj_id"); ok {
				ids[conjunction{f.Table.Number, uint32(id.Value.Lo)}] = true
			}
		}
	}
	for i := range pairs {
		p := &pairs[i]
		if f := p.Any(); (differs(p) || p.Difference == Edited) && isClause(f) {
			p.Reshaped = slices.ContainsFunc(f.Actions, func(a openflow.Action) bool {
				clause, ok := a.(openflow.Conjunction)
				return ok && ids[conjunction{f.Table.Number, clause.ID}]
			})
		}
	}
}

// Any is the flow that is installed, else one that is desired.
func (p *Pair) Any() *openflow.FlowEntry {
	if p.Installed != nil {
		return p.Installed
	}
	return p.Desired[0]
}

// want adds a desired flow.
func (p *Pair) want(f *openflow.FlowEntry) {
	for i, other := range p.Desired {
		if isClause(f) && isClause(other) {
			both := *other
			both.Actions = append(slices.Clone(other.Actions), f.Actions...)
			p.Desired[i] = &both
			return
		}
	}
	p.Desired = append(p.Desired, f)
}

func isClause(f *openflow.FlowEntry) bool {
	return slices.ContainsFunc(f.Actions, func(a openflow.Action) bool { _, ok := a.(openflow.Conjunction); return ok })
}

func (p *Pair) difference() Difference {
	switch {
	case p.Installed == nil:
		return Missing
	case len(p.Desired) == 0:
		return Foreign
	}
	for _, d := range p.Desired {
		if p.Installed.Cookie == d.Cookie && p.actions == actionsKey(d.Actions) {
			return Equal
		}
	}
	return Edited
}

// SameActions reports whether two flows do the same with packets.
func SameActions(a, b *openflow.FlowEntry) bool {
	return actionsKey(a.Actions) == actionsKey(b.Actions)
}

// actionsKey is equal for actions that do the same, however they are written. The order of clauses has no meaning.
func actionsKey(actions openflow.Actions) string {
	texts := make([]string, 0, len(actions))
	clauses := false
	for _, a := range actions {
		switch a := a.(type) {
		case openflow.Drop:
			continue
		case openflow.Conjunction:
			clauses = true
		case openflow.CT:
			exec := a.Exec
			a.Exec = nil
			texts = append(texts, a.String()+" "+actionsKey(exec))
			continue
		case openflow.Clone:
			texts = append(texts, "clone "+actionsKey(a.Actions))
			continue
		}
		set, ok := openflow.LoadedBits(a)
		if !ok {
			texts = append(texts, a.String())
			continue
		}
		// OpenFlow 1.0 loads 64 bits at most.
		low, high := set.Mask.And(packet.Ones(64)), set.Mask.AndNot(packet.Ones(64))
		for _, mask := range []packet.Value{low, high} {
			if !mask.IsZero() {
				texts = append(texts, openflow.SetField{Field: set.Field, Value: set.Value.And(mask), Mask: mask}.String())
			}
		}
	}
	if clauses {
		slices.Sort(texts)
		texts = slices.Compact(texts)
	}
	return strings.Join(texts, ",")
}
