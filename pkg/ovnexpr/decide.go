package ovnexpr

import (
	"slices"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A Decision is a leaf of the match that decided the result.
type Decision struct {
	Leaf  Node // its Range is its place in the text; nil for prerequisites of the actions
	Holds bool
	Tests []Test // what decided inside it
}

// A Test is a comparison that was made, either the leaf's own or one that it implies.
type Test struct {
	Ref   Ref          // the field; Ref.Symbol is nil if none
	Found packet.Value // the packet's value
	Holds bool

	made condition
}

// String writes the comparison: ip.proto == 6.
func (t Test) String() string { return t.made.String() }

// Implied reports whether the comparison is not in the match itself: it is a prerequisite, or part of a predicate.
func (t Test) Implied() bool {
	made, ok := t.made.(*test)
	return ok && !made.said
}

// Op is the operator of the comparison after applying enclosing negations; Equal if it compares no field.
func (t Test) Op() Op {
	if made, ok := t.made.(*test); ok {
		return made.op
	}
	return Equal
}

// Constants are what the field is compared with: integers and the names of ports, sets and groups.
func (t Test) Constants() []Constant {
	if made, ok := t.made.(*test); ok {
		return made.constants()
	}
	return nil
}

// Evaluate is Matches plus the leaves that decided.
func (c *Condition) Evaluate(p *packet.Flow, env Env) (bool, []Decision) {
	d := decider{p: p, asker: asker{env: env}}
	holds := d.decide(c.root)
	return holds && d.err == nil, d.decisions
}

// A decider collects the leaves that decide.
type decider struct {
	asker
	p         *packet.Flow
	decisions []Decision
	tests     []Test
}

// decide evaluates a condition and keeps the deciding leaves.
func (d *decider) decide(c condition) bool {
	switch c := c.(type) {
	case allOf:
		return d.decideAll(c, true)
	case anyOf:
		return d.decideAll(c, false)
	case inverse:
		return !d.decide(c.of)
	case *leaf:
		at := len(d.tests)
		holds := d.decide(c.condition)
		d.decisions = append(d.decisions, Decision{c.node, holds, slices.Clone(d.tests[at:])})
		d.tests = d.tests[:at]
		return holds
	}
	holds := d.holds(c, d.p)
	t := Test{Holds: holds, made: c}
	if c, ok := c.(*test); ok {
		t.Ref, t.Found = c.ref, c.ref.Get(d.p)
	}
	d.tests = append(d.tests, t)
	return holds
}

// decideAll evaluates operands. If any differ from usual (true for a conjunction), those decided.
func (d *decider) decideAll(operands []condition, usual bool) bool {
	decisions, tests := len(d.decisions), len(d.tests)
	differ := false
	for _, o := range operands {
		fromDecisions, fromTests := len(d.decisions), len(d.tests)
		holds := d.decide(o)
		switch {
		case holds == usual && differ:
			d.decisions, d.tests = d.decisions[:fromDecisions], d.tests[:fromTests]
		case holds != usual && !differ:
			differ = true
			d.decisions = slices.Delete(d.decisions, decisions, fromDecisions)
			d.tests = slices.Delete(d.tests, tests, fromTests)
		}
	}
	return differ != usual
}

// Missing is the smallest set of leaves that would all have to differ for the condition to hold; nil if it holds. On a
// tie it prefers leaves whose own comparison fails over those where only an implied one does: for an IPv4 packet,
// ip4.src == $a || ip6.src == $b misses the first.
func (c *Condition) Missing(p *packet.Flow, env Env) []Decision {
	d := decider{p: p, asker: asker{env: env}}
	m := d.missing(c.root)
	return m.decisions
}

// A change is a set of leaves and the cost of turning them.
type change struct {
	implied   int // failed tests that are not in the match itself
	decisions []Decision
}

// impossible is the cost of what no packet can change.
const impossible = 1 << 20

func (m change) less(o change) bool {
	if m.implied != o.implied {
		return m.implied < o.implied
	}
	return len(m.decisions) < len(o.decisions)
}

// missing is the cheapest change that makes a condition true.
func (d *decider) missing(c condition) change {
	switch c := c.(type) {
	case allOf:
		var sum change
		for _, o := range c {
			m := d.missing(o)
			sum.implied += m.implied
			sum.decisions = append(sum.decisions, m.decisions...)
		}
		return sum
	case anyOf:
		best := change{implied: impossible}
		for i, o := range c {
			if m := d.missing(o); i == 0 || m.less(best) {
				best = m
			}
		}
		return best
	}
	at := len(d.tests)
	defer func() { d.tests = d.tests[:at] }()
	one := Decision{}
	inside := c
	if l, ok := c.(*leaf); ok {
		one.Leaf, inside = l.node, l.condition
	}
	if d.decide(inside) {
		return change{}
	}
	one.Tests = slices.Clone(d.tests[at:])
	m := change{decisions: []Decision{one}}
	for _, t := range one.Tests {
		if _, constant := t.made.(fixed); constant {
			m.implied += impossible
		} else if t.Implied() {
			m.implied++
		}
	}
	return m
}
