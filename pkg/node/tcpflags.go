package node

import (
	"maps"
	"slices"
	"strings"
)

// flags reads what the flags of TCP are compared with: "syn / syn,rst", "& (syn | rst) == syn", "== syn", "syn".
func (m *filterMatch) flags() {
	if m.packet.Protocol != "tcp" {
		m.and(no)
		return
	}
	flags, word := m.packet.flags(), m.next()
	if word == "vmap" || strings.HasPrefix(word, "{") || strings.HasPrefix(word, "@") {
		m.and(maybe)
		if word == "vmap" {
			m.end, m.words = fateUnknown, nil
		}
		return
	}
	var mask, value []string
	not := word == "!="
	switch {
	case word == "&":
		mask, word = m.flagList(m.next()), m.next()
		not, value = word == "!=", m.flagList(m.next())
	case word == "==" || not:
		value = m.flagList(m.next())
	default:
		value = m.flagList(word)
	}
	masked := len(m.words) > 1 && m.words[0] == "/"
	switch {
	case masked:
		m.next()
		mask = m.flagList(m.next())
	case len(mask) == 0 && word == "==":
		mask = flags
	case len(mask) == 0 && not: // releases of nft(8) differ in what this means
		m.and(maybe)
		return
	case len(mask) == 0: // any of them
		m.and(when(slices.ContainsFunc(value, func(f string) bool { return slices.Contains(flags, f) })))
		return
	}
	m.and(when(hasFlags(flags, mask, value) != not))
}

// flagList reads flags from a word on: "syn,ack", "(syn | ack)", "0x0".
func (m *filterMatch) flagList(word string) []string {
	for strings.HasPrefix(word, "(") && !strings.HasSuffix(word, ")") && len(m.words) > 0 {
		word += m.next()
	}
	return strings.FieldsFunc(strings.Trim(word, "{}()"), func(c rune) bool { return c == ',' || c == '|' || c == ' ' })
}

// flags are those that are set in the first packet of a connection of TCP, and in its reply.
func (p *FilterPacket) flags() []string {
	if p.Established {
		return []string{"syn", "ack"}
	}
	return []string{"syn"}
}

// hasFlags reports whether those flags that a mask selects are the wanted ones.
func hasFlags(flags, mask, want []string) bool {
	selected := map[string]bool{}
	for _, f := range mask {
		selected[f] = slices.Contains(flags, f)
	}
	for _, f := range want {
		if !selected[f] && f != "0x0" {
			return false
		}
		delete(selected, f)
	}
	return !slices.Contains(slices.Collect(maps.Values(selected)), true)
}

// flagNames reads a list of flags as iptables-extensions(8) writes it: "FIN,SYN,RST,ACK", "NONE".
func (m *filterMatch) flagNames() []string {
	switch word := strings.ToLower(m.next()); word {
	case "none":
		return nil
	case "all":
		return []string{"fin", "syn", "rst", "psh", "ack", "urg"}
	default:
		return strings.Split(word, ",")
	}
}
