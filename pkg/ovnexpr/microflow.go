package ovnexpr

import (
	"errors"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A Microflow is one packet described by a match, as for ovn-trace(8): what the match leaves open is 0.
type Microflow struct {
	text  string
	maker *formulator
	parts *formula // not annotated
}

// ParseMicroflow parses a packet description. Sets may be nil, but not [Lazy]. The error is a *[SyntaxError], in
// ovn-trace's words.
func ParseMicroflow(text string, table *Symbols, sets Sets) (m *Microflow, err error) {
	match, err := parseMatch(text, &annotator{text: text, table: table, sets: sets})
	if err != nil {
		return nil, err
	}
	defer recoverSyntax(&err)
	maker := &formulator{text: text, table: table, sets: sets, known: map[string]*formula{}}
	return &Microflow{text: text, maker: maker, parts: maker.node(match.Root)}, nil
}

// Inport is the name of the packet's input port, if the text gives it unambiguously.
func (m *Microflow) Inport() (string, error) {
	names := map[string]bool{}
	m.parts.inports(names)
	switch len(names) {
	case 0:
		return "", errors.New("flow match expression does not match on inport")
	case 1:
		for name := range names {
			return name, nil
		}
	}
	return "", errors.New("flow match expression matches on multiple inports")
}

// inports adds the names that a formula compares inport with.
func (f *formula) inports(to map[string]bool) {
	if f.kind == isComparison && f.symbol.Name == "inport" && f.op == Equal {
		to[f.port] = true
	}
	for _, o := range f.operands {
		o.inports(to)
	}
}

// Flow is the packet. Port finds a logical port's key in the packet's datapath; a field naming a port that is not found
// is left unset. The error is a *[SyntaxError] if no packet meets the description or more than one may; very many
// alternatives count as ambiguous, without checking whether only one can be true.
func (m *Microflow) Flow(port func(name string) (key uint64, ok bool)) (p packet.Flow, err error) {
	defer recoverSyntax(&err)
	all := Span{0, len(m.text)}
	fail := func(msg string) { panic(&SyntaxError{Text: m.text, Span: all, Msg: msg}) }
	annotated := m.maker.annotated(m.parts, true)
	ambiguous := func() { fail("Constraints are ambiguous: " + annotated.String() + ".") }
	n := &normalizer{version: m.maker.table.version, left: maxAlternatives, many: ambiguous}
	f := n.normal(n.simple(annotated))
	operands := []*formula{f}
	if f.kind == isAll {
		operands = f.operands
	}
	for _, o := range operands {
		switch {
		case o.kind == isAny:
			ambiguous()
		case o.kind == isConstant && !o.holds:
			fail("Constraints are contradictory.")
		case o.kind == isComparison:
			o.constrain(&p, port)
		}
	}
	return p, nil
}

// constrain makes a packet meet a comparison for equality. As in ovn-trace, ip.dscp and ip.ecn are left unset: fields
// that are not maskable and not a multiple of 8 bits wide get lost.
func (f *formula) constrain(p *packet.Flow, port func(name string) (uint64, bool)) {
	field := f.symbol.Field
	if !f.symbol.IsString() {
		if !field.Maskable && field.Bits%8 != 0 {
			return
		}
		p.SetMasked(field, f.value, f.mask)
	} else if key, ok := port(f.port); ok {
		p.Set(field, packet.Uint(key))
	}
}
