package doctor

import (
	"errors"

	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// Reasons of findings that are Unknown, beside others.
const (
	NeedsSample  = "needs-sample" // two samples; the run took one
	NotInCapture = "not-in-capture"
)

// unknownReason is the Reason of what could not be determined because of err.
func unknownReason(err error) string {
	switch {
	case errors.Is(err, snapshot.ErrNoSample):
		return NeedsSample
	case errors.Is(err, snapshot.ErrUnavailable):
		return NotInCapture
	}
	return ""
}
