package desired

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A match is an OpenFlow match that is being made.
type match struct {
	value, mask packet.Flow
	fields      []*packet.Field // those that are set, other than registers
	clauses     []openflow.Conjunction
}

// with returns the match with a comparison added; false if no packet can meet both, or the port has no key here.
func (m match) with(c ovnexpr.Comparison, port func(string) (uint64, bool)) (match, bool) {
	field, value, mask := c.Symbol.Field, c.Value, c.Mask
	if c.Symbol.IsString() {
		key, ok := port(c.Port)
		if !ok {
			return m, false
		}
		value, mask = packet.Uint(key), field.Mask()
	}
	if !field.Maskable && field.Bits%8 != 0 {
		return m, true // ovn-controller loses ip.dscp and ip.ecn
	}
	both := m.mask.Get(field).And(mask)
	if m.value.Get(field).And(both) != value.And(both) {
		return m, false
	}
	m.value.SetMasked(field, value, mask)
	m.mask.SetMasked(field, mask, mask)
	if !strings.Contains(field.Name, "reg") && !slices.Contains(m.fields, field) {
		m.fields = append(slices.Clip(m.fields), field)
	}
	return m, true
}

// alternatives are the OpenFlow matches of a normal form. Where several clauses have alternatives, they are made
// clauses of conjunctions, numbered from 1 in the order in which conjunctions are needed.
func alternatives(normal ovnexpr.Normal, port func(string) (uint64, bool)) (matches []match, conjunctions int) {
	at := map[string]int{}
	add := func(m match) {
		key := m.key()
		i, known := at[key]
		switch {
		case !known:
			at[key] = len(matches)
			matches = append(matches, m)
		case len(matches[i].clauses) == 0 || len(m.clauses) == 0:
			matches[i].clauses = nil
		default:
			matches[i].clauses = append(matches[i].clauses, m.clauses...)
		}
	}
	for _, c := range normal {
		common, several, ok := split(c, port)
		if !ok {
			continue
		}
		if len(several) > 1 {
			conjunctions++
		}
		for i, clause := range several {
			for _, one := range clause {
				m, ok := common.with(one, port)
				if !ok {
					continue
				}
				if len(several) > 1 {
					m.clauses = []openflow.Conjunction{{ID: uint32(conjunctions), Clause: i + 1, N: len(several)}}
				}
				add(m)
			}
		}
		switch {
		case len(several) > 1:
			common.value.Set(conjID, packet.Uint(uint64(conjunctions)))
			common.mask.Set(conjID, conjID.Mask())
			common.fields = append(slices.Clip(common.fields), conjID)
			add(common)
		case len(several) == 0:
			add(common)
		}
	}
	return matches, conjunctions
}

var conjID = &packet.ConjID

// split returns what all matches of a conjunction have in common, and its clauses with several alternatives.
func split(c ovnexpr.Conjunction, port func(string) (uint64, bool)) (common match, several []ovnexpr.Clause, ok bool) {
	for _, clause := range c {
		if len(clause) > 1 {
			several = append(several, clause)
			continue
		}
		if common, ok = common.with(clause[0], port); !ok {
			return common, nil, false
		}
	}
	return common, several, true
}

// key is equal for equal matches.
func (m *match) key() string {
	p := packet.NewPattern(&m.mask)
	var b strings.Builder
	b.WriteString(p.Key())
	for _, v := range p.AppendValues(nil, &m.value) {
		b.WriteString(strconv.FormatUint(v, 36))
		b.WriteByte(',')
	}
	return b.String()
}

// order are the fields of OVN's matches in ovs-ofctl's order; nil stands for the keyword.
var order = lazy.Value[[]*packet.Field]{Make: func() (fields []*packet.Field) {
	for _, name := range orderedNames {
		if name == "" {
			fields = append(fields, nil)
			continue
		}
		fields = append(fields, packet.MustField(name))
	}
	return fields
}}

var orderedNames = []string{
	"pkt_mark", "conj_id", "ct_state", "ct_zone", "ct_mark", "ct_label", "ct_nw_src", "ct_nw_dst", "ct_nw_proto", "ct_tp_src", "ct_tp_dst", "",
	"reg0", "reg1", "reg2", "reg3", "reg4", "reg5", "reg6", "reg7", "reg8", "reg9", "reg10", "reg11", "reg12", "reg13", "reg14", "reg15",
	"metadata", "vlan_tci", "eth_src", "eth_dst", "eth_type", "ip_src", "ip_dst", "ipv6_src", "ipv6_dst", "ipv6_label",
	"arp_spa", "arp_tpa", "arp_sha", "arp_tha", "arp_op", "nw_proto", "nw_ttl", "ip_frag",
	"tcp_src", "tcp_dst", "udp_src", "udp_dst", "sctp_src", "sctp_dst", "tcp_flags", "icmp_type", "icmp_code", "icmpv6_type", "icmpv6_code",
	"nd_target", "nd_sll", "nd_tll",
}

// openflow writes the match as ovs-ofctl(8) does, and reads that back.
func (m *match) openflow() (openflow.Match, error) {
	keyword, inKeyword := m.keyword()
	var b []byte
	for _, f := range order.Get() {
		if f == nil {
			if keyword != "" {
				b = append(append(b, keyword...), ',')
			}
			continue
		}
		mask := m.mask.Get(f)
		if mask.IsZero() || !strings.HasPrefix(f.Name, "reg") && !slices.Contains(m.fields, f) || slices.Contains(inKeyword, f) {
			continue
		}
		value := m.value.Get(f)
		switch {
		case f.Name == "vlan_tci":
			b = appendVLAN(b, f, value, mask)
		default:
			b = f.AppendMatch(append(append(b, f.Label()...), '='), value, mask)
		}
		b = append(b, ',')
	}
	return openflow.ParseMatch(strings.TrimSuffix(string(b), ","))
}

// appendVLAN writes a match on a VLAN tag.
func appendVLAN(b []byte, f *packet.Field, value, mask packet.Value) []byte {
	id, priority := mask.Lo&0xfff, mask.Lo>>13
	present := mask.Bit(12) && value.Bit(12)
	if !present || id != 0 && id != 0xfff || priority != 0 && priority != 7 || id+priority == 0 {
		return f.AppendMatch(append(b, "vlan_tci="...), value, mask)
	}
	if id != 0 {
		b = strconv.AppendUint(append(b, "dl_vlan="...), value.Lo&0xfff, 10)
	}
	if priority != 0 {
		if id != 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(append(b, "dl_vlan_pcp="...), value.Lo>>13, 10)
	}
	return b
}

var ethTypeField, protocolField = &packet.EthType, &packet.NWProto

// keyword is the word for the packet type that the match requires, with the fields that it stands for.
func (m *match) keyword() (word string, fields []*packet.Field) {
	if m.mask.Get(ethTypeField) != ethTypeField.Mask() {
		return "", nil
	}
	exact := m.mask.Get(protocolField) == protocolField.Mask() && slices.Contains(m.fields, protocolField)
	if k, ok := packet.KeywordOf(m.value.Get(ethTypeField).Lo, m.value.Get(protocolField).Lo, exact); ok {
		fields = []*packet.Field{ethTypeField}
		if k.Proto != 0 {
			fields = append(fields, protocolField)
		}
		return k.Name, fields
	}
	return "", nil
}
