package openflow

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/flow"
)

// A Match says which packets a flow is for. The empty Match is for all.
type Match struct {
	Terms []Term // all of them must hold; in the order in which they were read
}

// A Term is one condition of a match: a keyword (ip, tcp6) or a field of which
// some bits have given values.
type Term struct {
	Keyword     string // "" for a field
	Field       *flow.Field
	Value, Mask flow.Value
	Name        string      // how the field was called, if not by its Label
	Port        flow.PortID // of in_port, which may be known by name only
	Absent      bool        // a tunnel option that must not be there ("NP")
}

const maxMatch = 1 << 16

// ParseMatch reads a match as ovs-ofctl(8) prints it.
func ParseMatch(s string) (Match, error) {
	var m Match
	if len(s) > maxMatch {
		return m, &SyntaxError{Text: s, Msg: "match too long"}
	}
	var seen flow.Flow // what is known so far: tp_src means udp_src after udp
	terms := flow.NewTerms(s)
	for terms.Next() {
		t, err := parseTerm(&seen, terms)
		if err != nil {
			return m, in(within(err, terms.Offset), s)
		}
		m.Terms = append(m.Terms, t)
	}
	return m, terms.Err
}

func parseTerm(seen *flow.Flow, terms *flow.Terms) (Term, error) {
	if !terms.HasValue {
		k, ok := flow.LookupKeyword(terms.Key)
		if !ok {
			return Term{}, fault(0, "unknown keyword "+terms.Key)
		}
		k.Apply(seen)
		return Term{Keyword: terms.Key}, nil
	}
	f, ok := flow.LookupIn(seen, terms.Key)
	if !ok {
		return Term{}, fault(0, "unknown field "+terms.Key)
	}
	t := Term{Field: f}
	if terms.Key != f.Label() {
		t.Name = terms.Key
	}
	return t.read(seen, terms.Value)
}

// read fills in the value of a term.
func (t Term) read(seen *flow.Flow, value string) (Term, error) {
	switch {
	case t.Field.Name == "in_port":
		port, err := flow.ParsePort(value)
		if err != nil {
			return t, within(err, 0)
		}
		t.Port, t.Value, t.Mask = port, flow.Uint(uint64(port.Number)), t.Field.Mask()
		return t, nil
	case value == "NP" && strings.HasPrefix(t.Field.Name, "tun_metadata"):
		t.Absent = true
		return t, nil
	}
	var err error
	t.Value, t.Mask, err = t.Field.ParseValue(value)
	if err != nil {
		return t, within(err, 0)
	}
	seen.SetMasked(t.Field, t.Value, t.Mask)
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
	case t.Port.Name != "":
		return name + "=" + t.Port.String()
	}
	return name + "=" + t.Field.PrintMatch(t.Value, t.Mask)
}

// Field returns the term about the field of that name, which may be any of the
// field's names.
func (m Match) Field(name string) (Term, bool) {
	f, ok := flow.Lookup(name)
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

// Matches reports whether the match is for packet p. Ports known by name only
// are compared by name.
func (m Match) Matches(p *flow.Flow) bool {
	for _, t := range m.Terms {
		if !t.matches(p) {
			return false
		}
	}
	return true
}

func (t Term) matches(p *flow.Flow) bool {
	switch {
	case t.Keyword != "":
		k, ok := flow.LookupKeyword(t.Keyword)
		return ok && k.Is(p)
	case t.Absent:
		return p.Get(t.Field).IsZero()
	case t.Port.Name != "" && t.Port.Number == 0:
		return p.InPort().Name == t.Port.Name
	}
	return p.Get(t.Field).And(t.Mask) == t.Value.And(t.Mask)
}
