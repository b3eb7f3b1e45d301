package ovnexpr

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// quoted reads a double-quoted string with JSON escapes.
func (l *lexer) quoted() {
	start := l.pos
	l.pos++
	var b strings.Builder
	for {
		if l.pos >= len(l.in) {
			l.fail(Span{start, l.pos}, "Input ends inside quoted string.")
		}
		c := l.in[l.pos]
		l.pos++
		switch {
		case c == '"':
			l.tok = token{kind: quoted, text: b.String()}
			return
		case c == '\\':
			b.WriteString(l.escape())
		case c < ' ':
			l.fail(Span{l.pos - 1, l.pos}, "U+%04X must be escaped in quoted string.", c)
		default:
			b.WriteByte(c)
		}
	}
}

// escape reads what follows a backslash.
func (l *lexer) escape() string {
	start := l.pos - 1
	c := l.at(0)
	if l.pos < len(l.in) {
		l.pos++
	}
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 && c != 0 {
		return "\"\\/\b\f\n\r\t"[i : i+1]
	}
	if c != 'u' {
		l.fail(Span{start, l.pos}, "Bad escape \\%c in quoted string.", c)
	}
	r := l.codeUnit(start)
	if utf16.IsSurrogate(r) {
		if l.at(0) != '\\' || l.at(1) != 'u' {
			l.fail(Span{start, l.pos}, "Malformed escaped surrogate pair in quoted string.")
		}
		l.pos += 2
		if r = utf16.DecodeRune(r, l.codeUnit(start)); r == utf8.RuneError {
			l.fail(Span{start, l.pos}, "Malformed escaped surrogate pair in quoted string.")
		}
	}
	if r == 0 {
		l.fail(Span{start, l.pos}, "Null bytes not supported in quoted strings.")
	}
	return string(r)
}

// codeUnit reads the four digits of \u.
func (l *lexer) codeUnit(start int) rune {
	if l.pos+4 <= len(l.in) {
		if n, err := strconv.ParseUint(l.in[l.pos:l.pos+4], 16, 16); err == nil {
			l.pos += 4
			return rune(n)
		}
	}
	l.fail(Span{start, l.pos}, "Malformed \\u escape in quoted string.")
	return 0
}

// quote writes a string as the lexer reads it.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		c := s[i]
		if n := strings.IndexByte("\"\\\b\f\n\r\t", c); n >= 0 {
			b.WriteByte('\\')
			b.WriteByte(`"\bfnrt`[n])
		} else if c < ' ' {
			b.WriteString(`\u00`)
			b.WriteByte("0123456789abcdef"[c>>4])
			b.WriteByte("0123456789abcdef"[c&15])
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
