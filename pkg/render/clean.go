package render

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/ovnctl/ovnctl/pkg/escape"
)

// Clean is [escape.Line]: all text output passes its data through it.
func Clean(s string) string { return escape.Line(s) }

// CleanLines is [Clean] for text that keeps its line breaks, such as an error with its hint.
func CleanLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = Clean(line)
	}
	return strings.Join(lines, "\n")
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
