package openflow

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A Match selects the packets of a flow. The empty Match selects all.
type Match struct {
	Terms []Term // all must hold; in the order read
}

// A Term is one condition of a match: a keyword (ip, tcp6) or a field some of whose bits have given values.
type Term struct {
	Keyword     string // "" for a field
	Field       *packet.Field
	Value, Mask packet.Value
	Name        string        // the field's name as written, if not its Label
	Port        packet.PortID // of in_port, which may be known only by name
	Absent      bool          // a tunnel option that must be absent ("NP"); without this or a Mask, any value
}

const maxMatch = 1 << 16

// ParseMatch reads a match as ovs-ofctl(8) prints it.
func ParseMatch(s string) (Match, error) {
	var m Match
	if len(s) > maxMatch {
		return m, &SyntaxError{Text: s, Msg: "match too long"}
	}
	var proto uint8 // known so far: tp_src means udp_src after udp
	terms := packet.NewTerms(s)
	for terms.Next() {
		t, err := parseTerm(proto, terms.Key, terms.Value, terms.HasValue)
		if err != nil {
			return m, in(within(err, terms.Offset), s)
		}
		if p := t.proto(); p != 0 {
			proto = p
		}
		m.Terms = append(m.Terms, t)
	}
	return m, terms.Err
}

// parseTerm parses a match term for packets of an IP protocol.
func parseTerm(proto uint8, key, value string, hasValue bool) (Term, error) {
	if !hasValue {
		if _, ok := packet.LookupKeyword(key); ok {
			return Term{Keyword: key}, nil
		}
		if f, ok := packet.Lookup(key); ok && f.Name == key && strings.HasPrefix(key, "tun_metadata") {
			return Term{Field: f}, nil
		}
		return Term{}, fault(0, "unknown keyword "+key)
	}
	if name, _, part := strings.Cut(key, "["); part {
		return parsePart(proto, name, key, value)
	}
	f, ok := packet.LookupFor(proto, key)
	if !ok {
		return Term{}, fault(0, "unknown field "+key)
	}
	t := Term{Field: f}
	if key != f.Label() {
		t.Name = key
	}
	return t.read(value)
}

// parsePart parses a term for some bits of a field, as people write it: reg3[0..7]=5.
func parsePart(proto uint8, name, key, value string) (Term, error) {
	s, err := packet.ParseSubfield(key)
	if err != nil {
		return Term{}, within(err, 0)
	}
	f, _ := packet.LookupFor(proto, name)
	v, _, err := f.ParseValue(value)
	if err != nil {
		return Term{}, within(err, len(key)+1)
	}
	if v.BitLen() > s.Bits {
		return Term{}, fault(len(key)+1, "value too wide for "+key)
	}
	t := Term{Field: f, Value: v.Shl(s.Lo), Mask: s.Mask()}
	if name != f.Label() {
		t.Name = name
	}
	return t, nil
}

// proto is the IP protocol that the term requires; 0 if none.
func (t Term) proto() uint8 {
	switch {
	case t.Keyword != "":
		k, _ := packet.LookupKeyword(t.Keyword)
		return uint8(k.Proto)
	case t.Field.Name == "nw_proto":
		return uint8(t.Value.Lo)
	}
	return 0
}

// present reports whether the term asks for a tunnel option of any value.
func (t Term) present() bool {
	return t.Field != nil && t.Mask.IsZero() && !t.Absent && strings.HasPrefix(t.Field.Name, "tun_metadata")
}

// read parses a term's value.
func (t Term) read(value string) (Term, error) {
	switch {
	case t.Field.Name == "in_port":
		port, err := packet.ParsePort(value)
		if err != nil {
			return t, within(err, 0)
		}
		t.Port, t.Value, t.Mask = port, packet.Uint(uint64(port.Number)), t.Field.Mask()
		return t, nil
	case value == "NP" && strings.HasPrefix(t.Field.Name, "tun_metadata"):
		t.Absent = true
		return t, nil
	}
	var err error
	if t.Field.Name == "dl_vlan" { // OpenFlow 1.0 has a number for packets without a tag
		if n, bad := number(value, 16, 0); bad == nil && n == 0xffff {
			tci := &packet.VLANTCI
			return Term{Field: tci, Mask: tci.Mask()}, nil
		}
	}
	t.Value, t.Mask, err = t.Field.ParseValue(value)
	if err != nil {
		return t, within(err, 0)
	}
	return t, nil
}

// String writes the match as ovs-ofctl(8) does.
func (m Match) String() string {
	texts := make([]string, len(m.Terms))
	for i, t := range m.Terms {
		texts[i] = t.String()
	}
	return strings.Join(texts, ",")
}

// String writes the term as ovs-ofctl(8) does.
func (t Term) String() string {
	if t.Keyword != "" {
		return t.Keyword
	}
	name := t.Name
	if name == "" {
		name = t.Field.Label()
	}
	switch {
	case t.Absent:
		return name + "=NP"
	case t.present():
		return t.Field.Name
	case t.Port.Name != "":
		return name + "=" + t.Port.String()
	}
	return name + "=" + t.Field.PrintMatch(t.Value, t.Mask)
}

// Field returns the term for the field with that name or alias.
func (m Match) Field(name string) (Term, bool) {
	f, ok := packet.Lookup(name)
	if !ok {
		return Term{}, false
	}
	for _, t := range m.Terms {
		if t.Field == f {
			return t, true
		}
	}
	return Term{}, false
}

// Without returns the match without its terms for a field.
func (m Match) Without(f *packet.Field) Match {
	return Match{slices.DeleteFunc(slices.Clone(m.Terms), func(t Term) bool { return t.Field == f })}
}

// Matches reports whether packet p matches. Ports known only by name are compared by name.
func (m Match) Matches(p *packet.Flow) bool {
	for _, t := range m.Terms {
		if !t.matches(p) {
			return false
		}
	}
	return true
}

func (t Term) matches(p *packet.Flow) bool {
	switch {
	case t.Keyword != "":
		k, ok := packet.LookupKeyword(t.Keyword)
		return ok && k.Is(p)
	case t.Absent:
		return !p.Has(t.Field)
	case t.Field.IsOption() && !p.Has(t.Field):
		return false
	case t.present():
		return p.Has(t.Field)
	case t.Port.Name != "" && t.Port.Number == 0:
		return p.InPort().Name == t.Port.Name
	}
	mask := t.Field.Decides(t.Mask)
	return p.Get(t.Field).And(mask) == t.Value.And(mask)
}

// Key is equal for matches of the same bits with the same values, however they are written.
func (m Match) Key() string {
	value, mask, rest := m.compile()
	p := packet.NewPattern(&mask)
	return fmt.Sprintf("%s%x%v", p.Key(), p.AppendValues(nil, &value), rest)
}
