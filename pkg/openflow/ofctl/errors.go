package ofctl

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/escape"
)

// An Error is why ovs-ofctl refuses a flow.
type Error struct {
	Text           string // the flow
	Offset, Length int    // the place of the fault in it
	Msg            string // as ovs-ofctl says it
	Why            string // what ovs-ofctl logs about it; may be empty
}

func (e *Error) Error() string {
	if e.Why != "" {
		return e.Msg + ": " + e.Why
	}
	return e.Msg
}

// Caret returns two lines: the flow, or the part around the fault, and a marker below the fault.
func (e *Error) Caret() string { return escape.Caret(e.Text, e.Offset, e.Offset+e.Length) }

// fault refuses the whole argument.
func (a arg) fault(format string, args ...any) *Error {
	return &Error{Offset: a.at, Length: a.length(), Msg: fmt.Sprintf(format, args...)}
}

// bad refuses the value of the argument, or the argument if it has none.
func (a arg) bad(format string, args ...any) *Error {
	if a.value == "" {
		return a.fault(format, args...)
	}
	return &Error{Offset: a.valueAt, Length: len(a.value), Msg: fmt.Sprintf(format, args...)}
}

// invalid is how ovs-ofctl reports actions that do not go with the match, by the name of an OpenFlow error.
func (a arg) invalid(name, why string, args ...any) *Error {
	e := a.fault("actions are invalid with specified match (%s)", name)
	e.Why = fmt.Sprintf(why, args...)
	return e
}

// Names of OpenFlow errors.
const (
	inconsistent = "OFPBAC_MATCH_INCONSISTENT"
	badOutPort   = "OFPBAC_BAD_OUT_PORT"
	badArgument  = "OFPBAC_BAD_ARGUMENT"
	badSet       = "OFPBAC_BAD_SET_ARGUMENT"
)
