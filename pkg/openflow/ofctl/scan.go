package ofctl

import (
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

const space = " \t\r\n"

// An arg is a key with its value, if any: tp_dst=80, output:1, ct(commit).
type arg struct {
	key, value  string
	at, valueAt int  // of key and value in the flow
	sep         byte // ':', '=' or '(' between them; 0 if there is no value
}

// String is the argument in the form that package openflow reads.
func (a arg) String() string {
	switch a.sep {
	case 0:
		return a.key
	case '(':
		missing := strings.Count(a.value, "(") - strings.Count(a.value, ")")
		return strings.ToLower(a.key) + "(" + a.value + strings.Repeat(")", max(0, missing)+1)
	}
	return strings.ToLower(a.key) + ":" + a.value
}

// length is that of the whole argument's text.
func (a arg) length() int {
	if a.value == "" {
		return len(a.key)
	}
	return a.valueAt + len(a.value) - a.at
}

// args splits a list at commas and white space outside parentheses. base is the list's offset in the flow.
func args(text string, base int) []arg {
	var list []arg
	for pos := 0; ; {
		pos += len(text[pos:]) - len(strings.TrimLeft(text[pos:], ","+space))
		if pos == len(text) {
			return list
		}
		a := arg{at: base + pos}
		end := pos + length(text[pos:], ":=(,"+space)
		a.key, pos = text[pos:end], min(end+1, len(text))
		a.valueAt = base + end
		if end < len(text) {
			stop := "," + space
			switch text[end] {
			case '(':
				stop = ")"
				fallthrough
			case ':', '=':
				a.sep, a.valueAt = text[end], base+pos
				n := valueLength(text[pos:], stop)
				if a.sep == '(' && strings.HasPrefix(text[pos+n:], ")->") {
					n += length(text[pos+n:], ","+space)
				}
				a.value, pos = text[pos:pos+n], min(pos+n+1, len(text))
			}
		}
		list = append(list, a)
	}
}

// length is how much of s is before any of the stop characters.
func length(s, stop string) int {
	if i := strings.IndexAny(s, stop); i >= 0 {
		return i
	}
	return len(s)
}

// valueLength is length outside parentheses in s. A missing closing parenthesis ends with the text.
func valueLength(s, stop string) int {
	depth := 0
	for i := range len(s) {
		switch {
		case depth == 0 && strings.IndexByte(stop, s[i]) >= 0:
			return i
		case s[i] == '(':
			depth++
		case s[i] == ')' && depth > 0:
			depth--
		}
	}
	return len(s)
}

// tokens splits the value at any of the characters.
func (a arg) tokens(chars string) []string {
	return strings.FieldsFunc(a.value, func(r rune) bool { return strings.ContainsRune(chars, r) })
}

// cInteger reads a number as strtoull(3) does with base 0, and returns the text behind it; ok is false if there is none.
func cInteger(s string) (n uint64, rest string, ok, overflow bool) {
	s = strings.TrimLeft(s, space+"\v\f")
	negative := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative, s = s[0] == '-', s[1:]
	}
	base := uint64(10)
	switch {
	case len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') && hexDigit(s[2]) >= 0:
		base, s = 16, s[2:]
	case s != "" && s[0] == '0':
		base = 8
	}
	for s != "" {
		d := hexDigit(s[0])
		if d < 0 || uint64(d) >= base {
			break
		}
		hi, lo := bits.Mul64(n, base)
		sum, carry := bits.Add64(lo, uint64(d), 0)
		overflow = overflow || hi != 0 || carry != 0
		n, s, ok = sum, s[1:], true
	}
	if negative {
		n = -n
	}
	return n, s, ok, overflow
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// decimal reads a number as ports and tables are given.
func decimal(s string) (uint64, bool) {
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimLeft(s, space), "+"), 10, 32)
	return n, err == nil
}

// leading reads the decimal number at the start of s, as atoi(3) does: 0 if there is none.
func leading(s string) int64 {
	s = strings.TrimLeft(s, space)
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || end == 0 && (s[end] == '-' || s[end] == '+')) {
		end++
	}
	n, _ := strconv.ParseInt(s[:end], 10, 64)
	return int64(int32(n))
}

// small reads a number of a few bits.
func (a arg) small(name string, width int) (uint64, *Error) {
	n, rest, ok, overflow := cInteger(a.value)
	if !ok || overflow || rest != "" || n > math.MaxInt32 || n>>width != 0 {
		return 0, a.bad("invalid %s \"%s\"", name, a.value)
	}
	return n, nil
}

// number reads a number of up to 64 bits.
func (a arg) number() (uint64, *Error) {
	if a.value == "" {
		return 0, a.fault("missing required numeric argument")
	}
	n, rest, _, overflow := cInteger(a.value)
	if overflow || rest != "" {
		return 0, a.bad("invalid numeric format %s", a.value)
	}
	return n, nil
}

// word reads a number of 32 bits. Open vSwitch before 3.5 takes larger ones, too, and forgets the rest.
func (a arg) word() (uint64, *Error) {
	n, err := a.number()
	if err == nil && n > math.MaxUint32 {
		err = a.bad("invalid numeric format %s", a.value)
	}
	return n, err
}

// integer reads a number of so many bytes, decimal, octal or hexadecimal, and returns the text behind it.
func integer(s string, bytes int) (v packet.Value, rest string, ok, tooLarge bool) {
	if !strings.HasPrefix(s, "0x") && !strings.HasPrefix(s, "0X") {
		n, rest, ok, overflow := cInteger(s)
		return packet.Uint(n), rest, ok && !overflow, overflow || ok && bytes < 8 && n>>(8*bytes) != 0
	}
	s = s[2:]
	digits := 0
	for {
		s = strings.TrimLeft(s, space)
		if s == "" || hexDigit(s[0]) < 0 {
			return v, s, true, digits > 2*bytes
		}
		v = v.Shl(4).Or(packet.Uint(uint64(hexDigit(s[0]))))
		if digits > 0 || s[0] != '0' {
			digits++
		}
		s = s[1:]
	}
}

// A scanner reads a text by its parts, as sscanf(3) does.
type scanner struct {
	text string
	ok   bool
}

func scan(s string) *scanner { return &scanner{s, true} }

// lit passes a text.
func (c *scanner) lit(s string) *scanner {
	if !strings.HasPrefix(c.text, s) {
		c.ok = false
	}
	c.text = strings.TrimPrefix(c.text, s)
	return c
}

// blank passes white space.
func (c *scanner) blank() *scanner {
	c.text = strings.TrimLeft(c.text, space)
	return c
}

// num passes a number and keeps its low bits; base 0 is told by the number's own prefix.
func (c *scanner) num(base, width int, to *uint64) *scanner {
	c.blank()
	s := c.text
	if s != "" && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	prefixed := len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X') && hexDigit(s[2]) >= 0
	switch {
	case prefixed && (base == 0 || base == 16):
		base, s = 16, s[2:]
	case base == 0 && strings.HasPrefix(s, "0"):
		base = 8
	case base == 0:
		base = 10
	}
	var n uint64
	start := s
	for s != "" && hexDigit(s[0]) >= 0 && hexDigit(s[0]) < base {
		n = n*uint64(base) + uint64(hexDigit(s[0]))
		s = s[1:]
	}
	if len(s) == len(start) {
		c.ok = false
		return c
	}
	if strings.HasPrefix(c.text, "-") {
		n = -n
	}
	*to, c.text = n&(^uint64(0)>>(64-width)), s
	return c
}

// done reports whether all was passed, and nothing is left.
func (c *scanner) done() bool { return c.ok && c.text == "" }
