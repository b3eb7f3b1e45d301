package ovnexpr

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// ErrNotUnderstood is wrapped by errors about names that this package does not know: a symbol, a function or an action
// that a later release of OVN may have.
var ErrNotUnderstood = errors.New("not understood")

// A Span is a range of bytes of the text that was parsed.
type Span struct{ Start, End int }

// Range returns the span itself: what embeds a Span can say where it stands.
func (s Span) Range() Span { return s }

// A SyntaxError says what is wrong with a match or with actions, in the words of ovn-controller where it has some.
type SyntaxError struct {
	Text string // what was parsed
	Span        // the offending part
	Msg  string

	unknown bool
}

// Error returns the message alone; [SyntaxError.Caret] shows the place.
func (e *SyntaxError) Error() string { return e.Msg }

// Unwrap returns [ErrNotUnderstood] for a name that is unknown.
func (e *SyntaxError) Unwrap() error {
	if e.unknown {
		return ErrNotUnderstood
	}
	return nil
}

// caretWidth bounds what Caret shows of a text: load balancers make lines of many thousand characters.
const caretWidth = 100

// Caret returns two lines: the text, or the part of it around the error, and a mark below the offending part.
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

// printable replaces what would move the cursor.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

// recoverSyntax turns the panic of a parser into its error.
func recoverSyntax(err *error) {
	switch e := recover().(type) {
	case nil:
	case *SyntaxError:
		*err = e
	default:
		panic(e)
	}
}
