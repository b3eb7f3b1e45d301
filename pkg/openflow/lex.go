package openflow

import (
	"math/bits"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Bounds on input; no reply or dump of a real switch comes near them.
const (
	maxDepth   = 64      // of nested actions
	maxActions = 1 << 17 // bytes of an action list
)

// A SyntaxError is a fault in a text, with its place.
type SyntaxError = packet.SyntaxError

func fault(offset int, msg string) error {
	return &SyntaxError{Offset: offset, Msg: msg}
}

// A word is an unparsed action or argument: name, name:body or name(body), optionally with ->dst.
type word struct {
	name, body, dst string
	form            form
	offset          int // of the word in the whole text
	bodyAt          int // of the body in the whole text
}

// A cursor walks over a text. base is its offset in the whole text, so that errors name offsets in the caller's text.
type cursor struct {
	text string
	pos  int
	base int
}

func (c *cursor) skip(chars string) {
	for c.pos < len(c.text) && strings.IndexByte(chars, c.text[c.pos]) >= 0 {
		c.pos++
	}
}

func (c *cursor) done() bool { return c.pos >= len(c.text) }

// until moves to the next stop character outside quotes and parentheses, or to the end, and returns what was passed.
func (c *cursor) until(stop string) (string, error) {
	start, depth := c.pos, 0
	for ; c.pos < len(c.text); c.pos++ {
		ch := c.text[c.pos]
		switch {
		case ch == '"':
			n := packet.QuotedLen(c.text[c.pos:])
			if n == 0 {
				return "", fault(c.base+c.pos, "unterminated quoted name")
			}
			c.pos += n - 1
		case depth == 0 && strings.IndexByte(stop, ch) >= 0:
			return c.text[start:c.pos], nil
		case ch == '(':
			depth++
		case ch == ')':
			if depth == 0 {
				return "", fault(c.base+c.pos, "unexpected )")
			}
			depth--
		}
	}
	if depth > 0 {
		return "", fault(c.base+start, "missing )")
	}
	return c.text[start:], nil
}

// words splits an action list.
func words(text string, base int) ([]word, error) {
	c := cursor{text: text, base: base}
	var list []word
	for {
		c.skip(", \t\r\n")
		if c.done() {
			return list, nil
		}
		w, err := c.word()
		if err != nil {
			return nil, err
		}
		list = append(list, w)
	}
}

func (c *cursor) word() (word, error) {
	start := c.pos
	w := word{offset: c.base + start}
	if c.text[c.pos] == '"' {
		_, err := c.until(", \t\r\n")
		w.name = c.text[start:c.pos]
		return w, err
	}
	for c.pos < len(c.text) && strings.IndexByte(":=(), \t\r\n", c.text[c.pos]) < 0 {
		c.pos++
	}
	w.name = c.text[start:c.pos]
	if w.name == "" {
		return w, fault(w.offset, "action expected")
	}
	if c.done() {
		return w, nil
	}
	switch c.text[c.pos] {
	case ':', '=':
		c.pos++
		w.form, w.bodyAt = formColon, c.base+c.pos
		body, err := c.until(", \t\r\n")
		if err != nil {
			return w, err
		}
		w.body, w.dst = cutArrow(body)
	case '(':
		c.pos++
		w.form, w.bodyAt = formParen, c.base+c.pos
		body, err := c.group()
		if err != nil {
			return w, err
		}
		w.body = body
		if rest, ok := strings.CutPrefix(c.text[c.pos:], "->"); ok {
			c.pos += len(c.text[c.pos:]) - len(rest)
			if w.dst, err = c.until(", \t\r\n"); err != nil {
				return w, err
			}
		}
	}
	return w, nil
}

// group returns the text up to the ) that closes the preceding (, and moves past it.
func (c *cursor) group() (string, error) {
	start := c.pos
	body, err := c.until(")")
	if c.done() {
		return "", fault(c.base+start-1, "missing )")
	}
	c.pos++
	return body, err
}

// cutArrow splits "value->dst". An arrow in a quoted name or with nothing after it is not one.
func cutArrow(s string) (before, after string) {
	if i := strings.LastIndex(s, "->"); i >= 0 && i+2 < len(s) && !strings.Contains(s[i:], `"`) {
		return s[:i], s[i+2:]
	}
	return s, ""
}

// read reads a number that must fit the type of to.
func read[T uint8 | uint16 | uint32 | uint64](to *T, s string, offset int) error {
	n, err := number(s, bits.Len64(uint64(^T(0))), offset)
	*to = T(n)
	return err
}

// number reads an unsigned number of at most bits bits: decimal, or hexadecimal after 0x.
func number(s string, bits, offset int) (uint64, error) {
	if n, ok := fewDigits(s); ok && n>>min(bits, 63) == 0 {
		return n, nil
	}
	base, digits := 10, s
	if rest, ok := strings.CutPrefix(s, "0x"); ok {
		base, digits = 16, rest
	}
	n, err := strconv.ParseUint(digits, base, bits)
	if err != nil || strings.HasPrefix(digits, "+") {
		return 0, fault(offset, "bad number "+strconv.Quote(s))
	}
	return n, nil
}

// fewDigits reads a decimal number no longer than most.
func fewDigits(s string) (n uint64, ok bool) {
	if s == "" || len(s) > 18 {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + uint64(s[i]-'0')
	}
	return n, true
}
