package expr

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/flow"
)

// A Key is something that a packet must have to meet a condition, by which conditions can be found in a hash table. It is
// about bits of a field, or about the name of the port whose key a string field holds.
type Key struct {
	Field  *flow.Field
	Mask   flow.Value   // bits of the field, at their place in it
	Values []flow.Value // what the packet has under the mask is one of these, in rising order

	Ports, Groups []string // or the port is one of these, or is in one of these port groups
}

// Keys returns what a packet must have to meet the condition, each by itself, the most selective first; nil if there is
// nothing to find the condition by. No key has more than max values or names. Sets are not looked into.
func (c *Condition) Keys(max int) []Key {
	k := keyer{max: max}
	keys := k.keys(c.quick, false)
	slices.SortStableFunc(keys, func(a, b Key) int { return cmp.Compare(b.selectivity(), a.selectivity()) })
	return keys
}

// fewValues are fields that differ little from packet to packet, with the bits that they tell packets apart by.
var fewValues = map[string]int{"eth_type": 2, "nw_proto": 2, "arp_op": 1, "nw_ttl": 2, "ip_frag": 1, "icmp_type": 3, "icmp_code": 1,
	"icmpv6_type": 3, "icmpv6_code": 1, "ct_state": 3, "tcp_flags": 4}

// selectivity is roughly the logarithm of the number of packets of which one has the key.
func (k Key) selectivity() int {
	if k.isPort() {
		// Groups have many members, and ports are few beside addresses.
		return 12 - bits.Len(uint(len(k.Ports))) - 6*min(1, len(k.Groups))
	}
	n := low(k.Mask).ones()
	if few, ok := fewValues[k.Field.Name]; ok {
		n = min(n, few)
	}
	return n - bits.Len(uint(len(k.Values))) + 1
}

func (k Key) isPort() bool { return k.Ports != nil || k.Groups != nil }

type keyer struct{ max int }

// keys are the keys of a condition, or of its negation.
func (k keyer) keys(c condition, negated bool) []Key {
	switch c := c.(type) {
	case *test:
		return k.test(c, negated)
	case inverse:
		return k.keys(c.of, !negated)
	case allOf:
		if negated {
			return k.any(c, true)
		}
		return k.all(c, false)
	case anyOf:
		if negated {
			return k.all(c, true)
		}
		return k.any(c, false)
	}
	return nil
}

// all are the keys of all operands, those about one field drawn together.
func (k keyer) all(operands []condition, negated bool) []Key {
	var keys []Key
	for _, o := range operands {
		for _, one := range k.keys(o, negated) {
			i := slices.IndexFunc(keys, func(k Key) bool { return k.Field == one.Field && k.isPort() == one.isPort() })
			if i < 0 {
				keys = append(keys, one)
			} else {
				keys[i] = k.narrower(keys[i], one)
			}
		}
	}
	return keys
}

// narrower is what two keys about one field tell together: both of them if each has a single value, else one of them.
func (k keyer) narrower(a, b Key) Key {
	if !a.isPort() && len(a.Values) == 1 && len(b.Values) == 1 && a.Values[0].And(b.Mask) == b.Values[0].And(a.Mask) {
		return Key{Field: a.Field, Mask: a.Mask.Or(b.Mask), Values: []flow.Value{a.Values[0].Or(b.Values[0])}}
	}
	if b.selectivity() > a.selectivity() {
		return b
	}
	return a
}

// any are the keys that all operands have.
func (k keyer) any(operands []condition, negated bool) []Key {
	var keys []Key
	for i, o := range operands {
		other := k.keys(o, negated)
		if i == 0 {
			keys = other
			continue
		}
		var shared []Key
		for _, a := range keys {
			for _, b := range other {
				if both, ok := k.either(a, b); ok {
					shared = append(shared, both)
				}
			}
		}
		keys = shared
	}
	return keys
}

// either is the key of what has one of two keys; ok is false if that says nothing.
func (k keyer) either(a, b Key) (c Key, ok bool) {
	if a.Field != b.Field || a.isPort() != b.isPort() {
		return c, false
	}
	if a.isPort() {
		c = Key{Field: a.Field, Ports: distinctNames(a.Ports, b.Ports), Groups: distinctNames(a.Groups, b.Groups)}
		return c, len(c.Ports)+len(c.Groups) <= k.max
	}
	mask := a.Mask.And(b.Mask)
	return k.of(a.Field, mask, slices.Concat(a.Values, b.Values))
}

// of makes a key of values under a mask.
func (k keyer) of(f *flow.Field, mask flow.Value, values []flow.Value) (Key, bool) {
	if mask.IsZero() {
		return Key{}, false
	}
	under := make([]flow.Value, len(values))
	for i, v := range values {
		under[i] = v.And(mask)
	}
	slices.SortFunc(under, func(a, b flow.Value) int { return low(a).compare(low(b)) })
	under = slices.Compact(under)
	return Key{Field: f, Mask: mask, Values: under}, len(under) <= k.max
}

func distinctNames(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// test is the key of a comparison, if it is one for equality.
func (k keyer) test(t *test, negated bool) []Key {
	equal := t.op == Equal && !negated || t.op == NotEqual && negated
	switch {
	case t.op.ordered():
		return nil
	case t.ref.Symbol.IsString():
		return k.names(t, equal)
	case len(t.sets) > 0 || len(t.wants) > k.max:
		return nil
	case !equal:
		return k.bit(t)
	}
	mask := t.cut
	var values []flow.Value
	for _, w := range t.wants {
		mask = mask.and(w.mask)
		values = append(values, w.value.up(t.ref.Lo).flow())
	}
	key, ok := k.of(t.ref.Field, mask.up(t.ref.Lo).flow(), values)
	if !ok {
		return nil
	}
	return []Key{key}
}

// bit is the key of what differs from a constant in the only bit that counts.
func (k keyer) bit(t *test) []Key {
	if len(t.wants) != 1 || t.wants[0].mask.ones() != 1 {
		return nil
	}
	w := t.wants[0]
	return []Key{{
		Field: t.ref.Field, Mask: w.mask.up(t.ref.Lo).flow(), Values: []flow.Value{w.value.xor(w.mask).up(t.ref.Lo).flow()},
	}}
}

func (k keyer) names(t *test, equal bool) []Key {
	if !equal || len(t.ports)+len(t.groups) > k.max {
		return nil
	}
	key := Key{Field: t.ref.Field}
	if len(t.ports) > 0 {
		key.Ports = distinctNames(t.ports, nil)
	}
	for _, g := range t.groups {
		key.Groups = append(key.Groups, g.name)
	}
	return []Key{key}
}
