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

// Message returns an error with its hints as the stream can show it: clean, and each line broken at blanks to fit, but those with a
// command to copy.
func (s Style) Message(text string) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		line = Clean(line)
		if s.Width <= 0 || strings.Contains(line, "ovnctl ") || strings.Contains(line, "kubectl ") {
			out = append(out, line)
			continue
		}
		const hang = "  "
		for i, part := range wrap(Line{{Text: line}}, max(s.Width, narrowest), max(s.Width-len(hang), narrowest)) {
			out = append(out, when(i > 0, hang)+Style{}.painted(part))
		}
	}
	return strings.Join(out, "\n")
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
