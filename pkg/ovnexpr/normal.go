package ovnexpr

import "github.com/ovnctl/ovnctl/pkg/packet"

// Normal is a match in OVN's normal form: one of its conjunctions must hold. None: the match never holds.
type Normal []Conjunction

// A Conjunction is a number of clauses that must all hold. None: it always holds.
type Conjunction []Clause

// A Clause is a number of comparisons with one symbol, one of which must hold. There is at least one.
type Clause []Comparison

// A Comparison is for equality: of some bits of a field, or of a string field with a port's name.
type Comparison struct {
	Symbol      *Symbol
	Value, Mask packet.Value // in place in the symbol's field; of a string field 0
	Port        string
}

// Normalize converts a match, with what a flow's actions need beyond it, to the normal form that ovn-controller makes
// OpenFlow matches of. Resident reports whether a port resides on the chassis. Sets may be nil, but not [Lazy]. The
// error is a *[SyntaxError]; it also says if there are more than limit alternatives.
func (m *Match) Normalize(table *Symbols, sets Sets, needs []string, resident func(port string) bool, limit int) (normal Normal, err error) {
	if _, err := m.Annotate(table, sets); err != nil {
		return nil, err
	}
	defer recoverSyntax(&err)
	maker := &formulator{text: m.Text, table: table, sets: sets, known: map[string]*formula{}}
	all := []*formula{maker.annotated(maker.node(m.Root), true)}
	for _, need := range needs {
		all = append(all, maker.meaning(need))
	}
	n := &normalizer{version: table.version, left: limit, resident: resident, many: func() {
		panic(&SyntaxError{Text: m.Text, Span: Span{0, len(m.Text)}, Msg: "too many alternatives"})
	}}
	f := n.normal(n.simple(merge(isAll, all...)))
	switch {
	case f.kind == isConstant && !f.holds:
		return nil, nil
	case f.kind == isAny && f.only() == nil:
		for _, o := range f.operands {
			normal = append(normal, o.conjunction())
		}
		return normal, nil
	}
	return Normal{f.conjunction()}, nil
}

// conjunction is an operand of a normal form.
func (f *formula) conjunction() Conjunction {
	switch f.kind {
	case isConstant:
		return nil
	case isAll:
		c := make(Conjunction, len(f.operands))
		for i, o := range f.operands {
			c[i] = o.clause()
		}
		return c
	}
	return Conjunction{f.clause()}
}

// clause is an operand of a conjunction of a normal form.
func (f *formula) clause() Clause {
	operands := []*formula{f}
	if f.kind == isAny {
		operands = f.operands
	}
	c := make(Clause, len(operands))
	for i, o := range operands {
		c[i] = Comparison{Symbol: o.symbol, Value: o.value, Mask: o.mask, Port: o.port}
	}
	return c
}
