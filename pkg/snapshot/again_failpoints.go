//go:build failpoints

package snapshot

import "time"

// In builds that interrupt a repair hundreds of times, the fault is known to persist, and counters to run.
const (
	againAfter = 300 * time.Millisecond
	hurry      = 3
)
