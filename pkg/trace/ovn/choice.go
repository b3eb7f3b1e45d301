package ovn

import (
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
)

// A Choice is a decision that OVN leaves to a hash of the packet.
type Choice struct {
	// Action is *ovnexpr.CTLB (Backends), *ovnexpr.Select (Members) or *ovnexpr.ForwardGroup (Ports): Index is into that list.
	Action ovnexpr.Action
	Index  int
	Of     int // the number of possibilities
}

// A Chooser picks one of a choice's possibilities: an index below Choice.Of. What lies outside means 0.
type Chooser func(Choice) int

// choose makes a choice. What OVN's own replies choose is left open.
func (w *walker) choose(a ovnexpr.Action, of int) int {
	c := Choice{Action: a, Of: of}
	if of > 1 && w.run.chooser != nil && !w.aside {
		if i := w.run.chooser(c); i >= 0 && i < of {
			c.Index = i
		}
	}
	if !w.aside {
		w.note(Note{Kind: Chosen, Action: a, Choice: len(w.run.path.Choices)})
		w.run.path.Choices = append(w.run.path.Choices, c)
	}
	return c.Index
}
