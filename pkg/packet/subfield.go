package packet

import (
	"strconv"
	"strings"
)

// A Subfield is a range of a field's bits: NXM_NX_REG14[0..14], reg10[0], ip_src[].
type Subfield struct {
	Field *Field
	Lo    int // lowest bit
	Bits  int
	Name  string // the field's name as written; "" means its Header
}

// Whole returns all of f as a subfield.
func Whole(f *Field) Subfield { return Subfield{Field: f, Bits: f.subBits()} }

// ParseSubfield reads "name[a..b]", "name[a]" or "name[]"; a bare name is the whole field.
func ParseSubfield(s string) (Subfield, error) {
	name, rest, bracket := strings.Cut(s, "[")
	f, ok := Lookup(name)
	if !ok {
		return Subfield{}, &SyntaxError{Text: s, Msg: "unknown field " + name}
	}
	sub := Subfield{Field: f, Bits: f.subBits(), Name: name}
	if name == f.header() {
		sub.Name = ""
	}
	if !bracket {
		return sub, nil
	}
	inner, ok := strings.CutSuffix(rest, "]")
	if !ok {
		return Subfield{}, &SyntaxError{Text: s, Offset: len(s), Msg: "missing ] after a bit range"}
	}
	if inner == "" {
		return sub, nil
	}
	from, to, ranged := strings.Cut(inner, "..")
	if !ranged {
		to = from
	}
	lo, err1 := strconv.ParseUint(from, 10, 16)
	hi, err2 := strconv.ParseUint(to, 10, 16)
	if err1 != nil || err2 != nil || lo > hi || int(hi) >= f.subBits() {
		return Subfield{}, &SyntaxError{Text: s, Offset: len(name) + 1, Msg: "bad bit range of " + f.Name}
	}
	sub.Lo, sub.Bits = int(lo), int(hi-lo)+1
	return sub, nil
}

// String writes the subfield as the OVS tools do.
func (s Subfield) String() string { return string(s.Append(nil)) }

// Append appends what String returns.
func (s Subfield) Append(b []byte) []byte {
	name := s.Name
	if name == "" {
		name = s.Field.header()
	}
	b = append(append(b, name...), '[')
	if s.Lo != 0 || s.Bits != s.Field.subBits() {
		b = strconv.AppendInt(b, int64(s.Lo), 10)
		if s.Bits > 1 {
			b = strconv.AppendInt(append(b, ".."...), int64(s.Lo+s.Bits-1), 10)
		}
	}
	return append(b, ']')
}

// Mask returns the field bits in the subfield.
func (s Subfield) Mask() Value { return Ones(s.Bits).Shl(s.Lo) }

// Get returns a subfield's bits, shifted down to bit 0.
func (s Subfield) Get(p *Flow) Value {
	return p.Get(s.Field).Shr(s.Lo).And(Ones(s.Bits))
}

// Set writes the low bits of v to the subfield.
func (s Subfield) Set(p *Flow, v Value) {
	p.SetMasked(s.Field, v.And(Ones(s.Bits)).Shl(s.Lo), s.Mask())
}
