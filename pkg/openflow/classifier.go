package openflow

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A Classifier finds the flow of a bridge that a packet matches.
//
// A table's flows that match on the same bits of a packet form a tuple, a hash table keyed by the values of those bits.
// A lookup tries the tuples in turn, those with high priorities first, and ends when none of the rest can have a flow
// of higher priority than the best so far. Real tables have some thousands of flows and some dozens of tuples.
//
// Flows with conjunction actions are clauses of matches that would take very many flows to write out (ovs-fields(7),
// "Conjunctive Match Fields").
type Classifier struct {
	flows  []FlowEntry
	tables [256]*table
	tries  Tries
}

type table struct {
	tuples []*tuple // by descending priority
	soft   bool     // some flows are conjunction clauses
	staging
}

// A tuple is an open-addressing hash table. From a packet's hash slot to the next empty one, priorities descend. Most
// lookups in a tuple find nothing: the members' common values and the tags, which stay in the CPU cache, show it early.
type tuple struct {
	pattern packet.Pattern
	common  packet.Pattern // the bits in which all members want equal values
	values  []uint64       // those values
	top     int            // its highest priority
	tags    []uint8        // per slot, some bits of the hash; 0: empty
	slots   []uint64
	members []member

	optionMasks []optionMask // of all members' options
	stages      []stage
	prefixes    [len(trieFields)]int // lengths of the members' prefixes
	portMask    uint32               // of both ports
	ports       trie
}

// An optionMask is the bits of a tunnel option that members want to have certain values; none if its presence is enough.
type optionMask struct {
	field *packet.Field
	mask  packet.Value
}

// A member is a flow in a tuple.
type member struct {
	index, priority int
	soft            bool
	options         []Term // on tunnel options and port names, which are not in the pattern
}

// NewClassifier prepares a bridge's flows, which must not be modified afterwards. Of flows with the same table,
// priority and match, the last one counts, as in a switch. Flows in tables known only by name match nothing.
func NewClassifier(flows []FlowEntry) *Classifier {
	c := &Classifier{flows: flows}
	type key struct {
		table int
		mask  string
	}
	made := map[key]*tuple{}
	for i := range flows {
		e := &flows[i]
		number := max(e.Table.Number, 0) // NoTable means table 0
		if e.Table.Name != "" || number >= len(c.tables) {
			continue
		}
		value, mask, options := e.Match.compile()
		pattern := packet.NewPattern(&mask)
		asked := optionsOf(options)
		t := c.tables[number]
		if t == nil {
			t = &table{}
			c.tables[number] = t
		}
		k := key{number, pattern.Key()}
		if len(asked) > 0 {
			k.mask += fmt.Sprint(asked)
		}
		tu := made[k]
		if tu == nil {
			tu = &tuple{pattern: pattern, optionMasks: asked}
			made[k] = tu
			t.tuples = append(t.tuples, tu)
		}
		m := member{index: i, priority: e.Priority, options: options, soft: e.Actions.conjunctive()}
		tu.add(m, &value)
		t.soft = t.soft || m.soft
	}
	for _, tu := range made {
		tu.common, tu.values = tu.pattern.Restrict(tu.agreed())
	}
	for _, t := range c.tables {
		if t != nil {
			slices.SortStableFunc(t.tuples, func(a, b *tuple) int { return cmp.Compare(b.top, a.top) })
		}
	}
	return c
}

// optionsOf returns the bits of tunnel options that terms ask for.
func optionsOf(terms []Term) []optionMask {
	var list []optionMask
	for _, t := range terms {
		if t.Field != nil && t.Field.IsOption() {
			list = append(list, optionMask{t.Field, t.Mask})
		}
	}
	return list
}

func (t *tuple) add(m member, value *packet.Flow) {
	t.members = append(t.members, m)
	t.top = max(t.top, m.priority)
	if 2*len(t.members) > len(t.tags) {
		t.grow()
	}
	t.put(t.pattern.AppendValues([]uint64{uint64(len(t.members) - 1)}, value))
}

// agreed returns the bits in which all members' values are equal, and those values.
func (t *tuple) agreed() (bits, values []uint64) {
	for i, tag := range t.tags {
		switch s := t.slot(i); {
		case tag == 0:
		case values == nil:
			values = s[1:]
			bits = slices.Repeat([]uint64{^uint64(0)}, len(values))
		default:
			for k, v := range s[1:] {
				bits[k] &^= v ^ values[k]
			}
		}
	}
	return bits, values
}

// grow doubles the slots; their number is a power of two.
func (t *tuple) grow() {
	before := *t
	n := max(2, 2*len(t.tags))
	t.tags, t.slots = make([]uint8, n), make([]uint64, n*(t.pattern.Len()+1))
	for i, tag := range before.tags {
		if tag != 0 {
			t.put(slices.Clone(before.slot(i)))
		}
	}
}

// slot returns a slot's member number and the values it requires.
func (t *tuple) slot(i int) []uint64 {
	size := t.pattern.Len() + 1
	return t.slots[i*size : i*size+size]
}

// place returns a hash's slot and its tag.
func (t *tuple) place(hash uint64) (slot int, tag uint8) {
	return int(hash) & (len(t.tags) - 1), uint8(hash>>56) | 1
}

// after is the next slot.
func (t *tuple) after(slot int) int { return (slot + 1) & (len(t.tags) - 1) }

// put inserts a member into a slot. It moves members of lower priority on to the next slot and replaces one with the
// same priority and match.
func (t *tuple) put(what []uint64) {
	i, tag := t.place(packet.Hash(what[1:]))
	for ; t.tags[i] != 0; i = t.after(i) {
		s := t.slot(i)
		m, other := &t.members[what[0]], &t.members[s[0]]
		switch {
		case m.priority > other.priority:
			t.tags[i], tag = tag, t.tags[i]
			for k := range s {
				s[k], what[k] = what[k], s[k]
			}
		case m.priority == other.priority && slices.Equal(what[1:], s[1:]) && slices.Equal(m.options, other.options):
			*other = *m
			return
		}
	}
	t.tags[i] = tag
	copy(t.slot(i), what)
}

// compile turns a match into a value and a mask, plus the terms that these cannot hold.
func (m Match) compile() (value, mask packet.Flow, rest []Term) {
	set := func(f *packet.Field, v, bits packet.Value) {
		value.SetMasked(f, v, bits)
		mask.SetMasked(f, bits, bits)
	}
	typed, ethernet := false, false
	defer func() {
		if ethernet && !typed { // a flow that asks for something of Ethernet
			mask.Set(&packet.PacketType, packet.PacketType.Mask())
		}
	}()
	for _, t := range m.Terms {
		typed = typed || t.Field == &packet.PacketType
		ethernet = ethernet || t.Keyword != "" || t.Field.Needs != packet.None
		switch {
		case t.Keyword != "":
			k, _ := packet.LookupKeyword(t.Keyword)
			if k.EthType != 0 {
				set(&packet.EthType, packet.Uint(k.EthType), packet.EthType.Mask())
			}
			if k.Proto != 0 {
				set(&packet.NWProto, packet.Uint(k.Proto), packet.NWProto.Mask())
			}
		case t.Absent, t.present(), t.Field.IsOption(), t.Port.Name != "" && t.Port.Number == 0:
			rest = append(rest, t)
		default:
			set(t.Field, t.Value, t.Field.Decides(t.Mask))
		}
	}
	return value, mask, rest
}

// conjunctive reports whether the actions make a flow a conjunction clause.
func (list Actions) conjunctive() bool {
	return slices.ContainsFunc(list, func(a Action) bool { _, ok := a.(Conjunction); return ok })
}

// Flow returns the flow that a lookup found.
func (c *Classifier) Flow(index int) *FlowEntry { return &c.flows[index] }

// Lookup returns the index of the flow of a table that packet p matches; -1 if none. If it was found by a conjunction,
// clauses are the flows that completed it. If mask is not nil, at least the packet bits that mattered are set there.
func (c *Classifier) Lookup(table int, p, mask *packet.Flow) (index int, clauses []int) {
	t := c.tables[table]
	if t == nil {
		return -1, nil
	}
	e := t.examine(c, p, mask)
	if t.soft {
		return t.conjunctive(c, p, e)
	}
	if m := t.best(p, e, false); m != nil {
		return m.index, nil
	}
	return -1, nil
}

// best finds the flow of highest priority; if hard, among non-clauses only.
func (t *table) best(p *packet.Flow, e *examination, hard bool) *member {
	var found *member
	for _, tu := range t.tuples {
		if found != nil && found.priority >= tu.top {
			break
		}
		m, _ := e.find(tu, p)
		if hard && m != nil && m.soft {
			continue // what it hides is not looked at
		}
		if m != nil && (found == nil || m.priority > found.priority) {
			found = m
		}
	}
	return found
}

// A probe is where a search in a tuple continues.
type probe struct {
	slot int
	tag  uint8
}

// find returns the flow of highest priority that p matches, nil if there is none.
func (t *tuple) find(p *packet.Flow) (*member, probe) {
	if !t.common.Matches(p, t.values) {
		return nil, probe{}
	}
	slot, tag := t.place(t.pattern.Hash(p))
	return t.next(p, probe{slot, tag})
}

// next returns the next match of a search at c, nil if none.
func (t *tuple) next(p *packet.Flow, c probe) (*member, probe) {
	for i := c.slot; t.tags[i] != 0; i = t.after(i) {
		if t.tags[i] != c.tag {
			continue
		}
		s := t.slot(i)
		if !t.pattern.Matches(p, s[1:]) {
			continue
		}
		if m := &t.members[s[0]]; m.holds(p) {
			return m, probe{t.after(i), c.tag}
		}
	}
	return nil, c
}

// holds reports whether p meets a member's option terms.
func (m *member) holds(p *packet.Flow) bool {
	for _, o := range m.options {
		if !o.matches(p) {
			return false
		}
	}
	return true
}

// conjunctive searches a table with conjunction clauses. It returns the flow and the clauses behind it.
func (t *table) conjunctive(c *Classifier, p *packet.Flow, e *examination) (int, []int) {
	var hard *member
	type candidate struct {
		*tuple
		*member
		probe
	}
	var soft []candidate
	for _, tu := range t.tuples {
		if hard != nil && hard.priority >= tu.top {
			break
		}
		r, at := e.find(tu, p)
		switch {
		case r == nil:
		case r.soft:
			soft = append(soft, candidate{tu, r, at})
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
			q.Set(&packet.ConjID, packet.Uint(uint64(id)))
			if r := t.best(&q, e.again(), true); r != nil {
				return r.index, c.clausesOf(id, clauses)
			}
		}
		// None is complete at this priority: replace those flows by the next lower ones of the same tuples.
		next := soft[:0]
		for _, s := range soft {
			if s.member.priority != top {
				next = append(next, s)
				continue
			}
			r, at := s.tuple.next(p, s.probe)
			for r != nil && r.priority == top {
				r, at = s.tuple.next(p, at)
			}
			switch {
			case r == nil:
			case r.soft:
				next = append(next, candidate{s.tuple, r, at})
			case hard == nil || r.priority > hard.priority:
				hard = r
			}
		}
		soft = next
	}
}

// complete returns the conjunctions whose clauses are all among some flows.
func (c *Classifier) complete(clauses []int) []uint32 {
	var ids []uint32
	have := map[uint32]uint64{} // one bit per clause
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
