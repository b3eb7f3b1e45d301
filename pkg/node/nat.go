package node

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
)

// A NATRule is a rule of a host's packet filter that may translate addresses.
type NATRule struct {
	Family string `json:"family"`         // "ip", "ip6", "inet"
	Table  string `json:"table"`          // "nat", "ovn-kubernetes", …
	Chain  string `json:"chain"`          // its name; a base chain has a Hook
	Hook   string `json:"hook,omitempty"` // "prerouting", "postrouting", …; "" for a chain that others jump to
	Action string `json:"action"`         // "masquerade", "snat", "dnat" or "redirect"
	Text   string `json:"text"`           // the rule as nft(8) or iptables-save(8) lists it, without counters
}

// natActions are the words of translating rules, with iptables' targets.
var natActions = lazy.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{
		"masquerade": "masquerade", "snat": "snat", "dnat": "dnat", "redirect": "redirect",
		"MASQUERADE": "masquerade", "SNAT": "snat", "DNAT": "dnat", "REDIRECT": "redirect", "NETMAP": "dnat",
	}
}}

// NATRules finds the translating rules in a packet filter's chains.
func NATRules(chains []Chain) []NATRule {
	var rules []NATRule
	for _, c := range chains {
		for _, r := range c.Rules {
			if action := natAction(c, strings.Fields(r.Text)); action != "" {
				rules = append(rules, NATRule{Family: c.Family, Table: c.Table, Chain: c.Name, Hook: c.Hook, Action: action, Text: r.Text})
			}
		}
	}
	return rules
}

// natAction finds the word that makes a rule translate: the target for iptables, else one outside quoted text
// (comments, interface names). The quotes of `xt target "MASQUERADE"` are the exception.
func natAction(c Chain, words []string) string {
	switch {
	case c.Legacy && c.Table == "nat":
		return natActions.Get()[after(words, "-j")]
	case c.Legacy:
		return ""
	}
	quoted := false
	for i, w := range words {
		if i >= 2 && words[i-1] == "target" && words[i-2] == "xt" {
			return natActions.Get()[strings.Trim(w, `"`)]
		}
		if a := natActions.Get()[w]; a != "" && !quoted {
			return a
		}
		if strings.Count(w, `"`)%2 == 1 {
			quoted = !quoted
		}
	}
	return ""
}

// after returns the word after key, "" if there is none.
func after(words []string, key string) string {
	for i, w := range words[:max(len(words)-1, 0)] {
		if w == key {
			return words[i+1]
		}
	}
	return ""
}

// A Translation is what a rule does to the source or destination of a packet.
type Translation struct {
	Action string     // the one of [NATRule]
	Rule   string     // as nft(8) or iptables-save(8) lists it
	Chain  string     // that has the rule
	To     netip.Addr // the first that it may change it to; not valid: an address of the host's own
	Port   uint16     // the first that it may change it to; 0: it stays, or the rule does not say
	Sure   bool       // its text decides that it is this rule: no marks, users or sets that are not known
}

// translates has what the rules of a hook do, iptables-extensions(8).
var translates = lazy.Value[map[string][]string]{Make: func() map[string][]string {
	return map[string][]string{
		"prerouting": {"dnat", "redirect"}, "output": {"dnat", "redirect"},
		"postrouting": {"snat", "masquerade"}, "input": {"snat"},
	}
}}

// Translate finds the rule at a hook by which a packet filter may change a packet's source or destination: the first that
// matches it, conditions apart that its text does not decide.
func Translate(chains []Chain, p FilterPacket, hook string) (Translation, bool) {
	unsure := false
	for _, c := range p.bases(chains, []string{hook}, func(c *Chain) bool { return c.Type == "nat" }) {
		w := filterWalk{chains: chains, packet: p, wants: translates.Get()[hook], unsure: unsure}
		if w.chain(c, 0); w.found != nil {
			return *w.found, true
		}
		unsure = w.unsure
	}
	return Translation{}, false
}

// priorities are the names that nft(8) gives them.
var priorities = lazy.Value[map[string]int]{Make: func() map[string]int {
	return map[string]int{"raw": -300, "mangle": -150, "dstnat": -100, "filter": 0, "security": 50, "srcnat": 100}
}}

// natPriority is that at which conntrack translates packets at a hook: destinations, or sources.
func natPriority(hook string) int {
	if hook == "prerouting" || hook == "output" {
		return priorities.Get()["dstnat"]
	}
	return priorities.Get()["srcnat"]
}

// order returns a base chain's priority as a number.
func (c *Chain) order() int {
	words := strings.Fields(c.Priority)
	switch {
	case len(words) > 0:
	case c.Table == "nat" && (c.Hook == "prerouting" || c.Hook == "output"): // of iptables, as the next
		return priorities.Get()["dstnat"]
	case c.Table == "nat":
		return priorities.Get()["srcnat"]
	default:
		return priorities.Get()[c.Table]
	}
	n, ok := priorities.Get()[words[0]]
	if !ok {
		n, _ = strconv.Atoi(words[0])
	}
	if len(words) == 3 {
		by, _ := strconv.Atoi(words[1] + words[2])
		n += by
	}
	return n
}
