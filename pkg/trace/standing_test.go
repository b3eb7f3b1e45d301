package trace

import (
	"testing"

	"github.com/ovnctl/ovnctl/pkg/journey"
)

// What disagrees counts once it has been there for some time, and begins anew once it was away.
func TestStanding(t *testing.T) {
	var s Standing
	drift := suspicion{}
	drift.Kind, drift.Node, drift.Stage = journey.ControllerBehind, "node1", "ls_in_acl"
	other := drift
	other.Node = "node2"
	count := func(found ...suspicion) int { return len(s.lasting(found)) }
	older := func() {
		for key, since := range s.since {
			s.since[key] = since.Add(-settling)
		}
	}
	if n := count(drift); n != 0 {
		t.Errorf("%d at once", n)
	}
	older()
	if n := count(drift, other); n != 1 {
		t.Errorf("%d of one that lasts and a new one", n)
	}
	older()
	if n := count(other); n != 1 {
		t.Errorf("%d of the other", n)
	}
	if n := count(drift); n != 0 {
		t.Errorf("%d that was away", n)
	}
}
