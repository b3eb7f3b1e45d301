// Package escape makes text of others safe to show: names of a database, words of a server, lines of a dump.
package escape

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line makes text safe to show on one line of a terminal: control characters, escape sequences, bidirectional overrides,
// invisible characters and invalid UTF-8 become visible escapes such as \x1b or \u202e. What an error says of others goes through
// it, so that no name adds a line to it, such as a hint.
func Line(s string) string {
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

// Lines is [Line] for each of several texts.
func Lines(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = Line(text)
	}
	return out
}
