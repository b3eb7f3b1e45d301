package node

import (
	"slices"
	"strconv"
	"strings"
)

// A Chain is a chain of a host's packet filter, as nft(8) or iptables-save(8)
// lists it.
type Chain struct {
	Family   string       `json:"family"`             // "ip", "ip6", "inet", "bridge", "netdev", …
	Table    string       `json:"table"`              //
	Name     string       `json:"name"`               //
	Type     string       `json:"type,omitempty"`     // "filter", "nat", "route"; base chains only
	Hook     string       `json:"hook,omitempty"`     // "input", "forward", …; "" for a chain that others jump to
	Device   string       `json:"device,omitempty"`   // for a device hook
	Priority string       `json:"priority,omitempty"` // a number or a name, "filter - 1"
	Policy   string       `json:"policy,omitempty"`   // "accept", "drop"; base chains only
	Legacy   bool         `json:"legacy,omitempty"`   // from iptables-legacy: the rules are in its syntax
	Rules    []FilterRule `json:"rules"`
	Sets     []Set        `json:"sets,omitempty"` // those of its table that its rules name
}

// A Set is a named set or map of a packet filter's table.
type Set struct {
	Name     string    `json:"name"`
	Elements []Element `json:"elements"`
}

// An Element is one of a set, and what it is mapped to if the set is a map.
type Element struct {
	Key   string `json:"key"`             // "10.244.1.5", "10.0.0.0/8", "10.244.1.5 . 80"
	Value string `json:"value,omitempty"` // "172.30.0.200", "drop", "goto services"
}

// A FilterRule is a rule of a chain, without its counter.
type FilterRule struct {
	Text    string `json:"text"`
	Counted bool   `json:"counted,omitempty"` // it has a counter
	Packets uint64 `json:"packets,omitempty"`
}

// legacyTables lists the tables of iptables-legacy, which nft cannot see.
var legacyTables = []struct{ family, names, save string }{
	{"ip", "/proc/thread-self/net/ip_tables_names", "iptables-legacy-save"},
	{"ip6", "/proc/thread-self/net/ip6_tables_names", "ip6tables-legacy-save"},
}

// parseNFT parses the output of nft(8) "-a list ruleset". It reads text, not JSON: for rules made by iptables, the
// JSON of nft 1.0 has null where the text shows what they do.
func parseNFT(text string) []Chain {
	var chains []Chain
	var family, table, rule string
	sets := map[string][]Set{} // by table
	in, inSet := false, false  // a chain, a set
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " # handle ")
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case rule != "": // the rest of what spans lines
			if rule += " " + line; balanced(rule) {
				if inSet {
					sets[family+" "+table] = withElements(sets[family+" "+table], rule)
				} else {
					chains[len(chains)-1].add(rule)
				}
				rule = ""
			}
		case words[0] == "table" && len(words) >= 3 && !in:
			family, table = words[1], words[2]
		case words[0] == "chain" && len(words) >= 2 && !in:
			in = true
			chains = append(chains, Chain{Family: family, Table: table, Name: words[1]})
		case (words[0] == "set" || words[0] == "map") && len(words) >= 2 && !in:
			inSet = true
			sets[family+" "+table] = append(sets[family+" "+table], Set{Name: words[1]})
		case words[0] == "}":
			in, inSet = false, false
		case inSet && words[0] == "elements" && balanced(line):
			sets[family+" "+table] = withElements(sets[family+" "+table], line)
		case inSet && words[0] == "elements":
			rule = line
		case !in:
		case words[0] == "type" && slices.Contains(words, "hook"):
			chains[len(chains)-1].base(line)
		case words[0] == "comment" || words[0] == "policy":
		case balanced(line):
			chains[len(chains)-1].add(line)
		default:
			rule = line
		}
	}
	for i := range chains {
		chains[i].name(sets[chains[i].Family+" "+chains[i].Table])
	}
	return chains
}

// name keeps those sets of the table that the chain's rules name.
func (c *Chain) name(sets []Set) {
	for _, s := range sets {
		if slices.ContainsFunc(c.Rules, func(r FilterRule) bool { return slices.Contains(strings.Fields(r.Text), "@"+s.Name) }) {
			c.Sets = append(c.Sets, s)
		}
	}
}

// withElements adds "elements = { … }" to the last set.
func withElements(sets []Set, text string) []Set {
	_, list, _ := strings.Cut(text, "{")
	list = strings.TrimSuffix(strings.TrimSpace(list), "}")
	sets[len(sets)-1].Elements = parseElements(list)
	return sets
}

// parseElements reads the elements of a set, without comments, timeouts and counters.
func parseElements(list string) []Element {
	var elements []Element
	for _, text := range splitOutside(list, ',') {
		words := filterWords(text)
		var e [2][]string // key and value
		at := 0
		for i := 0; i < len(words); i++ {
			switch words[i] {
			case "":
			case ":":
				at = 1
			case "comment", "timeout", "expires":
				i++
			case "counter":
				i += 4
			default:
				e[at] = append(e[at], words[i])
			}
		}
		if len(e[0]) > 0 {
			elements = append(elements, Element{strings.Join(e[0], " "), strings.Join(e[1], " ")})
		}
	}
	return elements
}

// splitOutside splits a text at a character outside quoted text.
func splitOutside(text string, at rune) []string {
	quoted := false
	return strings.FieldsFunc(text, func(c rune) bool {
		if c == '"' {
			quoted = !quoted
		}
		return c == at && !quoted
	})
}

// balanced reports whether every brace outside quoted text is closed.
func balanced(rule string) bool {
	open, quoted := 0, false
	for _, c := range rule {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			open++
		case c == '}':
			open--
		}
	}
	return open <= 0
}

// base parses "type filter hook input priority filter - 1; policy drop;".
func (c *Chain) base(line string) {
	for part := range strings.SplitSeq(line, ";") {
		words := strings.Fields(part)
		for i := 0; i+1 < len(words); i++ {
			switch words[i] {
			case "type":
				c.Type = words[i+1]
			case "hook":
				c.Hook = words[i+1]
			case "device":
				c.Device = strings.Trim(words[i+1], `"`)
			case "policy":
				c.Policy = words[i+1]
			case "priority":
				c.Priority = strings.Join(words[i+1:], " ")
			}
		}
	}
	if c.Policy == "" {
		c.Policy = "accept"
	}
}

// add appends a rule without its counter, which differs between samples.
func (c *Chain) add(text string) {
	var r FilterRule
	var kept []string
	words := strings.Fields(text)
	for i := 0; i < len(words); i++ {
		if words[i] == "counter" && i+4 < len(words) && words[i+1] == "packets" && words[i+3] == "bytes" {
			r.Packets, _ = strconv.ParseUint(words[i+2], 10, 64)
			r.Counted = true
			i += 4
			continue
		}
		kept = append(kept, words[i])
	}
	r.Text = strings.Join(kept, " ")
	c.Rules = append(c.Rules, r)
}

// parseIptables parses iptables-save(8), with or without -c.
func parseIptables(family, text string) []Chain {
	hooks := map[string]string{"PREROUTING": "prerouting", "INPUT": "input", "FORWARD": "forward", "OUTPUT": "output", "POSTROUTING": "postrouting"}
	var chains []Chain
	first, table := 0, ""
	chain := func(name string) *Chain {
		for i := first; i < len(chains); i++ {
			if chains[i].Name == name {
				return &chains[i]
			}
		}
		chains = append(chains, Chain{Family: family, Table: table, Name: name, Hook: hooks[name], Legacy: true})
		return &chains[len(chains)-1]
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || line[0] == '#':
		case line[0] == '*':
			table, first = line[1:], len(chains)
		case line[0] == ':' && len(words) >= 2:
			c := chain(words[0][1:])
			if c.Hook == "" {
				continue
			}
			c.Type, c.Policy = "filter", strings.ToLower(words[1])
			if table == "nat" {
				c.Type = "nat"
			}
		case line[0] == '[' || words[0] == "-A":
			var r FilterRule
			if counter, rest, ok := strings.Cut(line, "] "); ok && line[0] == '[' {
				packets, _, _ := strings.Cut(counter[1:], ":")
				r.Packets, _ = strconv.ParseUint(packets, 10, 64)
				r.Counted, line = true, rest
				words = strings.Fields(line)
			}
			r.Text = line
			if len(words) > 1 && words[0] == "-A" {
				c := chain(words[1])
				c.Rules = append(c.Rules, r)
			}
		}
	}
	return chains
}
