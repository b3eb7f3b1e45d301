package ovnexpr

import (
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// A Level is a symbol's level of measurement (ovn-sb(5), "Level of Measurement").
type Level uint8

// The levels of measurement.
const (
	Nominal Level = iota
	Boolean
	Ordinal
)

// String returns ovn-controller's word for it.
func (l Level) String() string { return [...]string{"nominal", "Boolean", "ordinal"}[l] }

// A Symbol is a name in the languages with its meaning.
type Symbol struct {
	Name      string
	Level     Level
	Bits      int           // width; 0 for a string field, 1 for a predicate
	Field     *packet.Field // where the value is kept; nil for predicates and write-only symbols
	Lo        int           // the lowest bit in Field
	Predicate string        // the predicate's expansion, else ""

	writable bool
	commit   bool      // writable in ct_commit only
	crossed  bool      // alternatives are no clause of a conjunction
	meaning  condition // of a predicate, annotated
	needs    []condition

	needsText string  // a match: the prerequisite of this symbol alone
	parent    *Symbol // the symbol it is part of
	parentLo  int
}

// IsString reports whether the symbol is a string field, which holds the key of a logical port.
func (s *Symbol) IsString() bool { return s.Bits == 0 }

// Symbols is a release's symbol table.
type Symbols struct {
	byName  map[string]*Symbol
	version release.Series
}

// A Profile selects a symbol table.
type Profile struct {
	Version   release.Series
	Conntrack bool // for flows tagged acl_ct_translation
}

var tables sync.Map // Profile to *Symbols

// SymbolsOf returns a profile's table. It is shared and must not be changed.
func SymbolsOf(p Profile) *Symbols {
	if t, ok := tables.Load(p); ok {
		return t.(*Symbols)
	}
	t, _ := tables.LoadOrStore(p, newSymbols(p))
	return t.(*Symbols)
}

// Lookup finds a symbol.
func (t *Symbols) Lookup(name string) (*Symbol, bool) {
	s, ok := t.byName[name]
	return s, ok
}

// newSymbols builds a table. The definitions are part of the program: an error in them panics.
func newSymbols(p Profile) *Symbols {
	t := &Symbols{byName: map[string]*Symbol{}, version: p.Version}
	t.addRegisters()
	for _, d := range definitions {
		// Removed symbols still have a meaning for the zero Version, unless a later line redefines the name.
		if p.Version.Within(d.since, d.until) || p.Version == 0 {
			t.add(d)
		}
	}
	if p.Conntrack {
		for _, d := range conntrackDefinitions {
			t.add(d)
		}
	}
	return t
}

// addRegisters adds reg0 to reg9 as parts of the wider registers that overlap them.
func (t *Symbols) addRegisters() {
	for i := range 2 {
		t.add(definition{name: fmt.Sprint("xxreg", i), field: fmt.Sprint("xxreg", i)})
	}
	t.add(definition{name: "xreg4", field: "xreg4"})
	for i := range 4 {
		lo := 64 * (1 - i%2)
		t.add(definition{name: fmt.Sprint("xreg", i), bits: fmt.Sprintf("xxreg%d[%d..%d]", i/2, lo, lo+63)})
	}
	for i := range 8 {
		lo := 32 * (3 - i%4)
		t.add(definition{name: fmt.Sprint("reg", i), bits: fmt.Sprintf("xxreg%d[%d..%d]", i/4, lo, lo+31)})
	}
	t.add(definition{name: "reg8", bits: "xreg4[32..63]"})
	t.add(definition{name: "reg9", bits: "xreg4[0..31]"})
}

func (t *Symbols) add(d definition) {
	s := &Symbol{Name: d.name, Predicate: d.predicate, commit: d.commit, crossed: d.crossed}
	switch {
	case d.predicate != "":
		s.Bits = 1
		c := t.mustAnnotate(d.predicate)
		s.meaning, s.Level = c.root, Boolean
		if c.nominal {
			s.Level = Nominal
		}
	case d.bits != "":
		l := newLexer(d.bits)
		ref, err := t.Resolve(l.field(), d.bits)
		if err != nil {
			panic("ovnexpr: " + d.name + ": " + err.Error())
		}
		s.Field, s.Lo, s.Bits, s.Level = ref.Field, ref.Lo, ref.Bits, Ordinal
		s.writable, s.needs = ref.Symbol.writable, ref.Symbol.needs
		s.parent, s.parentLo = ref.Symbol, ref.ofs
	case d.writeOnly > 0:
		s.Bits, s.Level, s.writable = d.writeOnly, Nominal, true
	default:
		s.setField(d)
	}
	if d.needs != "" {
		s.needsText = d.needs
		s.needs = slices.Concat(s.needs, conjuncts(t.mustAnnotate(d.needs).root))
	}
	t.byName[d.name] = s
}

// conjuncts splits c if it is a conjunction.
func conjuncts(c condition) []condition {
	if all, ok := c.(allOf); ok {
		return all
	}
	return []condition{c}
}

func (s *Symbol) setField(d definition) {
	f, ok := packet.Lookup(d.field)
	if !ok {
		panic("ovnexpr: no field " + d.field)
	}
	s.Field, s.Bits, s.writable = f, f.Bits, !f.ReadOnly
	if f.Maskable {
		s.Level = Ordinal
	}
	if d.text {
		s.Bits, s.Level = 0, Nominal
	}
}

func (t *Symbols) mustAnnotate(text string) *Condition {
	m, err := ParseMatch(text)
	if err != nil {
		panic("ovnexpr: " + text + ": " + err.Error())
	}
	c, err := m.annotate(&annotator{text: text, table: t, implied: true})
	if err != nil {
		panic("ovnexpr: " + text + ": " + err.Error())
	}
	return c
}

// A Ref is a resolved field or some of its bits.
type Ref struct {
	Symbol *Symbol
	Field  *packet.Field // nil for predicates and write-only symbols
	Lo     int           // the lowest bit in Field
	Bits   int           // 0 for a string field
	ofs    int           // the lowest bit in Symbol
}

// Resolve resolves a field of a parsed text. The error is a *[SyntaxError].
func (t *Symbols) Resolve(f Field, text string) (Ref, error) {
	s, ok := t.byName[f.Name]
	if !ok {
		e := syntaxAt(text, Span{f.Start, f.Start + len(f.Name)}, "expecting field name")
		e.unknown = true
		return Ref{}, e
	}
	r := Ref{Symbol: s, Field: s.Field, Lo: s.Lo, Bits: s.Bits}
	if !f.Bits {
		return r, nil
	}
	msg := ""
	switch {
	case s.IsString():
		msg = fmt.Sprintf("Cannot select subfield of string field %s.", s.Name)
	case f.Hi >= s.Bits:
		msg = fmt.Sprintf("Cannot select bits %d to %d of %d-bit field %s.", f.Lo, f.Hi, s.Bits, s.Name)
	case s.Level == Nominal && f.Hi-f.Lo+1 != s.Bits:
		msg = fmt.Sprintf("Cannot select subfield of nominal field %s.", s.Name)
	}
	if msg != "" {
		return Ref{}, &SyntaxError{Text: text, Span: f.Span, Msg: msg}
	}
	r.ofs = f.Lo
	r.Lo += f.Lo
	r.Bits = f.Hi - f.Lo + 1
	return r, nil
}

// String writes the field in OVN syntax.
func (r Ref) String() string {
	switch {
	case r.Symbol == nil:
		return ""
	case r.Bits == r.Symbol.Bits:
		return r.Symbol.Name
	case r.Bits == 1:
		return r.Symbol.Name + "[" + strconv.Itoa(r.ofs) + "]"
	}
	return r.Symbol.Name + "[" + strconv.Itoa(r.ofs) + ".." + strconv.Itoa(r.ofs+r.Bits-1) + "]"
}

// width is the number of bits in the packet: string fields use all of theirs.
func (r Ref) width() int {
	if r.Bits == 0 && r.Field != nil {
		return r.Field.Bits
	}
	return r.Bits
}

// Get returns the value in a packet, shifted down to bit 0; for a string field, the port's key. Without a field it is
// 0.
func (r Ref) Get(p *packet.Flow) packet.Value {
	if r.Field == nil {
		return packet.Value{}
	}
	v := p.Get(r.Field)
	if r.Lo == 0 && r.width() == r.Field.Bits {
		return v
	}
	return v.Shr(r.Lo).And(packet.Ones(r.width()))
}

// Set writes the low bits of v into a packet, ignoring prerequisites. Without a field it does nothing.
func (r Ref) Set(p *packet.Flow, v packet.Value) {
	if r.Field != nil {
		p.SetMasked(r.Field, v.Shl(r.Lo), packet.Ones(r.width()).Shl(r.Lo))
	}
}

// SetMasked writes the low bits of v selected by mask.
func (r Ref) SetMasked(p *packet.Flow, v, mask packet.Value) {
	if r.Field != nil {
		p.SetMasked(r.Field, v.Shl(r.Lo), mask.And(packet.Ones(r.width())).Shl(r.Lo))
	}
}
