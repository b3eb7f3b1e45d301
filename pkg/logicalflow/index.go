package logicalflow

import (
	"slices"

	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A table holds one owner's flows in a table, by descending priority. Of many flows only few are tried: those with the
// packet's key, and those without a key.
type table struct {
	entries []*entry
	rest    []int32 // flows without a key, as indexes of entries
	fields  []indexed
}

// An indexed field holds flows by the value the field must have for them to be hit.
type indexed struct {
	field   string
	ref     ovnexpr.Ref
	mask    number
	byValue map[number][]int32
	byPort  map[string][]int32 // for inport and outport
	byGroup map[string][]int32
}

// fewFlows are as quick to try one by one.
const fewFlows = 8

func newTable(n *Network, entries []*entry) *table {
	slices.SortFunc(entries, inOrder)
	t := &table{entries: entries}
	for i, e := range entries {
		k, ok := key{}, false
		if len(entries) > fewFlows {
			k, ok = keyOf(e.match)
		}
		if !ok || !t.add(n, k, int32(i)) {
			t.rest = append(t.rest, int32(i))
		}
	}
	return t
}

// add indexes a flow by its key.
func (t *table) add(n *Network, k key, i int32) bool {
	at := slices.IndexFunc(t.fields, func(f indexed) bool { return f.field == k.field && f.mask == k.mask })
	if at < 0 {
		ref, err := n.symbols(false).Resolve(ovnexpr.Field{Name: k.field}, k.field)
		if err != nil || ref.Field == nil {
			return false
		}
		at = len(t.fields)
		t.fields = append(t.fields, indexed{field: k.field, ref: ref, mask: k.mask,
			byValue: map[number][]int32{}, byPort: map[string][]int32{}, byGroup: map[string][]int32{}})
	}
	f := &t.fields[at]
	for _, v := range k.values {
		f.byValue[v] = appendOnce(f.byValue[v], i)
	}
	for _, name := range k.ports {
		f.byPort[name] = appendOnce(f.byPort[name], i)
	}
	for _, name := range k.groups {
		f.byGroup[name] = appendOnce(f.byGroup[name], i)
	}
	return true
}

// appendOnce appends an index that is not below the others.
func appendOnce(list []int32, i int32) []int32 {
	if len(list) > 0 && list[len(list)-1] == i {
		return list
	}
	return append(list, i)
}

// candidates are flows a packet may hit, in lists by descending priority.
type candidates struct {
	lists []candidateList
	space [24]candidateList // backs lists while they are few
}

type candidateList struct {
	table *table
	left  []int32
}

// find adds the view's flows that the packet may hit to the candidates.
func (c *candidates) find(v *view, env *environment, p *packet.Flow) error {
	c.lists = c.space[:0]
	for _, t := range v.tables {
		c.add(t, t.rest)
		for i := range t.fields {
			if err := c.findBy(t, &t.fields[i], env, p); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *candidates) add(t *table, list []int32) {
	if len(list) > 0 {
		c.lists = append(c.lists, candidateList{t, list})
	}
}

// findBy adds a table's flows with the packet's key.
func (c *candidates) findBy(t *table, f *indexed, env *environment, p *packet.Flow) error {
	v := f.ref.Get(p)
	if !f.ref.Symbol.IsString() {
		c.add(t, f.byValue[number{v.Hi & f.mask.hi, v.Lo & f.mask.lo}])
		return nil
	}
	name, ok := env.PortName(v.Lo)
	if !ok {
		return nil
	}
	c.add(t, f.byPort[name])
	if len(f.byGroup) == 0 {
		return nil
	}
	groups, err := env.groupsOf(name)
	for _, g := range groups {
		c.add(t, f.byGroup[g])
	}
	return err
}

// next takes the flow of highest priority; nil if none is left. A flow in two lists comes once.
func (c *candidates) next() *entry {
	var best *entry
	for i := range c.lists {
		l := &c.lists[i]
		if len(l.left) == 0 {
			continue
		}
		if e := l.table.entries[l.left[0]]; best == nil || e.priority > best.priority || e.priority == best.priority && e.id < best.id {
			best = e
		}
	}
	if best == nil {
		return nil
	}
	for i := range c.lists {
		if l := &c.lists[i]; len(l.left) > 0 && l.table.entries[l.left[0]] == best {
			l.left = l.left[1:]
		}
	}
	return best
}
