package ovnexpr

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// ErrNotUnderstood is wrapped by errors about names this package does not know: a symbol, function or action that a
// later release of OVN may have.
var ErrNotUnderstood = errors.New("not understood")

// A Span is a byte range of the parsed text.
type Span struct{ Start, End int }

// Range returns the span: types that embed one can report their place.
func (s Span) Range() Span { return s }

// A SyntaxError describes a fault in a match or in actions, in ovn-controller's words where it has any.
type SyntaxError struct {
	Text string // the parsed text
	Span        // the offending part
	Msg  string

	unknown bool
}

// Error returns only the message; [SyntaxError.Caret] shows the place.
func (e *SyntaxError) Error() string { return e.Msg }

// Unwrap returns [ErrNotUnderstood] for an unknown name.
func (e *SyntaxError) Unwrap() error {
	if e.unknown {
		return ErrNotUnderstood
	}
	return nil
}

// caretWidth bounds how much text Caret shows: load balancers make lines of many thousand characters.
const caretWidth = 100

// Caret returns two lines: the text, or the part around the error, and a marker below the offending part.
func (e *SyntaxError) Caret() string {
	from, to := max(0, min(e.Start, len(e.Text))), min(e.End, len(e.Text))
	first, last := 0, len(e.Text)
	if last > caretWidth {
		first = max(0, min(from-caretWidth/2, last-caretWidth))
		last = first + caretWidth
	}
	to = max(from, min(to, last))
	width := max(1, utf8.RuneCountInString(printable(e.Text[from:to])))
	mark := strings.Repeat(" ", utf8.RuneCountInString(printable(e.Text[first:from]))) + "^" + strings.Repeat("~", width-1)
	return printable(e.Text[first:last]) + "\n" + mark
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

// recoverSyntax turns a parser's panic into its error.
func recoverSyntax(err *error) {
	switch e := recover().(type) {
	case nil:
	case *SyntaxError:
		*err = e
	default:
		panic(e)
	}
}
