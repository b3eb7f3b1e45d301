package node

import "strings"

// A NATRule is a rule of a host's packet filter that may translate addresses.
type NATRule struct {
	Family string `json:"family"`         // "ip", "ip6", "inet"
	Table  string `json:"table"`          // "nat", "ovn-kubernetes", …
	Chain  string `json:"chain"`          // as named; a base chain has a Hook
	Hook   string `json:"hook,omitempty"` // "prerouting", "postrouting", …; "" for a chain that others jump to
	Action string `json:"action"`         // "masquerade", "snat", "dnat" or "redirect"
	Text   string `json:"text"`           // the rule as nft(8) or iptables-save(8) lists it, without counters
}

// legacyTables tells of the tables of the old iptables, which nft cannot see.
var legacyTables = []struct{ family, names, save string }{
	{"ip", "/proc/thread-self/net/ip_tables_names", "iptables-legacy-save"},
	{"ip6", "/proc/thread-self/net/ip6_tables_names", "ip6tables-legacy-save"},
}

// natActions are the words of a rule that translate, with iptables' targets.
var natActions = map[string]string{
	"masquerade": "masquerade", "snat": "snat", "dnat": "dnat", "redirect": "redirect",
	"MASQUERADE": "masquerade", "SNAT": "snat", "DNAT": "dnat", "REDIRECT": "redirect", "NETMAP": "dnat",
}

// parseNFT finds the translating rules in what nft(8) "-a list ruleset"
// prints. The text form is read, not the JSON one: for rules that iptables
// made the JSON of nft 1.0 says null where the text says what they do.
func parseNFT(text string) []NATRule {
	var rules []NATRule
	var at NATRule
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " # handle ")
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "table" && len(words) >= 3:
			at = NATRule{Family: words[1], Table: words[2]}
		case words[0] == "chain" && len(words) >= 2:
			at.Chain, at.Hook = words[1], ""
		case words[0] == "}":
			at.Chain, at.Hook = "", ""
		case words[0] == "type" && at.Chain != "":
			at.Hook = after(words, "hook")
		case at.Chain != "":
			if action := natAction(words); action != "" {
				r := at
				r.Action, r.Text = action, withoutCounter(words)
				rules = append(rules, r)
			}
		}
	}
	return rules
}

// natAction finds the word that translates, outside of quoted text (comments,
// interface names). The quotes of `xt target "MASQUERADE"` are the exception.
func natAction(words []string) string {
	quoted := false
	for i, w := range words {
		if i >= 2 && words[i-1] == "target" && words[i-2] == "xt" {
			return natActions[strings.Trim(w, `"`)]
		}
		if a := natActions[w]; a != "" && !quoted {
			return a
		}
		if strings.Count(w, `"`)%2 == 1 {
			quoted = !quoted
		}
	}
	return ""
}

// withoutCounter leaves out what differs from one look to the next.
func withoutCounter(words []string) string {
	var kept []string
	for i := 0; i < len(words); i++ {
		if words[i] == "counter" && i+4 < len(words) && words[i+1] == "packets" && words[i+3] == "bytes" {
			i += 4
			continue
		}
		kept = append(kept, words[i])
	}
	return strings.Join(kept, " ")
}

// parseIptables finds the translating rules in what iptables-save(8) prints.
func parseIptables(family, text string) []NATRule {
	hooks := map[string]string{"PREROUTING": "prerouting", "INPUT": "input", "OUTPUT": "output", "POSTROUTING": "postrouting"}
	var rules []NATRule
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		words := strings.Fields(line)
		if len(words) < 4 || words[0] != "-A" {
			continue
		}
		if action := natActions[after(words, "-j")]; action != "" {
			rules = append(rules, NATRule{Family: family, Table: "nat", Chain: words[1], Hook: hooks[words[1]], Action: action, Text: line})
		}
	}
	return rules
}

// after is the word that follows key, "" when there is none.
func after(words []string, key string) string {
	for i, w := range words[:max(len(words)-1, 0)] {
		if w == key {
			return words[i+1]
		}
	}
	return ""
}

func hasLine(text, want string) bool {
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) == want {
			return true
		}
	}
	return false
}
