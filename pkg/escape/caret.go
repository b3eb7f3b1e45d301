package escape

import (
	"strings"
	"unicode/utf8"
)

// caretWidth bounds how much text Caret shows: load balancers make lines of many thousand characters.
const caretWidth = 100

// Caret returns two lines: a text, or what is around a part of it, and a marker below that part, from one byte to another.
func Caret(text string, from, to int) string {
	from, to = max(0, min(from, len(text))), min(to, len(text))
	first, last := 0, len(text)
	if last > caretWidth {
		first = max(0, min(from-caretWidth/2, last-caretWidth))
		last = first + caretWidth
	}
	to = max(from, min(to, last))
	width := max(1, utf8.RuneCountInString(printable(text[from:to])))
	mark := strings.Repeat(" ", utf8.RuneCountInString(printable(text[first:from]))) + "^" + strings.Repeat("~", width-1)
	return printable(text[first:last]) + "\n" + mark
}

// printable blanks control characters.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}
