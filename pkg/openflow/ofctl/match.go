package ofctl

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A match is what a flow's match says: of several values of a field the last one counts.
type match struct {
	flow     packet.Flow // bits that are not in the match are 0
	mask     packet.Flow // bits that are
	terms    []term
	internal bool // on what no version of OpenFlow has
}

// A term is a field with its value in a match.
type term struct {
	field       *packet.Field
	value, mask packet.Value
	name        string // of a port
}

// protocol adds what a word such as tcp stands for.
func (m *match) protocol(name string) bool {
	if name == "ip4" {
		name = "ip"
	}
	k, ok := packet.LookupKeyword(name)
	if !ok || k.EthType == 0 {
		return false
	}
	m.set(term{field: &packet.EthType, value: packet.Uint(k.EthType), mask: packet.EthType.Mask()})
	if k.Proto != 0 {
		m.set(term{field: &packet.NWProto, value: packet.Uint(k.Proto), mask: packet.NWProto.Mask()})
	}
	return true
}

func (m *match) set(t term) {
	if t.field.Name == "dl_vlan" && t.value == packet.Uint(untagged) {
		t = term{field: &packet.VLANTCI, mask: packet.VLANTCI.Mask()}
	}
	before := len(m.terms)
	m.terms = slices.DeleteFunc(m.terms, func(old term) bool {
		return old.field == t.field || ofTag(old.field) && ofTag(t.field)
	})
	m.flow.SetMasked(t.field, t.value, t.field.Mask())
	m.mask.SetMasked(t.field, t.mask, t.field.Mask())
	switch {
	case !ofTag(t.field) || len(m.terms) == before:
		m.terms = append(m.terms, t)
	case m.flow.Uint("vlan_tci")&0x1000 != 0 && m.mask.Uint("vlan_tci") == 0xffff:
		for _, f := range []*packet.Field{&packet.DLVLAN, &packet.DLVLANPCP} {
			m.terms = append(m.terms, term{field: f, value: m.flow.Get(f), mask: f.Mask()})
		}
	default:
		m.terms = append(m.terms, term{field: &packet.VLANTCI, value: m.flow.Get(&packet.VLANTCI), mask: m.mask.Get(&packet.VLANTCI)})
	}
	m.internal = m.internal || t.field.Name == "skb_priority"
}

// untagged is dl_vlan of packets without a tag, in OpenFlow 1.0.
const untagged = 0xffff

// ofTag reports whether a field says something of the outer tag.
func ofTag(f *packet.Field) bool {
	switch f.Name {
	case "vlan_tci", "dl_vlan", "dl_vlan_pcp", "vlan_vid", "vlan_pcp":
		return true
	}
	return false
}

// finish has the Ethernet type of packets whose type the match gives without Ethernet.
func (m *match) finish() {
	kind := m.flow.Uint("packet_type")
	if m.mask.Uint("packet_type") == 1<<32-1 && kind>>16 == 1 {
		m.flow.SetUint("eth_type", kind&0xffff)
	}
}

// words are the terms as package openflow reads them: the protocol first, as what ports are depends on it, then what any packet has.
func (m *match) words() []string {
	kind, proto := m.flow.Uint("eth_type"), m.flow.Uint("nw_proto")
	known := m.mask.Uint("nw_proto") == 0xff
	keyword, spoken := packet.KeywordOf(kind, proto, known)
	if m.mask.Uint("eth_type") != 0xffff {
		spoken = false
	}
	var list []string
	if spoken {
		list = append(list, keyword.Name)
	}
	terms := slices.Clone(m.terms)
	slices.SortStableFunc(terms, func(a, b term) int { return cmp.Compare(min(a.field.Needs, 1), min(b.field.Needs, 1)) })
	for _, t := range terms {
		if spoken && (t.field == &packet.EthType || t.field == &packet.NWProto && keyword.Proto != 0) {
			continue
		}
		if t.field.Name == "tcp_flags" && !(known && proto == packet.ProtoTCP) || t.field.Name == "ip_frag" && kind != packet.EthIPv4 && kind != packet.EthIPv6 {
			continue // ovs-ofctl does not send these to the switch
		}
		if text := t.String(); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// String is the term as package openflow reads it; empty if any value matches.
func (t term) String() string {
	name := t.field.Name
	if label := t.field.Label(); slices.Contains(t.field.Aliases, label) {
		name = label // as ovs-ofctl prints it
	}
	switch {
	case t.name != "":
		return name + "=" + packet.QuoteName(t.name)
	case t.mask.IsZero() && t.field.IsOption():
		return name
	case t.mask.IsZero():
		return ""
	}
	return name + "=" + t.field.PrintMatch(t.value.And(t.field.Mask()), t.mask.And(t.field.Mask()))
}

// condition reads a field with its value; without one it only has to be a field.
func (r *reader) condition(f *packet.Field, a arg) *Error {
	s := a.value
	if s == "" {
		s = "0/0"
	}
	v, mask, err := r.value(f, s, a)
	if err != nil {
		return err
	}
	if f.IsOption() && slices.ContainsFunc(r.match.terms, func(t term) bool { return t.field == f }) {
		return a.fault("field %s set multiple times", f.Name)
	}
	t := term{field: f, value: v, mask: mask}
	if f.Format == packet.Port {
		t.name = r.portName(s)
	}
	r.match.set(t)
	return nil
}

// part reads bits of a field with their value: reg0[0..7]=5.
func (r *reader) part(a arg) *Error {
	p, err := parsePart(a.key, a.at)
	if err != nil {
		return err
	}
	v, read, ok := p.fits(a.value, true)
	if !read {
		return a.bad("%s: cannot parse integer value: %s", a.key, a.value)
	}
	if !ok {
		return a.bad("%s: value %s does not fit into %d bits", a.key, p.Print(v), p.bits)
	}
	r.match.internal = r.match.internal || !p.whole() && !p.Maskable
	mask := p.mask()
	r.match.set(term{field: p.Field,
		value: r.match.flow.Get(p.Field).AndNot(mask).Or(v.Shl(p.lo)), mask: r.match.mask.Get(p.Field).Or(mask)})
	return nil
}

// portName is the name of a port of the bridge, empty for other ports.
func (r *reader) portName(s string) string {
	if name, err := packet.UnquoteName(s); err == nil && slices.Contains(r.names.Ports, name) {
		return name
	}
	return ""
}

// portText is a port as package openflow reads it.
func (r *reader) portText(s string, number uint64) string {
	return packet.PortID{Number: uint32(number), Name: r.portName(strings.TrimSpace(s))}.String()
}
