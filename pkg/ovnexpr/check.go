package ovnexpr

import (
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// Annotate checks that the actions use their fields correctly and returns the prerequisites they add to the flow's
// match; nil if none. The text is what was parsed. The error is a *[SyntaxError]; it wraps [ErrNotUnderstood] if an
// action names a symbol missing from the table.
func (a Actions) Annotate(text string, table *Symbols) (needs *Condition, err error) {
	defer recoverSyntax(&err)
	c := &checker{text: text, table: table}
	c.actions(a)
	if len(c.needs) == 0 {
		return nil, nil
	}
	return newCondition(c.needs, true), nil
}

// Needs returns the prerequisites that [Actions.Annotate] makes a condition of as matches, for [Match.Normalize].
func (a Actions) Needs(text string, table *Symbols) (needs []string, err error) {
	defer recoverSyntax(&err)
	c := &checker{text: text, table: table}
	c.actions(a)
	return c.texts, nil
}

type checker struct {
	text   string
	table  *Symbols
	needs  allOf
	texts  []string // the same as matches
	commit bool     // inside ct_commit, where ct_mark and ct_label are writable, and nothing else is
}

func (c *checker) actions(a Actions) {
	for _, one := range a {
		c.action(one)
	}
}

// need adds a prerequisite: a predicate of the table.
func (c *checker) need(predicate string) {
	if s, ok := c.table.Lookup(predicate); ok {
		c.needs = append(c.needs, s.meaning)
		c.texts = append(c.texts, predicate)
	}
}

func (c *checker) fail(at Span, format string, args ...any) {
	(&lexer{in: c.text}).fail(at, format, args...)
}

// anyWidth is a width that is not checked.
const anyWidth = -1

// field resolves a field of the given width in bits, or a string field for [port], and adds its prerequisites.
func (c *checker) field(f Field, bits int, write bool) Ref {
	r, err := c.table.Resolve(f, c.text)
	if err != nil {
		panic(err)
	}
	s := r.Symbol
	switch {
	case s.Predicate != "":
		c.fail(f.Span, "Predicate symbol %s used where lvalue required.", s.Name)
	case bits == anyWidth || bits == r.Bits:
	case bits == port:
		c.fail(f.Span, "Cannot use numeric field %s where string field is required.", s.Name)
	case s.IsString():
		c.fail(f.Span, "Cannot use string field %s where numeric field is required.", s.Name)
	default:
		c.fail(f.Span, "Cannot use %d-bit field %s[%d..%d] where %d-bit field is required.",
			r.Bits, s.Name, r.ofs, r.ofs+r.Bits-1, bits)
	}
	if write && (!s.writable || s.commit != c.commit) {
		c.fail(f.Span, "Field %s is not modifiable.", s.Name)
	}
	c.needs = append(c.needs, s.needs...)
	for of := s; of != nil; of = of.parent {
		if of.needsText != "" {
			c.texts = append(c.texts, of.needsText)
		}
	}
	return r
}

func (c *checker) action(a Action) {
	switch a := a.(type) {
	case *Load:
		c.load(a)
	case *Move:
		c.pair(a.To, a.From, a.Span, false)
	case *Exchange:
		c.pair(a.A, a.B, a.Span, true)
	case *Push:
		c.field(a.Field, anyWidth, false)
	case *Pop:
		c.field(a.Field, anyWidth, true)
	case *Nested:
		c.nested(a)
	case *Call:
		c.call(a)
	case *Next:
		c.next(a)
	case *CTCommit:
		if len(a.Old) > 0 && c.table.version.Has(release.WithoutCommitArguments) && c.table.version != 0 {
			c.fail(a.Span, "Syntax error at `(' expecting `;'.")
		}
		inner := &checker{text: c.text, table: c.table, commit: true}
		inner.actions(a.Actions)
		c.need("ip")
	case *DecTTL, *CTNext, *CTCommitTo, *CTNAT, *CTLB:
		c.need("ip")
	case *Select:
		if r := c.field(a.To, anyWidth, true); r.Bits < 16 {
			c.fail(a.To.Span, "cannot use %d-bit field %s[%d..%d] for \"select\", which requires at least 16 bits.",
				r.Bits, r.Symbol.Name, r.ofs, r.ofs+r.Bits-1)
		}
	case *PutOptions:
		c.field(a.Result, 1, true)
		c.putOptions(a)
		if a.Name == "put_nd_ra_opts" {
			c.need("ip6")
		}
	case *CheckPacketLarger:
		c.field(a.Result, 1, true)
	case *DHCPRelay:
		c.field(a.Result, 1, true)
	case *TriggerEvent:
		c.event(a)
	case *Sample:
		if a.PointField != nil {
			c.field(*a.PointField, 32, false)
		}
	case *BindVirtual:
		c.field(a.Parent, port, false)
	}
}

// next checks that the pipeline has the table. One that is not named may be either.
func (c *checker) next(a *Next) {
	limit := release.PipelineLength(c.table.version, a.Pipeline == "egress")
	if limit == 0 || a.Table < limit {
		return
	}
	shown := limit
	if !c.table.version.Has(release.EgressShorter) {
		shown-- // earlier series name the last table, later ones how many there are
	}
	c.fail(a.Span, "\"next\" action cannot advance beyond table %d.", shown)
}

// load checks that a constant fits its field.
func (c *checker) load(a *Load) {
	r := c.field(a.To, anyWidth, true)
	if a.Value.Kind == AddressSets || a.Value.Kind == PortGroups {
		c.fail(a.Value.Span, "Cannot assign a set to field %s.", r.Symbol.Name)
	}
	t := &annotator{text: c.text, table: c.table}
	t.addConstant(&test{ref: r}, &a.Value)
}

// pair checks that two fields are of one kind and width.
func (c *checker) pair(to, from Field, at Span, exchange bool) {
	l := c.field(to, anyWidth, true)
	r := c.field(from, anyWidth, exchange)
	ls, rs := l.Symbol, r.Symbol
	kindOf := func(s *Symbol) string { return word(s.IsString(), "string", "integer") }
	switch {
	case ls.IsString() != rs.IsString() && exchange:
		c.fail(at, "Can't exchange %s field (%s) with %s field (%s).", kindOf(ls), ls.Name, kindOf(rs), rs.Name)
	case ls.IsString() != rs.IsString():
		c.fail(at, "Can't assign %s field (%s) to %s field (%s).", kindOf(rs), rs.Name, kindOf(ls), ls.Name)
	case l.Bits != r.Bits && exchange:
		c.fail(at, "Can't exchange %d-bit field with %d-bit field.", l.Bits, r.Bits)
	case l.Bits != r.Bits:
		c.fail(at, "Can't assign %d-bit value to %d-bit destination.", r.Bits, l.Bits)
	}
}

// nested checks actions on another packet. Their prerequisites apply to that packet, except in a clone or rejection,
// which start as copies.
func (c *checker) nested(a *Nested) {
	inner := &checker{text: c.text, table: c.table}
	inner.actions(a.Actions)
	need := nested.Get()[a.Name]
	switch {
	case need == "":
		c.needs = append(c.needs, inner.needs...)
		c.texts = append(c.texts, inner.texts...)
		return
	case !c.table.version.Has(release.NextHopsOfOtherFamily) && a.Name == "arp":
		need = "ip4"
	case !c.table.version.Has(release.NextHopsOfOtherFamily) && a.Name == "nd_ns":
		need = "ip6"
	}
	c.need(need)
}

func (c *checker) call(a *Call) {
	f := functions.Get()[a.Name]
	for i, arg := range a.Args {
		c.field(arg, f.args[i], false)
	}
	if a.Result != nil {
		bits := f.result
		// A port can also be written as a number.
		if r, err := c.table.Resolve(*a.Result, c.text); bits == port && err == nil && !r.Symbol.IsString() {
			bits = 32
		}
		c.field(*a.Result, bits, true)
	}
	if f.needs != "" {
		c.need(f.needs)
	}
}

// Bits returns the bits that the action writes, cut to the width of its field, and their mask. The constant must be an
// integer.
func (a *Load) Bits(r Ref) (value, mask packet.Value) {
	mask = packet.Ones(r.width())
	if a.Value.Masked {
		mask = mask.And(a.Value.Mask)
	}
	return a.Value.Value.And(mask), mask
}
