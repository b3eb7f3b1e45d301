package ovnexpr

import (
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A Condition is an annotated match. It is immutable and safe for concurrent use.
type Condition struct {
	root    condition
	quick   condition // the same, in an order and form that is quick to evaluate
	nominal bool      // depends on a nominal field: a predicate with this meaning cannot be negated
}

func newCondition(root condition, nominal bool) *Condition {
	return &Condition{root: root, quick: quick(root), nominal: nominal}
}

// Annotate resolves the names in a match. Sets may be nil, which knows no set, or [Lazy], which leaves sets to
// evaluation. The error is a *[SyntaxError]; it wraps [ErrNotUnderstood] if the match names a symbol missing from the
// table.
func (m *Match) Annotate(table *Symbols, sets Sets) (*Condition, error) {
	return m.annotate(&annotator{text: m.Text, table: table, sets: sets})
}

func (m *Match) annotate(a *annotator) (c *Condition, err error) {
	defer recoverSyntax(&err)
	root := a.node(m.Root, false)
	return newCondition(root, a.nominal), nil
}

// Both is the conjunction of two conditions; either may be nil.
func Both(a, b *Condition) *Condition {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return newCondition(allOf{a.root, b.root}, a.nominal || b.nominal)
}

type annotator struct {
	text    string
	table   *Symbols
	sets    Sets
	implied bool // the match is part of a symbol: its leaves appear in no flow
	nominal bool
}

func (a *annotator) fail(at Span, format string, args ...any) {
	(&lexer{in: a.text}).fail(at, format, args...)
}

// node annotates a part of the match, negated if it is inside an odd number of negations.
func (a *annotator) node(n Node, negated bool) condition {
	switch n := n.(type) {
	case *Or:
		return combine(a.nodes(n.Operands, negated), negated)
	case *And:
		return combine(a.nodes(n.Operands, negated), !negated)
	case *Not:
		return a.node(n.Operand, !negated)
	case *Paren:
		return a.node(n.Inner, negated)
	}
	if a.implied {
		return a.leaf(n, negated)
	}
	return &leaf{n, a.leaf(n, negated)}
}

func (a *annotator) nodes(nodes []Node, negated bool) []condition {
	c := make([]condition, len(nodes))
	for i, n := range nodes {
		c[i] = a.node(n, negated)
	}
	return c
}

func combine(c []condition, conjunction bool) condition {
	if conjunction {
		return allOf(c)
	}
	return anyOf(c)
}

func (a *annotator) leaf(n Node, negated bool) condition {
	switch n := n.(type) {
	case *Literal:
		return fixed(n.True != negated)
	case *Resident:
		return &residence{n.Port, !negated}
	case *Bare:
		r := a.resolve(n.Field)
		switch {
		case r.Symbol.IsString():
			after := &lexer{in: a.text, pos: n.End}
			after.next()
			after.syntax("expecting relational operator")
		case r.Bits > 1 && !negated:
			a.fail(n.Span, "Explicit `!= 0' is required for inequality test of multibit field against 0.")
		}
		zero := Values{Items: []Constant{{Format: Hex, Span: n.Span}}, Span: n.Span}
		return a.compare(r, NotEqual, zero, negated, n.Span)
	case *Compare:
		return a.compare(a.resolve(n.Field), n.Op, n.Values, negated, n.Span)
	case *Between:
		r := a.resolve(n.Field)
		left := a.compare(r, n.LeftOp.turn(), n.Left, negated, n.Span)
		right := a.compare(r, n.RightOp, n.Right, negated, n.Span)
		return combine([]condition{left, right}, !negated)
	}
	panic("ovnexpr: a node that is no leaf")
}

func (a *annotator) resolve(f Field) Ref {
	r, err := a.table.Resolve(f, a.text)
	if err != nil {
		panic(err)
	}
	return r
}

// compare builds a comparison's condition, with its prerequisites.
func (a *annotator) compare(r Ref, op Op, values Values, negated bool, at Span) condition {
	t := newTest(r, op)
	t.said = !a.implied
	for i := range values.Items {
		a.addConstant(t, &values.Items[i])
	}
	a.checkOperator(r, op, values, at)
	a.checkSense(r, op, values, negated, at)
	if negated {
		t.op = op.invert()
	}
	if t.empty() {
		return fixed(t.op == NotEqual) // for any packet: not even prerequisites are checked
	}
	t.finish()
	switch s := r.Symbol; {
	case s.Predicate != "":
		return a.predicate(t, at)
	case s.Field == nil:
		a.fail(at, "Field %s can only be written.", s.Name)
		return nil
	case len(s.needs) == 0:
		return t
	case t.op == NotEqual && t.onlyLazy():
		return anyOf{append(append(allOf{}, s.needs...), t), &empty{t}}
	default:
		return append(append(allOf{}, s.needs...), t)
	}
}

// addConstant adds a constant to a test and checks that the field can be compared with it.
func (a *annotator) addConstant(t *test, c *Constant) {
	s := t.ref.Symbol
	if c.Kind == Template {
		a.fail(c.Span, "Unexpanded template.")
	}
	if isText := c.Kind == String || c.Kind == PortGroups; isText != s.IsString() {
		a.fail(c.Span, "%s field %s is not compatible with %s constant.",
			word(s.IsString(), "String", "Integer"), s.Name, word(isText, "string", "integer"))
	}
	width := 0
	switch c.Kind {
	case String:
		t.ports = append(t.ports, c.Text)
	case PortGroups:
		g, ok := a.portGroup(c.Text)
		if !ok {
			panic(syntaxAt(a.text, c.Span, "expecting port group name"))
		}
		t.groups = append(t.groups, g)
	case AddressSets:
		set, ok := a.addressSet(c.Text)
		if !ok {
			panic(syntaxAt(a.text, c.Span, "expecting address set name"))
		}
		t.sets = append(t.sets, set)
		width = set.bits
	case Integer:
		all := packet.Ones(t.ref.Bits)
		value, mask := c.Value.And(all), all
		if c.Masked {
			mask = c.Mask.And(all)
			value = value.And(mask)
		}
		t.wants = append(t.wants, want{constant: c, value: low(value), mask: low(mask)})
		width = c.width()
	}
	if width > s.Bits {
		a.fail(c.Span, "%s", tooWide(width, s))
	}
}

// tooWide is the message for a constant of so many bits and a symbol.
func tooWide(bits int, s *Symbol) string {
	return fmt.Sprintf("%d-bit constant is not compatible with %d-bit field %s.", bits, s.Bits, s.Name)
}

func (a *annotator) addressSet(name string) (*AddressSet, bool) {
	if a.sets == nil {
		return nil, false
	}
	return a.sets.AddressSet(name)
}

func (a *annotator) portGroup(name string) (*PortGroup, bool) {
	if a.sets == nil {
		return nil, false
	}
	return a.sets.PortGroup(name)
}

// checkOperator checks that the field and the constants are ordered, if the operator requires it.
func (a *annotator) checkOperator(r Ref, op Op, values Values, at Span) {
	if !op.ordered() {
		return
	}
	s, first := r.Symbol, values.Items[0]
	switch {
	case values.Braces || first.Kind == AddressSets || first.Kind == PortGroups:
		a.fail(at, "Only == and != operators may be used with value sets.")
	case s.Level != Ordinal:
		a.fail(at, "Only == and != operators may be used with %s field %s.", s.Level, s.Name)
	case first.Masked:
		a.fail(at, "Only == and != operators may be used with masked constants.  Consider using subfields instead "+
			"(e.g. eth.src[0..15] > 0x1111 in place of eth.src > 00:00:00:00:11:11/00:00:00:00:ff:ff).")
	}
}

// checkSense checks that a nominal field is only tested positively.
func (a *annotator) checkSense(r Ref, op Op, values Values, negated bool, at Span) {
	s := r.Symbol
	if s.Level != Nominal {
		return
	}
	a.nominal = true
	if s.Predicate == "" {
		if (op == NotEqual) != negated {
			a.fail(at, "Nominal field %s may only be tested for equality (taking enclosing `!' operators into account).", s.Name)
		}
		return
	}
	for _, c := range values.Items {
		if positive := (c.Value.Lo&1 == 1) != (op == NotEqual) != negated; !positive {
			a.fail(at, "Nominal predicate %s may only be tested positively, e.g. `%s' or `%s == 1' but not `!%s' or `%s == 0'.",
				s.Name, s.Name, s.Name, s.Name, s.Name)
		}
	}
}

// empty reports whether there is nothing to compare with: all constants are sets known to be empty.
func (t *test) empty() bool {
	return len(t.wants)+len(t.ports) == 0 &&
		!slices.ContainsFunc(t.sets, func(s *AddressSet) bool { return s.lazy || s.Len() > 0 }) &&
		!slices.ContainsFunc(t.groups, func(g *PortGroup) bool { return g.lazy || g.Len() > 0 })
}

// onlyLazy reports whether there may be nothing to compare with; that is known once the sets are.
func (t *test) onlyLazy() bool {
	return len(t.wants) == 0 && !slices.ContainsFunc(t.sets, func(s *AddressSet) bool { return !s.lazy && s.Len() > 0 })
}

// predicate replaces a test of a predicate by what it stands for.
func (a *annotator) predicate(t *test, at Span) condition {
	values := make([]bool, 0, len(t.wants))
	for _, w := range t.wants {
		values = append(values, w.value.lo == 1)
	}
	for _, set := range t.sets {
		if set.lazy {
			a.fail(at, "Predicate %s cannot be compared with an address set that is not loaded.", t.ref.Symbol.Name)
		}
		for _, c := range set.members() {
			values = append(values, c.Value.Lo&1 == 1)
		}
	}
	var c []condition
	for _, v := range values {
		if v == (t.op == Equal) {
			c = append(c, t.ref.Symbol.meaning)
		} else {
			c = append(c, inverse{t.ref.Symbol.meaning})
		}
	}
	if len(c) == 1 {
		return c[0]
	}
	return combine(c, t.op == NotEqual)
}

func word(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}
