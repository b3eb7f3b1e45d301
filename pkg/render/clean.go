package render

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes external text safe to show on one line of a terminal: control characters, escape sequences,
// bidirectional overrides, invisible characters and invalid UTF-8 become visible escapes such as \x1b or \u202e. All
// text output passes its data through it.
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

// CleanLines is [Clean] for text that keeps its line breaks, such as an error with its hint.
func CleanLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = Clean(line)
	}
	return strings.Join(lines, "\n")
}

// clean reports whether s is shown unchanged.
func clean(s string) bool {
	// Most text has only these characters.
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

// ascii returns s with non-ASCII characters escaped, for a stream whose locale is not UTF-8.
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
