package logical

import (
	"github.com/ovnctl/ovnctl/pkg/expr"
)

// A Choice is a decision that OVN leaves to a hash of the packet.
type Choice struct {
	// Action is *expr.CTLB (Backends), *expr.Select (Members) or *expr.ForwardGroup (Ports): Index is into that list.
	Action expr.Action
	Index  int
	Of     int // the number of possibilities
}

// A Chooser picks one of a choice's possibilities: an index below Choice.Of. What lies outside means 0.
type Chooser func(Choice) int
