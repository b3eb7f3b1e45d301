package ovnexpr

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// An Env provides what a condition needs beyond the packet.
type Env interface {
	// PortName returns the name of the logical port or multicast group with that key in the packet's datapath.
	PortName(key uint64) (string, bool)
	// Resident reports whether a logical port resides on the chassis.
	Resident(port string) bool
}

// A Fetcher is an Env that fetches sets when an evaluation reaches them. Matches annotated with [Lazy] need it.
type Fetcher interface {
	Env
	// AddressSet returns a set, nil if not found.
	AddressSet(name string) (*AddressSet, error)
	// InGroup reports whether a port is in a port group. The error is ErrNoGroup if the group is not found.
	InGroup(port, group string) (bool, error)
}

// ErrNoGroup means that no port group has that name.
var ErrNoGroup = errors.New("no such port group")

// Matches reports whether a packet meets the condition. If env is nil, no port has a name, and none is resident. If a
// set is unreadable, the result is false; [Condition.Holds] has the error.
func (c *Condition) Matches(p *packet.Flow, env Env) bool {
	e := asker{env: env}
	return e.holds(c.quick, p) && e.err == nil
}

// Holds is Matches with errors: those a [Fetcher] returned, or a *[SyntaxError] if the match is invalid with the
// current sets, in which case ovn-controller ignores the flow.
func (c *Condition) Holds(p *packet.Flow, env Env) (bool, error) {
	e := asker{env: env}
	holds := e.holds(c.quick, p)
	return holds && e.err == nil, e.err
}

// String writes the annotated match.
func (c *Condition) String() string { return c.root.String() }

// A condition is a node of an annotated match: allOf, anyOf, inverse, fixed, *leaf, *test, *empty or *residence.
type condition interface{ String() string }

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

// An empty holds if all sets of a test, as yet unknown, are empty.
type empty struct{ of *test }

// A test compares a field with any of several constants.
type test struct {
	ref    Ref
	cut    number // the bits of ref, shifted
	op     Op
	wants  []want
	many   *AddressSet // the wants, if there are many
	sets   []*AddressSet
	ports  []string
	groups []*PortGroup
	said   bool // in the match itself, not by a prerequisite or inside a predicate
}

// A want is an integer constant, cut to the width of the field.
type want struct {
	constant    *Constant // of the match
	value, mask number
}

// manyWants is the number of constants from which they are looked up, not scanned.
const manyWants = 8

func newTest(r Ref, op Op) *test { return &test{ref: r, op: op, cut: low(packet.Ones(r.width()))} }

// finish prepares a test that has all of its constants.
func (t *test) finish() {
	if len(t.wants) < manyWants || t.op.ordered() {
		return
	}
	t.many = &AddressSet{}
	for _, w := range t.wants {
		c := *w.constant
		c.Masked, c.Value, c.Mask = true, w.value.flow(), w.mask.flow()
		t.many.add(c)
	}
	t.many.sort()
}

// constants are what the field is compared with.
func (t *test) constants() []Constant {
	var all []Constant
	for _, w := range t.wants {
		all = append(all, *w.constant)
	}
	for _, s := range t.sets {
		all = append(all, Constant{Kind: AddressSets, Text: s.name})
	}
	for _, p := range t.ports {
		all = append(all, Constant{Kind: String, Text: p})
	}
	for _, g := range t.groups {
		all = append(all, Constant{Kind: PortGroups, Text: g.name})
	}
	return all
}

// read returns the packet's value of the field, at bit 0.
func (t *test) read(p *packet.Flow) number {
	hi, lo := p.Words(t.ref.Field)
	if t.ref.Lo == 0 {
		return number{hi, lo}.and(t.cut)
	}
	return number{hi, lo}.down(t.ref.Lo).and(t.cut)
}

// An asker evaluates conditions. It keeps the first error; results after an error are meaningless.
type asker struct {
	env Env
	err error
}

func (e *asker) holds(c condition, p *packet.Flow) bool {
	switch c := c.(type) {
	case *test:
		return e.test(c, p)
	case allOf:
		for _, o := range c {
			if !e.holds(o, p) {
				return false
			}
		}
		return true
	case anyOf:
		for _, o := range c {
			if e.holds(o, p) {
				return true
			}
		}
		return false
	case inverse:
		return !e.holds(c.of, p)
	case fixed:
		return bool(c)
	case *leaf:
		return e.holds(c.condition, p)
	case *residence:
		return (e.env != nil && e.env.Resident(c.port)) == c.want
	case *empty:
		return e.empty(c.of)
	}
	panic("ovnexpr: a condition of no kind")
}

func (e *asker) test(t *test, p *packet.Flow) bool {
	if t.ref.Symbol.IsString() {
		return e.names(t, p) == (t.op == Equal)
	}
	n := t.read(p)
	if t.op.ordered() {
		return t.op.compares(n.compare(t.wants[0].value))
	}
	return e.finds(t, n) == (t.op == Equal)
}

// finds reports whether n is one of the constants.
func (e *asker) finds(t *test, n number) bool {
	if t.many != nil {
		if t.many.has(n) {
			return true
		}
	} else {
		for i := range t.wants {
			w := &t.wants[i]
			if n.lo&w.mask.lo == w.value.lo && n.hi&w.mask.hi == w.value.hi {
				return true
			}
		}
	}
	for _, s := range t.sets {
		if s = e.fetched(s, t.ref.Symbol); s != nil && s.has(n) {
			return true
		}
	}
	return false
}

// fetched returns a set with its members, nil if unreadable.
func (e *asker) fetched(s *AddressSet, of *Symbol) *AddressSet {
	if !s.lazy || e.err != nil {
		return s
	}
	f, ok := e.env.(Fetcher)
	if !ok {
		e.err = fmt.Errorf("address set %s: not loaded", s.name)
		return nil
	}
	set, err := f.AddressSet(s.name)
	switch {
	case err != nil:
		e.err = fmt.Errorf("address set %s: %w", s.name, err)
		return nil
	case set == nil:
		e.err = syntaxAt("$"+s.name, Span{0, 1 + len(s.name)}, "expecting address set name")
		return nil
	case set.bits > of.Bits:
		e.err = &SyntaxError{Text: "$" + s.name, Span: Span{0, 1 + len(s.name)}, Msg: tooWide(set.bits, of)}
		return nil
	}
	return set
}

// empty reports whether all sets of a test that has nothing else are empty.
func (e *asker) empty(t *test) bool {
	return !slices.ContainsFunc(t.sets, func(s *AddressSet) bool {
		set := e.fetched(s, t.ref.Symbol)
		return set == nil || set.Len() > 0
	})
}

// names reports whether one of the constants is the port whose key the field holds.
func (e *asker) names(t *test, p *packet.Flow) bool {
	if e.env == nil {
		return false
	}
	name, ok := e.env.PortName(t.read(p).lo)
	if !ok {
		return false
	}
	for _, port := range t.ports {
		if port == name {
			return true
		}
	}
	for _, g := range t.groups {
		if e.inGroup(g, name) {
			return true
		}
	}
	return false
}

func (e *asker) inGroup(g *PortGroup, port string) bool {
	if !g.lazy {
		return g.Has(port)
	}
	f, ok := e.env.(Fetcher)
	if !ok {
		e.err = fmt.Errorf("port group %s: not loaded", g.name)
		return false
	}
	in, err := f.InGroup(port, g.name)
	switch {
	case errors.Is(err, ErrNoGroup):
		e.err = syntaxAt("@"+g.name, Span{0, 1 + len(g.name)}, "expecting port group name")
	case err != nil:
		e.err = fmt.Errorf("port group %s: %w", g.name, err)
	}
	return in && err == nil
}

// compares reports whether the operator holds, given how the value compares to its constant: below 0 for less.
func (o Op) compares(order int) bool {
	switch o {
	case Less:
		return order < 0
	case LessEqual:
		return order <= 0
	case Greater:
		return order > 0
	case GreaterEqual:
		return order >= 0
	case NotEqual:
		return order != 0
	}
	return order == 0
}

func (c allOf) String() string { return joinConditions(c, " && ", "1") }

func (c anyOf) String() string { return joinConditions(c, " || ", "0") }

func (c inverse) String() string { return "!(" + c.of.String() + ")" }

func (c fixed) String() string { return (&Literal{True: bool(c)}).String() }

func (c *empty) String() string {
	names := make([]string, len(c.of.sets))
	for i, s := range c.of.sets {
		names[i] = "$" + s.name
	}
	return "/* without members: " + strings.Join(names, ", ") + " */ 1"
}

func (c *residence) String() string {
	return word(c.want, "", "!") + (&Resident{Port: c.port}).String()
}

// String writes the test in match syntax.
func (t *test) String() string {
	if t.ref.Bits == 1 && len(t.wants) == 1 && len(t.sets) == 0 && !t.op.ordered() && !t.wants[0].constant.Masked {
		return word((t.wants[0].value.lo == 1) == (t.op == Equal), "", "!") + t.ref.String()
	}
	v := Values{Items: t.constants()}
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
