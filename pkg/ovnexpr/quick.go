package ovnexpr

import (
	"cmp"
	"slices"
)

// quick rewrites a condition for speed: no leaves, constants or repetitions, needless nesting flattened, and cheap
// operands first.
func quick(c condition) condition {
	switch c := c.(type) {
	case *leaf:
		return quick(c.condition)
	case allOf:
		if onlyTests(c) {
			return c
		}
		all := quickly(c, true)
		if len(all) == 1 {
			return all[0]
		}
		return allOf(all)
	case anyOf:
		if onlyTests(c) {
			return c
		}
		any := quickly(c, false)
		if len(any) == 1 {
			return any[0]
		}
		return anyOf(any)
	case inverse:
		of := quick(c.of)
		if f, ok := of.(fixed); ok {
			return !f
		}
		return inverse{of}
	}
	return c
}

// onlyTests reports whether there is nothing to gain: no operand is nested, and at most the last is costly.
func onlyTests(operands []condition) bool {
	for i, o := range operands {
		if t, ok := o.(*test); !ok || i < len(operands)-1 && t.cost() > 0 {
			return false
		}
	}
	return len(operands) > 1
}

// quickly returns the operands of a conjunction or disjunction, at least one.
func quickly(operands []condition, conjunction bool) []condition {
	to := make([]condition, 0, len(operands)+2)
	for _, o := range operands {
		o = quick(o)
		if f, ok := o.(fixed); ok {
			if bool(f) != conjunction {
				return []condition{f}
			}
			continue
		}
		if nested := alike(o, conjunction); nested != nil {
			for _, one := range nested {
				to = appendNew(to, one)
			}
		} else {
			to = appendNew(to, o)
		}
	}
	if len(to) == 0 {
		return []condition{fixed(conjunction)}
	}
	slices.SortStableFunc(to, func(a, b condition) int { return cmp.Compare(cost(a), cost(b)) })
	return to
}

// manyOperands is the number above which repetitions are left in.
const manyOperands = 64

// appendNew appends a condition that is new.
func appendNew(to []condition, c condition) []condition {
	if len(to) <= manyOperands {
		for _, o := range to {
			if same(o, c) {
				return to
			}
		}
	}
	return append(to, c)
}

// alike returns a condition's operands if it is of that kind.
func alike(c condition, conjunction bool) []condition {
	switch c := c.(type) {
	case allOf:
		if conjunction {
			return c
		}
	case anyOf:
		if !conjunction {
			return c
		}
	}
	return nil
}

// same reports whether two conditions are identical, or alternatives of identical ones: predicates and prerequisites
// are shared.
func same(a, b condition) bool {
	switch a := a.(type) {
	case *test:
		return condition(a) == b
	case anyOf:
		b, ok := b.(anyOf)
		return ok && slices.EqualFunc(a, b, same)
	}
	return false
}

// cost ranks conditions: comparisons with numbers, with ports, with sets, with sets to be fetched.
func cost(c condition) int {
	switch c := c.(type) {
	case *test:
		return c.cost()
	case allOf:
		return costs(c)
	case anyOf:
		return costs(c)
	case inverse:
		return cost(c.of)
	case *residence:
		return 1
	case *empty:
		return 4
	}
	return 0
}

func costs(c []condition) int {
	most := 0
	for _, o := range c {
		most = max(most, cost(o))
	}
	return most
}

func (t *test) cost() int {
	switch {
	case slices.ContainsFunc(t.sets, func(s *AddressSet) bool { return s.lazy }),
		slices.ContainsFunc(t.groups, func(g *PortGroup) bool { return g.lazy }):
		return 3
	case len(t.sets) > 0:
		return 2
	case t.ref.Symbol.IsString():
		return 1
	}
	return 0
}
