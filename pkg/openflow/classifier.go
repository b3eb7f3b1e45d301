package openflow

import (
	"cmp"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/flow"
)

// A Classifier finds the flow of a bridge that a packet matches.
//
// Flows of a table that look at the same bits of a packet form a tuple, a hash
// table by the values of those bits. A lookup asks the tuples one after the
// other, those with high priorities first, and ends when none that is left can
// have a flow of higher priority than the one that was found. Real tables have
// some thousands of flows and some dozens of tuples.
//
// Flows with conjunction actions are clauses of matches that would take very
// many flows to write out (ovs-fields(7), "Conjunctive Match Fields").
type Classifier struct {
	flows  []FlowEntry
	tables [256]*table
}

type table struct {
	tuples []*tuple // by falling priority
	soft   bool     // some flows are clauses of conjunctions
}

type tuple struct {
	pattern flow.Pattern
	top     int // the highest priority in it
	members map[uint64][]member
}

// A member is a flow in a tuple; those that the same packets match stand in the
// order of falling priority.
type member struct {
	values   []uint64
	index    int
	priority int
	options  []Term // about tunnel options and the names of ports, which are no part of the pattern
	soft     bool
}

// NewClassifier prepares the flows of a bridge, which must not be written to
// afterwards. Where two have the same table, priority and match, the later one
// counts, as in a switch. Flows of tables that are known by name only match
// nothing.
func NewClassifier(flows []FlowEntry) *Classifier {
	c := &Classifier{flows: flows}
	type key struct {
		table int
		mask  string
	}
	made := map[key]*tuple{}
	for i := range flows {
		e := &flows[i]
		number := max(e.Table.Number, 0) // which NoTable stands for
		if e.Table.Name != "" || number >= len(c.tables) {
			continue
		}
		value, mask, options := e.Match.compile()
		pattern := flow.NewPattern(&mask)
		t := c.tables[number]
		if t == nil {
			t = &table{}
			c.tables[number] = t
		}
		k := key{number, pattern.Key()}
		tu := made[k]
		if tu == nil {
			tu = &tuple{pattern: pattern, members: map[uint64][]member{}}
			made[k] = tu
			t.tuples = append(t.tuples, tu)
		}
		r := member{values: pattern.Values(&value), index: i, priority: e.Priority, options: options, soft: e.Actions.conjunctive()}
		tu.add(pattern.Hash(&value), r)
		t.soft = t.soft || r.soft
	}
	for _, t := range c.tables {
		if t != nil {
			slices.SortStableFunc(t.tuples, func(a, b *tuple) int { return cmp.Compare(b.top, a.top) })
		}
	}
	return c
}

func (t *tuple) add(hash uint64, r member) {
	list := t.members[hash]
	at := 0
	for at < len(list) && list[at].priority >= r.priority {
		if list[at].priority == r.priority && slices.Equal(list[at].values, r.values) && slices.Equal(list[at].options, r.options) {
			list[at] = r
			return
		}
		at++
	}
	t.members[hash] = slices.Insert(list, at, r)
	t.top = max(t.top, r.priority)
}

// compile makes a value and a mask of a match, and a list of the terms that
// these cannot hold.
func (m Match) compile() (value, mask flow.Flow, rest []Term) {
	set := func(f *flow.Field, v, bits flow.Value) {
		value.SetMasked(f, v, bits)
		mask.SetMasked(f, bits, bits)
	}
	for _, t := range m.Terms {
		switch {
		case t.Keyword != "":
			k, _ := flow.LookupKeyword(t.Keyword)
			if k.EthType != 0 {
				set(ethTypeField, flow.Uint(k.EthType), ethTypeField.Mask())
			}
			if k.Proto != 0 {
				set(protoField, flow.Uint(k.Proto), protoField.Mask())
			}
		case t.Absent, t.present(), t.Field.IsOption(), t.Port.Name != "" && t.Port.Number == 0:
			rest = append(rest, t)
		default:
			set(t.Field, t.Value, t.Mask)
		}
	}
	return value, mask, rest
}

var (
	ethTypeField, _ = flow.Lookup("eth_type")
	protoField, _   = flow.Lookup("nw_proto")
	conjIDField, _  = flow.Lookup("conj_id")
)

// conjunctive reports whether the actions make a flow a clause of a conjunction.
func (list Actions) conjunctive() bool {
	return slices.ContainsFunc(list, func(a Action) bool { _, ok := a.(Conjunction); return ok })
}

// Flow returns the flow that a lookup found.
func (c *Classifier) Flow(index int) *FlowEntry { return &c.flows[index] }

// Lookup finds the flow of a table that packet p matches, and returns its index;
// -1 if there is none. If mask is not nil, the bits of the packet that had a part
// in it are set there, and more.
func (c *Classifier) Lookup(table int, p, mask *flow.Flow) int {
	t := c.tables[table]
	switch {
	case t == nil:
		return -1
	case t.soft:
		index, _ := t.conjunctive(c, p, mask)
		return index
	}
	r := t.best(p, mask, false)
	if r == nil {
		return -1
	}
	return r.index
}

// Clauses returns the flows whose conjunction led to the flow that a lookup of p
// finds; none if it is an ordinary one.
func (c *Classifier) Clauses(table int, p *flow.Flow) []int {
	t := c.tables[table]
	if t == nil || !t.soft {
		return nil
	}
	_, clauses := t.conjunctive(c, p, nil)
	return clauses
}

// Ties returns all flows of a table that match p and have the same priority as
// one that Lookup finds. Which of several is found is nowhere defined.
func (c *Classifier) Ties(table int, p *flow.Flow) []int {
	var list []int
	best := c.Lookup(table, p, nil)
	if best < 0 {
		return nil
	}
	for _, tu := range c.tables[table].tuples {
		for _, r := range tu.members[tu.pattern.Hash(p)] {
			if r.priority == c.flows[best].Priority && tu.holds(&r, p) {
				list = append(list, r.index)
			}
		}
	}
	return list
}

// best finds the flow of highest priority; hard: of those that are no clause.
func (t *table) best(p, mask *flow.Flow, hard bool) *member {
	var found *member
	for _, tu := range t.tuples {
		if found != nil && found.priority >= tu.top {
			break
		}
		if mask != nil {
			tu.pattern.AddTo(mask)
		}
		r := tu.find(p, -1)
		for hard && r != nil && r.soft {
			r = tu.find(p, r.priority)
		}
		if r != nil && (found == nil || r.priority > found.priority) {
			found = r
		}
	}
	return found
}

// find returns the flow of highest priority that p matches, below a priority if
// that is not negative.
func (tu *tuple) find(p *flow.Flow, below int) *member {
	list := tu.members[tu.pattern.Hash(p)]
	for i := range list {
		r := &list[i]
		if (below < 0 || r.priority < below) && tu.holds(r, p) {
			return r
		}
	}
	return nil
}

func (tu *tuple) holds(r *member, p *flow.Flow) bool {
	if !tu.pattern.Matches(p, r.values) {
		return false
	}
	for _, o := range r.options {
		if !o.matches(p) {
			return false
		}
	}
	return true
}

// conjunctive finds the flow of a table that has clauses of conjunctions, and
// the clauses that led to it.
func (t *table) conjunctive(c *Classifier, p, mask *flow.Flow) (int, []int) {
	var hard *member
	type candidate struct {
		*tuple
		*member
	}
	var soft []candidate
	for _, tu := range t.tuples {
		if hard != nil && hard.priority >= tu.top {
			break
		}
		if mask != nil {
			tu.pattern.AddTo(mask)
		}
		r := tu.find(p, -1)
		switch {
		case r == nil:
		case r.soft:
			soft = append(soft, candidate{tu, r})
		case hard == nil || r.priority > hard.priority:
			hard = r
		}
	}
	for {
		top := -1
		kept := soft[:0]
		for _, s := range soft {
			if hard == nil || s.member.priority > hard.priority {
				kept = append(kept, s)
				top = max(top, s.member.priority)
			}
		}
		if soft = kept; len(soft) == 0 {
			if hard == nil {
				return -1, nil
			}
			return hard.index, nil
		}
		var clauses []int
		for _, s := range soft {
			if s.member.priority == top {
				clauses = append(clauses, s.member.index)
			}
		}
		for _, id := range c.complete(clauses) {
			q := *p
			q.Set(conjIDField, flow.Uint(uint64(id)))
			if r := t.best(&q, mask, true); r != nil {
				return r.index, c.clausesOf(id, clauses)
			}
		}
		// None is complete at this priority: those flows give way to the next
		// ones below them that look at the same bits.
		next := soft[:0]
		for _, s := range soft {
			if s.member.priority != top {
				next = append(next, s)
				continue
			}
			r := s.tuple.find(p, top)
			switch {
			case r == nil:
			case r.soft:
				next = append(next, candidate{s.tuple, r})
			case hard == nil || r.priority > hard.priority:
				hard = r
			}
		}
		soft = next
	}
}

// complete returns the conjunctions of which all clauses are among some flows.
func (c *Classifier) complete(clauses []int) []uint32 {
	var ids []uint32
	have := map[uint32]uint64{} // a bit for each clause
	for _, i := range clauses {
		for _, a := range c.flows[i].Actions {
			conj, ok := a.(Conjunction)
			if !ok || conj.Clause < 1 || conj.Clause > conj.N || conj.N > 64 {
				continue
			}
			have[conj.ID] |= 1 << (conj.Clause - 1)
			if have[conj.ID] == ^uint64(0)>>(64-conj.N) && !slices.Contains(ids, conj.ID) {
				ids = append(ids, conj.ID)
			}
		}
	}
	return ids
}

func (c *Classifier) clausesOf(id uint32, clauses []int) []int {
	var list []int
	for _, i := range clauses {
		if slices.ContainsFunc(c.flows[i].Actions, func(a Action) bool { conj, ok := a.(Conjunction); return ok && conj.ID == id }) {
			list = append(list, i)
		}
	}
	return list
}
