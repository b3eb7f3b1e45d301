package trace

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// sourceRule reports whether a rule may translate the source of a packet that goes from one link to another. It
// understands addresses and interfaces as nft(8) and iptables-save(8) write them and assumes that the rule's other
// conditions hold.
func sourceRule(rule node.NATRule, t packet.Tuple, in, out string) bool {
	if rule.Action != "masquerade" && rule.Action != "snat" {
		return false
	}
	if rule.Family == "ip" && t.Src.Is6() || rule.Family == "ip6" && t.Src.Is4() {
		return false
	}
	words := strings.Fields(rule.Text)
	for i, word := range words {
		values, negated := operand(words[i+1:])
		negated = negated || i > 0 && words[i-1] == "!"
		holds, known := true, true
		switch word {
		case "saddr", "-s":
			holds, known = covers(values, t.Src)
		case "daddr", "-d":
			holds, known = covers(values, t.Dst)
		case "oifname", "oif", "-o":
			holds = slices.ContainsFunc(values, func(v string) bool { return isLink(v, out) })
		case "iifname", "iif", "-i":
			holds = slices.ContainsFunc(values, func(v string) bool { return isLink(v, in) })
		default:
			known = false
		}
		if known && holds == negated {
			return false
		}
	}
	return true
}

// operand returns what a rule's term compares with: one value, or those of a set in braces.
func operand(words []string) (values []string, negated bool) {
	if len(words) > 0 && words[0] == "!=" {
		negated, words = true, words[1:]
	}
	if len(words) == 0 {
		return nil, negated
	}
	if words[0] != "{" {
		return []string{strings.Trim(words[0], `"`)}, negated
	}
	for _, w := range words[1:] {
		if w == "}" {
			break
		}
		values = append(values, strings.Trim(w, `",`))
	}
	return values, negated
}

// isLink reports whether an interface name in a rule, which may end in a wildcard, matches a link.
func isLink(pattern, link string) bool {
	if start, wild := strings.CutSuffix(strings.ReplaceAll(pattern, "+", "*"), "*"); wild {
		return strings.HasPrefix(link, start)
	}
	return pattern == link
}

// covers reports whether any of a rule's prefixes, ranges and addresses contains a. Known is false if none does and one
// of them could not be parsed, such as a set name.
func covers(values []string, a netip.Addr) (holds, known bool) {
	known = len(values) > 0
	for _, text := range values {
		if prefix, err := netip.ParsePrefix(text); err == nil {
			holds = holds || prefix.Contains(a)
			continue
		}
		low, high, isRange := strings.Cut(text, "-")
		first, err := netip.ParseAddr(low)
		last := first
		if err == nil && isRange {
			last, err = netip.ParseAddr(high)
		}
		if err != nil {
			known = false
			continue
		}
		holds = holds || first.Compare(a) <= 0 && a.Compare(last) <= 0 && a.Is4() == first.Is4()
	}
	return holds, known || holds
}

// target returns the address that a rule translates to: the first of a range; not valid if the rule names none.
func target(rule node.NATRule) netip.Addr {
	words := strings.Fields(rule.Text)
	for i, w := range words[:max(len(words)-1, 0)] {
		if w != "to" && w != "--to-source" {
			continue
		}
		text, _, _ := strings.Cut(words[i+1], "-")
		if at, err := netip.ParseAddrPort(text); err == nil {
			return at.Addr()
		}
		if a, err := netip.ParseAddr(text); err == nil {
			return a
		}
	}
	return netip.Addr{}
}
