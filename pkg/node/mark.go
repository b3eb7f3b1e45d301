package node

import (
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
)

// A mark is the packet's mark, as far as rules have set it.
type mark struct {
	value  uint32
	set    bool // by a rule: else it has the one that it came with
	unsure bool
}

// Marked returns the mark that the rules at some hooks set on a packet that comes with none; false if they do not tell.
func Marked(chains []Chain, p FilterPacket, hooks ...string) (uint32, bool) {
	for _, c := range p.bases(chains, hooks, func(*Chain) bool { return true }) {
		w := filterWalk{chains: chains, packet: p}
		w.chain(c, 0)
		p.tracking, p.mark = w.packet.tracking, w.packet.mark
	}
	return p.mark.value, !p.mark.unsure
}

// marks reads the mark that a rule sets: a number, or "mark or 0x4000", "meta mark & 0xff ^ 0x1", of the mark before.
func (m *filterMatch) marks() {
	word := m.next()
	if word == "meta" {
		word = m.next()
	}
	m.mark = m.packet.mark
	if word != "mark" {
		m.mark.unsure = !markOf(word, &m.mark.value)
	}
	m.mark.set = true
	for len(m.words) > 1 {
		with, ok := operators.Get()[m.words[0]]
		if !ok {
			return
		}
		var n uint32
		m.mark.unsure = !markOf(m.words[1], &n) || m.mark.unsure
		m.mark.value, m.words = with(m.mark.value, n), m.words[2:]
	}
}

// operators are those of nft(8) that make a mark of another.
var operators = lazy.Value[map[string]func(a, b uint32) uint32]{Make: func() map[string]func(a, b uint32) uint32 {
	return map[string]func(a, b uint32) uint32{
		"|": or, "or": or, "&": and, "and": and, "^": xor, "xor": xor,
		"<<": func(a, b uint32) uint32 { return a << b }, ">>": func(a, b uint32) uint32 { return a >> b },
	}
}}

func or(a, b uint32) uint32  { return a | b }
func and(a, b uint32) uint32 { return a & b }
func xor(a, b uint32) uint32 { return a ^ b }

// markOf reads a mark, decimal or after "0x".
func markOf(word string, to *uint32) bool {
	n, err := strconv.ParseUint(word, 0, 32)
	*to = uint32(n)
	return err == nil
}

// xmark returns the mark that the target MARK makes of the one before, by its option --set-xmark VALUE/MASK.
func xmark(now mark, option string) mark {
	first, second, _ := strings.Cut(option, "/")
	var value, mask uint32
	ok := markOf(first, &value) && markOf(second, &mask)
	now.value, now.set, now.unsure = now.value&^mask^value, true, now.unsure || !ok
	return now
}
