package expr

import (
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/flow"
)

// An Env is what a condition has to know beyond the packet.
type Env interface {
	// PortName returns the name of the logical port or multicast group that has a key in the packet's datapath.
	PortName(key uint64) (string, bool)
	// Resident reports whether a logical port resides on the chassis.
	Resident(port string) bool
}

// Matches reports whether a packet meets the condition. Env may be nil: then no port has a name, and none is resident.
func (c *Condition) Matches(p *flow.Flow, env Env) bool { return c.root.holds(p, env) }

// A Decision is a leaf of the match on which an answer rests.
type Decision struct {
	Leaf  Node // its Range says where it stands
	Holds bool
	Tests []Test // what decided inside it
}

// A Test is a comparison that was made: the one that a leaf says, or one that it implies.
type Test struct {
	Ref   Ref        // the field; Ref.Symbol is nil if there is none
	Found flow.Value // what the packet has there
	Holds bool

	made condition
}

// String writes the comparison: ip.proto == 6.
func (t Test) String() string { return t.made.String() }

// Evaluate is Matches with the leaves that decided.
func (c *Condition) Evaluate(p *flow.Flow, env Env) (bool, []Decision) {
	var d decider
	d.p, d.env = p, env
	holds := d.decide(c.root)
	return holds, d.decisions
}

// String writes the annotated match.
func (c *Condition) String() string { return c.root.String() }

// A condition is a node of an annotated match: allOf, anyOf, inverse, fixed, *leaf, *test or *residence.
type condition interface {
	holds(p *flow.Flow, env Env) bool
	String() string
}

type (
	allOf   []condition
	anyOf   []condition
	inverse struct{ of condition }
	fixed   bool
)

// A leaf is the condition of a leaf of the match.
type leaf struct {
	node Node
	condition
}

// A residence is the condition of is_chassis_resident.
type residence struct {
	port string
	want bool
}

// A test compares a field with constants: with any of them.
type test struct {
	ref    Ref
	op     Op
	wants  []want
	sets   []*AddressSet
	ports  []string
	groups []*PortGroup
}

// A want is an integer constant, cut to the width of the field.
type want struct {
	constant    Constant
	value, mask flow.Value
}

func (c allOf) holds(p *flow.Flow, env Env) bool {
	for _, o := range c {
		if !o.holds(p, env) {
			return false
		}
	}
	return true
}

func (c anyOf) holds(p *flow.Flow, env Env) bool {
	for _, o := range c {
		if o.holds(p, env) {
			return true
		}
	}
	return false
}

func (c inverse) holds(p *flow.Flow, env Env) bool { return !c.of.holds(p, env) }

func (c fixed) holds(*flow.Flow, Env) bool { return bool(c) }

func (c *residence) holds(_ *flow.Flow, env Env) bool {
	return (env != nil && env.Resident(c.port)) == c.want
}

func (t *test) holds(p *flow.Flow, env Env) bool {
	if t.ref.Symbol.IsString() {
		return t.names(p, env) == (t.op == Equal)
	}
	v := t.ref.Get(p)
	if t.op.ordered() {
		return t.op.compares(v, t.wants[0].value)
	}
	return t.finds(v) == (t.op == Equal)
}

// finds reports whether a value is one of the constants.
func (t *test) finds(v flow.Value) bool {
	for i := range t.wants {
		w := &t.wants[i]
		if v.Lo&w.mask.Lo == w.value.Lo && v.Hi&w.mask.Hi == w.value.Hi {
			return true
		}
	}
	for _, s := range t.sets {
		if _, ok := s.Find(v); ok {
			return true
		}
	}
	return false
}

// names reports whether the port whose key the field holds is one of the constants.
func (t *test) names(p *flow.Flow, env Env) bool {
	if env == nil {
		return false
	}
	name, ok := env.PortName(t.ref.Get(p).Lo)
	return ok && (slices.Contains(t.ports, name) ||
		slices.ContainsFunc(t.groups, func(g *PortGroup) bool { return g.Has(name) }))
}

// compares reports whether v stands in the relation to w.
func (o Op) compares(v, w flow.Value) bool {
	less := v.Hi < w.Hi || v.Hi == w.Hi && v.Lo < w.Lo
	more := w.Hi < v.Hi || v.Hi == w.Hi && w.Lo < v.Lo
	switch o {
	case Less:
		return less
	case LessEqual:
		return !more
	case Greater:
		return more
	case GreaterEqual:
		return !less
	case NotEqual:
		return less || more
	}
	return !less && !more
}

// A decider collects the leaves on which an answer rests.
type decider struct {
	p         *flow.Flow
	env       Env
	decisions []Decision
	tests     []Test
}

// decide evaluates a condition and keeps the decisions that its answer rests on.
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
	holds := c.holds(d.p, d.env)
	t := Test{Holds: holds, made: c}
	if c, ok := c.(*test); ok {
		t.Ref, t.Found = c.ref, c.ref.Get(d.p)
	}
	d.tests = append(d.tests, t)
	return holds
}

// decideAll evaluates operands. If one differs from usual (true of a conjunction), the answer rests on those that do.
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

func (c allOf) String() string { return joinConditions(c, " && ", "1") }

func (c anyOf) String() string { return joinConditions(c, " || ", "0") }

func (c inverse) String() string { return "!(" + c.of.String() + ")" }

func (c fixed) String() string { return (&Literal{True: bool(c)}).String() }

func (c *residence) String() string {
	return word(c.want, "", "!") + (&Resident{Port: c.port}).String()
}

// String writes the test as a match has it.
func (t *test) String() string {
	if t.ref.Bits == 1 && len(t.wants) == 1 && len(t.sets) == 0 && !t.op.ordered() && !t.wants[0].constant.Masked {
		return word((t.wants[0].value.Lo == 1) == (t.op == Equal), "", "!") + t.ref.String()
	}
	v := Values{}
	for _, w := range t.wants {
		v.Items = append(v.Items, w.constant)
	}
	for _, s := range t.sets {
		v.Items = append(v.Items, Constant{Kind: AddressSets, Text: s.name})
	}
	for _, p := range t.ports {
		v.Items = append(v.Items, Constant{Kind: String, Text: p})
	}
	for _, g := range t.groups {
		v.Items = append(v.Items, Constant{Kind: PortGroups, Text: g.name})
	}
	v.Braces = len(v.Items) > 1
	return t.ref.String() + " " + t.op.String() + " " + v.String()
}

func joinConditions(c []condition, sep, empty string) string {
	if len(c) == 0 {
		return empty
	}
	s := make([]string, len(c))
	for i, o := range c {
		s[i] = o.String()
		if l, ok := o.(*leaf); ok {
			o = l.condition
		}
		switch o.(type) {
		case allOf, anyOf:
			s[i] = "(" + s[i] + ")"
		}
	}
	return strings.Join(s, sep)
}
