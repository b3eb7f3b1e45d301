package ovnexpr

import (
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A formula is a match decomposed as in OVN: sets become comparisons with each member, negations are pushed down, and
// no conjunction contains a conjunction, nor a disjunction a disjunction. It shows what a [Condition], made for
// evaluation, cannot: how OVN prints an annotated match, and whether it describes one packet. Formulas are immutable.
type formula struct {
	kind     formulaKind
	operands []*formula // of all and any; at least two

	symbol *Symbol // of a comparison
	op     Op
	masked        // the compared bits, in place in the symbol
	port   string // instead of bits: of a string field or a residence

	holds bool // of a constant; for a residence: not negated
}

type formulaKind uint8

const (
	isComparison formulaKind = iota
	isAll
	isAny
	isConstant
	isResidence
)

// masked is a value under a mask. Bits outside the mask are 0.
type masked struct{ value, mask packet.Value }

func truth(holds bool) *formula { return &formula{kind: isConstant, holds: holds} }

// merge joins formulas into one of a kind, isAll or isAny. No operands give the neutral constant, true or false.
func merge(kind formulaKind, operands ...*formula) *formula {
	var flat []*formula
	for _, o := range operands {
		if o.kind == kind {
			flat = append(flat, o.operands...)
		} else {
			flat = append(flat, o)
		}
	}
	switch len(flat) {
	case 0:
		return truth(kind == isAll)
	case 1:
		return flat[0]
	}
	return &formula{kind: kind, operands: flat}
}

// other is the kind that a negated kind becomes.
func (k formulaKind) other() formulaKind { return isAll + isAny - k }

// not negates a formula.
func (f *formula) not() *formula {
	n := *f
	switch f.kind {
	case isComparison:
		n.op = f.op.invert()
	case isAll, isAny:
		n.kind = f.kind.other()
		n.operands = mapped(f.operands, (*formula).not)
	default:
		n.holds = !f.holds
	}
	return &n
}

func mapped(of []*formula, f func(*formula) *formula) []*formula {
	to := make([]*formula, len(of))
	for i, o := range of {
		to[i] = f(o)
	}
	return to
}

// only returns the one symbol that all comparisons of a formula use; nil if there is none or another operand.
func (f *formula) only() *Symbol {
	switch f.kind {
	case isComparison:
		return f.symbol
	case isAll, isAny:
		s := f.operands[0].only()
		for _, o := range f.operands[1:] {
			if o.only() != s {
				return nil
			}
		}
		return s
	}
	return nil
}

// A formulator makes formulas of a match that can be annotated.
type formulator struct {
	text  string
	table *Symbols
	sets  Sets
	known map[string]*formula // texts of the symbol table, annotated
}

func (m *formulator) node(n Node) *formula {
	switch n := n.(type) {
	case *Or:
		return merge(isAny, m.nodes(n.Operands)...)
	case *And:
		return merge(isAll, m.nodes(n.Operands)...)
	case *Not:
		return m.node(n.Operand).not()
	case *Paren:
		return m.node(n.Inner)
	case *Literal:
		return truth(n.True)
	case *Resident:
		return &formula{kind: isResidence, port: n.Port, holds: true}
	case *Bare:
		return m.compare(n.Field, NotEqual, Values{Items: []Constant{{}}})
	case *Compare:
		return m.compare(n.Field, n.Op, n.Values)
	case *Between:
		return merge(isAll, m.compare(n.Field, n.LeftOp.turn(), n.Left), m.compare(n.Field, n.RightOp, n.Right))
	}
	panic("ovnexpr: a node of no kind")
}

func (m *formulator) nodes(nodes []Node) []*formula {
	f := make([]*formula, len(nodes))
	for i, n := range nodes {
		f[i] = m.node(n)
	}
	return f
}

// compare compares a field with each constant and each member of the sets.
func (m *formulator) compare(field Field, op Op, values Values) *formula {
	r, err := m.table.Resolve(field, m.text)
	if err != nil {
		panic(err)
	}
	var all []*formula
	for _, c := range values.Items {
		for _, one := range m.members(c) {
			f := &formula{kind: isComparison, symbol: r.Symbol, op: op, port: one.Text}
			if !r.Symbol.IsString() {
				f.masked = r.place(one)
			}
			all = append(all, f)
		}
	}
	if op == NotEqual {
		return merge(isAll, all...)
	}
	return merge(isAny, all...)
}

// place is an integer at its place in the symbol, cut to the referenced bits.
func (r Ref) place(c Constant) masked {
	mask := packet.Ones(r.Bits)
	if c.Masked {
		mask = mask.And(c.Mask)
	}
	return masked{c.Value.And(mask).Shl(r.ofs), mask.Shl(r.ofs)}
}

// members are the constants that a constant stands for.
func (m *formulator) members(c Constant) []Constant {
	switch c.Kind {
	case AddressSets:
		set, _ := m.sets.AddressSet(c.Text)
		return set.members()
	case PortGroups:
		group, _ := m.sets.PortGroup(c.Text)
		return group.members()
	}
	return []Constant{c}
}

// annotated expands predicates and subfields and adds prerequisites. Where a whole formula is about one symbol, its
// prerequisites are added once.
func (m *formulator) annotated(f *formula, needs bool) *formula {
	switch f.kind {
	case isComparison:
		return m.annotatedComparison(f, needs)
	case isAll, isAny:
		kind, operands := f.kind, f.operands
		if s := f.only(); s != nil && needs {
			needs = false
			if s.needsText != "" {
				f = merge(isAll, f, m.meaning(s.needsText))
				kind, operands = f.kind, f.operands
			}
		}
		to := make([]*formula, len(operands))
		for i, o := range operands {
			to[i] = m.annotated(o, needs)
		}
		return merge(kind, to...)
	}
	return f
}

func (m *formulator) annotatedComparison(f *formula, needs bool) *formula {
	s, to := f.symbol, *f
	answer := &to
	switch {
	case s.parent != nil:
		to.symbol = s.parent
		to.masked = masked{f.value.Shl(s.parentLo), f.mask.Shl(s.parentLo)}
	case s.Predicate != "":
		answer = m.meaning(s.Predicate)
		if (f.value.Lo&1 == 1) != (f.op == Equal) {
			answer = answer.not()
		}
	}
	if needs && s.needsText != "" {
		return merge(isAll, answer, m.meaning(s.needsText))
	}
	return answer
}

// meaning is the formula of a text in the symbol table.
func (m *formulator) meaning(text string) *formula {
	f := m.known[text]
	if f == nil {
		match, err := ParseMatch(text)
		if err != nil {
			panic("ovnexpr: " + text + ": " + err.Error())
		}
		part := &formulator{text: text, table: m.table, known: m.known}
		f = part.annotated(part.node(match.Root), true)
		m.known[text] = f
	}
	return f
}

// String writes the formula as OVN does.
func (f *formula) String() string {
	switch f.kind {
	case isComparison:
		return f.comparisonString()
	case isAll, isAny:
		s := make([]string, len(f.operands))
		for i, o := range f.operands {
			s[i] = o.String()
			if o.kind == isAll || o.kind == isAny {
				s[i] = "(" + s[i] + ")"
			}
		}
		return strings.Join(s, word(f.kind == isAll, " && ", " || "))
	case isResidence:
		return word(f.holds, "", "!") + (&Resident{Port: f.port}).String()
	}
	return (&Literal{True: f.holds}).String()
}

func (f *formula) comparisonString() string {
	if f.symbol.IsString() {
		return f.symbol.Name + " " + f.op.String() + " " + quote(f.port)
	}
	lo, n := oneRange(f.mask)
	name := f.symbol.Name
	if n == 1 && f.symbol.Bits > 1 {
		name += "[" + strconv.Itoa(lo) + "]"
	} else if n > 0 && n < f.symbol.Bits {
		name += "[" + strconv.Itoa(lo) + ".." + strconv.Itoa(lo+n-1) + "]"
	}
	switch {
	case n == 1 && !f.op.ordered():
		return word(f.value.Bit(lo) == (f.op == Equal), "", "!") + name
	case n > 0:
		return name + " " + f.op.String() + " " + f.value.Shr(lo).Hex()
	}
	return name + " " + f.op.String() + " " + f.value.Hex() + "/" + f.mask.Hex()
}
