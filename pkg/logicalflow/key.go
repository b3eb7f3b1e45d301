package logicalflow

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A number is a 128-bit unsigned integer.
type number struct{ hi, lo uint64 }

var allBits = number{^uint64(0), ^uint64(0)}

// A key is necessary, but maybe not sufficient, for a packet to hit a flow: the bits of a field under mask have one of
// the values, or a port is one of those named or in one of the groups.
type key struct {
	field  string
	mask   number
	values []number
	ports  []string
	groups []string
}

// maxValues bounds a key's constants: a flow with more is tried for every packet.
const maxValues = 32

// keyOf finds the best key in a match's text: it parses only what it needs, since most flows are never used further.
// Each operand of a top-level && is necessary for the whole.
func keyOf(match string) (key, bool) {
	var best key
	found := bestKey(match, 0, &best)
	return best, found > 0
}

// bestKey stores the best key of a conjunction in best if it beats rank. It returns the rank of the stored key.
func bestKey(text string, rank int, best *key) int {
	operands, ok := conjunction(text)
	if !ok {
		return rank
	}
	for _, o := range operands {
		if inner, ok := strings.CutPrefix(o, "("); ok && strings.HasSuffix(inner, ")") {
			rank = bestKey(inner[:len(inner)-1], rank, best)
			continue
		}
		field, value, ok := strings.Cut(o, "==")
		if !ok {
			continue
		}
		k := key{field: strings.TrimSpace(field), mask: allBits}
		r := fieldRank.Get()[k.field]
		if r == 0 || !k.constants(strings.TrimSpace(value)) {
			continue
		}
		if k.mask != allBits || len(k.groups) > 0 {
			r -= lowerRank
		}
		if r > rank {
			rank, *best = r, k
		}
	}
	return rank
}

// fieldRank ranks fields by how few flows share a value.
var fieldRank = lazy.Value[map[string]int]{Make: func() map[string]int {
	return map[string]int{
		"ip4.dst": 30, "ip6.dst": 30, "ip4.src": 29, "ip6.src": 29, "arp.tpa": 28, "nd.target": 28,
		"reg0": 27, "reg1": 27, "reg4": 27, "reg5": 27, "xxreg0": 27, "xxreg1": 27,
		"inport": 26, "outport": 26, "eth.dst": 25, "eth.src": 24,
	}
}}

// lowerRank is how much lower prefixes and groups rank.
const lowerRank = 20

// conjunction splits a text at && outside parentheses, braces and strings. It gives up on || there and on unbalanced
// parentheses.
func conjunction(text string) (operands []string, ok bool) {
	depth, from := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			end := strings.IndexByte(text[i+1:], '"')
			if end < 0 {
				return nil, false
			}
			if strings.IndexByte(text[i+1:i+1+end], '\\') >= 0 {
				return nil, false
			}
			i += end + 1
		case c == '(' || c == '{':
			depth++
		case c == ')' || c == '}':
			if depth--; depth < 0 {
				return nil, false
			}
		case c == '/' && i+1 < len(text) && (text[i+1] == '/' || text[i+1] == '*'):
			return nil, false // a comment
		case depth == 0 && c == '|':
			return nil, false
		case depth == 0 && c == '&':
			operands = append(operands, strings.TrimSpace(text[from:i]))
			i++
			from = i + 1
		}
	}
	if depth != 0 || from > len(text) {
		return nil, false
	}
	return append(operands, strings.TrimSpace(text[from:])), true
}

// constants reads what a field is compared with.
func (k *key) constants(text string) bool {
	if inner, ok := strings.CutPrefix(text, "{"); ok && strings.HasSuffix(inner, "}") {
		items := strings.Split(inner[:len(inner)-1], ",")
		if len(items) > maxValues {
			return false
		}
		for i, item := range items {
			item = strings.TrimSpace(item)
			if item == "" && i > 0 && i == len(items)-1 {
				break // a comma may end the list
			}
			if !k.constant(item) {
				return false
			}
		}
		return true
	}
	return k.constant(text)
}

func (k *key) constant(text string) bool {
	if k.field == "inport" || k.field == "outport" {
		if name, ok := strings.CutPrefix(text, "@"); ok {
			k.groups = append(k.groups, name)
			return isWord(name)
		}
		if len(text) < 2 || text[0] != '"' || strings.IndexByte(text[1:], '"') != len(text)-2 {
			return false
		}
		k.ports = append(k.ports, text[1:len(text)-1])
		return true
	}
	v, mask, ok := parseAddress(text)
	if !ok || len(k.values) > 0 && mask != k.mask {
		return false
	}
	k.mask, k.values = mask, append(k.values, v)
	return true
}

func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// parseAddress parses an IPv4, IPv6 or Ethernet address, an IP address with an optional prefix length.
func parseAddress(text string) (value, mask number, ok bool) {
	address, length, prefix := strings.Cut(text, "/")
	if mac, ok := packet.ParseMAC(address); ok {
		return low(mac), allBits, len(address) == 17 && !prefix
	}
	a, err := netip.ParseAddr(address)
	if err != nil || a.Zone() != "" {
		return number{}, number{}, false
	}
	v := packet.FromAddr(a)
	if !prefix {
		return low(v), allBits, true
	}
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 || n > a.BitLen() || strconv.Itoa(n) != length {
		return number{}, number{}, false
	}
	ones := packet.Ones(n).Shl(a.BitLen() - n)
	return low(v.And(ones)), low(ones), true
}

// low are the low bits of a value.
func low(v packet.Value) number { return number{v.Hi, v.Lo} }
