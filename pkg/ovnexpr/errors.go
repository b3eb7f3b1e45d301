package ovnexpr

import (
	"errors"

	"github.com/ovnctl/ovnctl/pkg/escape"
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

// Caret returns two lines: the text, or the part around the error, and a marker below the offending part.
func (e *SyntaxError) Caret() string { return escape.Caret(e.Text, e.Start, e.End) }

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
