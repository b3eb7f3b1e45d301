package ovnexpr

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A kind is the kind of a token. Punctuation is its own kind.
type kind string

const (
	end        kind = "end of input"
	identifier kind = "identifier"
	quoted     kind = "string"
	integer    kind = "integer"
	macro      kind = "$name"
	group      kind = "@name"
	template   kind = "^name"
)

// A token is a piece of text and its meaning.
type token struct {
	kind  kind
	text  string   // identifiers, names without their prefix, unescaped strings
	value Constant // of integers
	Span
}

// A lexer splits a text into tokens. Errors are *SyntaxError panics.
type lexer struct {
	in    string
	pos   int
	tok   token
	depth int // of parentheses or nested actions

	check   *annotator // set if a match is checked while parsed, to find the first of several errors
	negated bool       // inside an odd number of negations
}

func newLexer(in string) *lexer {
	l := &lexer{in: in}
	l.next()
	return l
}

// fail reports an error in a part of the text.
func (l *lexer) fail(at Span, format string, args ...any) {
	panic(&SyntaxError{Text: l.in, Span: at, Msg: fmt.Sprintf(format, args...)})
}

// syntax reports the current token. The message may be empty.
func (l *lexer) syntax(format string, args ...any) { panic(l.syntaxError(format, args...)) }

// unknown reports the current token as an unknown name.
func (l *lexer) unknown(format string, args ...any) {
	e := l.syntaxError(format, args...)
	e.unknown = true
	panic(e)
}

func (l *lexer) syntaxError(format string, args ...any) *SyntaxError {
	return syntaxAt(l.in, l.tok.Span, format, args...)
}

func syntaxAt(text string, at Span, format string, args ...any) *SyntaxError {
	msg := "Syntax error at end of input"
	if at.Start < len(text) {
		msg = "Syntax error at `" + text[at.Start:at.End] + "'"
	}
	if detail := fmt.Sprintf(format, args...); detail != "" {
		msg += " " + detail
	}
	return &SyntaxError{Text: text, Span: at, Msg: msg + "."}
}

// match skips the current token if it is of kind k.
func (l *lexer) match(k kind) bool {
	if l.tok.kind != k {
		return false
	}
	l.next()
	return true
}

// matchName skips the current token if it is that identifier.
func (l *lexer) matchName(name string) bool {
	if l.tok.kind != identifier || l.tok.text != name {
		return false
	}
	l.next()
	return true
}

// force skips a required token.
func (l *lexer) force(k kind) {
	if !l.match(k) {
		if k == end {
			l.syntax("expecting end of input")
		}
		l.syntax("expecting `%s'", k)
	}
}

// peek returns the sign after the current token if it is one that tells actions and functions apart, else "".
func (l *lexer) peek() kind {
	pos := l.pos
	l.skipSpace()
	rest := l.in[l.pos:]
	l.pos = pos
	for _, k := range []kind{"<->", "==", "=", "(", "[", ";"} {
		if strings.HasPrefix(rest, string(k)) {
			return k
		}
	}
	return ""
}

// next reads the next token.
func (l *lexer) next() {
	l.skipSpace()
	start := l.pos
	l.tok = token{}
	switch c := l.at(0); {
	case start >= len(l.in):
		l.tok.kind = end
	case c == '"':
		l.quoted()
	case isDigit(c), c == ':' && l.at(1) == ':', isHex(c) && l.colonAfterHex():
		l.integer()
	case c == '$' || c == '@' || c == '^':
		l.pos++
		if !isName(l.at(0)) {
			l.fail(Span{start, l.pos}, "`%c' must be followed by a valid identifier.", c)
		}
		l.tok = token{kind: kind(c) + "name", text: l.name()}
	case c != '.' && isName(c):
		l.tok = token{kind: identifier, text: l.name()}
	default:
		l.tok.kind = l.punctuation(start)
	}
	l.tok.Span = Span{start, l.pos}
}

func (l *lexer) at(i int) byte {
	if l.pos+i < len(l.in) {
		return l.in[l.pos+i]
	}
	return 0
}

// skipSpace skips white space and comments.
func (l *lexer) skipSpace() {
	for l.pos < len(l.in) {
		rest := l.in[l.pos:]
		switch {
		case strings.IndexByte(" \t\n\r\v\f", rest[0]) >= 0:
			l.pos++
		case strings.HasPrefix(rest, "//"):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			l.pos += n
		case strings.HasPrefix(rest, "/*"):
			n := strings.Index(rest[2:], "*/")
			if n < 0 || strings.Contains(rest[2:2+n], "\n") {
				l.fail(Span{l.pos, l.pos + 2}, "`/*' without matching `*/'.")
			}
			l.pos += n + 4
		default:
			return
		}
	}
}

// name reads an identifier.
func (l *lexer) name() string {
	start := l.pos
	for isName(l.at(0)) || isDigit(l.at(0)) {
		l.pos++
	}
	return l.in[start:l.pos]
}

// punctuations, longest first.
var punctuations = []kind{"<->", "==", "!=", "<=", ">=", "&&", "||", "..", "--",
	"(", ")", "{", "}", "[", "]", "<", ">", "!", ",", ";", "=", ":", "-"}

func (l *lexer) punctuation(start int) kind {
	for _, p := range punctuations {
		if strings.HasPrefix(l.in[start:], string(p)) {
			l.pos += len(p)
			return p
		}
	}
	at := Span{start, start + 1}
	switch c := l.in[start]; {
	case c == '/':
		l.fail(at, "`/' is only valid as part of `//' or `/*'.")
	case c == '&' || c == '|':
		l.fail(at, "`%c' is only valid as part of `%c%c'.", c, c, c)
	case c == '.':
		l.fail(at, "`.' is only valid as part of `..' or a number.")
	case c > ' ' && c < 0x7f:
		l.fail(at, "Invalid character `%c' in input.", c)
	default:
		l.fail(at, "Invalid byte 0x%x in input.", c)
	}
	return ""
}

// colonAfterHex tells an Ethernet or IPv6 address from an identifier.
func (l *lexer) colonAfterHex() bool {
	i := 0
	for isHex(l.at(i)) {
		i++
	}
	return l.at(i) == ':'
}

// integer reads a number or an address, and any mask after it.
func (l *lexer) integer() {
	start := l.pos
	c := l.number()
	if l.at(0) == '/' && l.at(1) != '/' && l.at(1) != '*' {
		l.pos++
		l.mask(&c, start)
	}
	c.Span = Span{start, l.pos}
	l.tok = token{kind: integer, value: c}
}

// number reads one number or address without a mask.
func (l *lexer) number() Constant {
	start, dotted := l.pos, false
	for {
		c := l.at(0)
		switch {
		case isDigit(c), isLetter(c), c == ':' && !dotted:
		case c == '.' && l.at(1) != '.':
			dotted = true
		default:
			return l.constant(Span{start, l.pos})
		}
		l.pos++
	}
}

// constant interprets the number in a part of the text.
func (l *lexer) constant(at Span) Constant {
	s := l.in[at.Start:at.End]
	switch {
	case s == "":
		l.fail(at, "Integer constant expected.")
	case strings.Trim(s, "0123456789") == "":
		if s[0] == '0' && len(s) > 1 {
			l.fail(at, "Decimal constants must not have leading zeros.")
		}
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			l.fail(at, "Decimal constants must be less than 2**64.")
		}
		return Constant{Value: packet.Uint(n)}
	case len(s) > 1 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X'):
		return l.hex(at, s[2:])
	}
	if mac, ok := packet.ParseMAC(s); ok && len(s) == 17 {
		return Constant{Value: mac, Format: Ethernet}
	}
	if v4, ok := parseIPv4(s); ok {
		return Constant{Value: packet.Uint(uint64(v4)), Format: IPv4}
	}
	addr, err := netip.ParseAddr(s)
	if err != nil || !addr.Is6() {
		l.fail(at, "Invalid numeric constant.")
	}
	return Constant{Value: packet.FromAddr(addr), Format: IPv6}
}

// mostBits is how long a number in hexadecimal digits may be in OVN.
const mostBits = 1024

func (l *lexer) hex(at Span, digits string) Constant {
	if digits == "" {
		l.fail(at, "Hex digits expected following 0%c.", l.in[at.Start+1])
	}
	digits = strings.TrimLeft(digits, "0")
	c := Constant{Format: Hex}
	for i := range len(digits) {
		d, err := strconv.ParseUint(digits[i:i+1], 16, 8)
		if err != nil {
			l.fail(at, "Invalid syntax in hexadecimal constant.")
		}
		if i >= mostBits/4 {
			l.fail(at, "Hexadecimal constant requires more than %d bits.", mostBits)
		}
		v := c.Value
		c.Value = packet.Value{Hi: v.Hi<<4 | v.Lo>>60, Lo: v.Lo<<4 | d}
	}
	if n := len(digits) - 128/4; n > 0 {
		c.High = strings.ToLower(digits[:n])
	}
	return c
}

// mask reads what follows the slash after c.
func (l *lexer) mask(c *Constant, start int) {
	at := Span{start, l.pos}
	m := l.number()
	at.End = l.pos
	c.Masked, c.MaskFormat, c.MaskHigh = true, m.Format, m.High
	width := c.Format.bits()
	switch {
	case c.Format == m.Format:
		c.Mask = m.Value
	case m.Format == Decimal && width > 0 && c.Format != Ethernet && m.Value.Lo <= uint64(width):
		n := int(m.Value.Lo)
		c.Mask = packet.Ones(n).Shl(width - n)
	case c.Format == Decimal && m.Format == Hex && c.Value.IsZero():
		c.Mask = m.Value
	default:
		l.fail(at, "Value and mask have incompatible formats.")
	}
}

func parseIPv4(s string) (uint32, bool) {
	parts := strings.Split(s, ".")
	if len(parts) != 4 {
		return 0, false
	}
	var v uint32
	for _, p := range parts {
		n, err := strconv.ParseUint(p, 10, 8)
		if err != nil || len(p) > 3 {
			return 0, false
		}
		v = v<<8 | uint32(n)
	}
	return v, true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// isName reports whether c can start an identifier.
func isName(c byte) bool { return isLetter(c) || c == '_' || c == '.' }
