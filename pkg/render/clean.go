package render

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes text that came from elsewhere safe to show on one line of a
// terminal: control characters, escape sequences, bidirectional overrides,
// invisible characters and broken UTF-8 come out as visible escapes such as
// \x1b or \u202e. Every text output passes its data through it.
func Clean(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		s = s[size:]
	}
	return b.String()
}

// CleanLines is [Clean] for text whose line breaks are wanted, such as an error
// with its hint.
func CleanLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = Clean(line)
	}
	return strings.Join(lines, "\n")
}

// clean reports whether s is shown as it is.
func clean(s string) bool {
	// Most of all text has no other characters.
	ascii := 0
	for ascii < len(s) && ' ' <= s[ascii] && s[ascii] <= '~' {
		ascii++
	}
	s = s[ascii:]
	for i, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
		if r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			return false
		}
	}
	return true
}

// ascii is s with each character outside of ASCII as an escape, for a stream
// whose locale is not UTF-8.
func ascii(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}
