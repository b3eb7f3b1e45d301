package loadbalancer

import (
	"testing"
	"time"
)

// A second is rounding; the timeout of an unused connection runs down by the time between the samples.
func TestInUse(t *testing.T) {
	for _, c := range []struct {
		was, is int
		elapsed time.Duration
		want    bool
	}{
		{30, 29, 2 * time.Second, true},
		{29, 30, 2 * time.Second, true},
		{30, 28, 2 * time.Second, false},
		{30, 29, 3 * time.Second, true},
		{30, 27, 3 * time.Second, false},
		{30, 23, 15 * time.Second, true}, // a packet every ten seconds
		{30, 15, 15 * time.Second, false},
	} {
		if got := inUse(c.was, c.is, c.elapsed); got != c.want {
			t.Errorf("%d seconds, %d after %v: %v, want %v", c.was, c.is, c.elapsed, got, c.want)
		}
	}
}
