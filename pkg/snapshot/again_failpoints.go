//go:build failpoints

package snapshot

import "time"

// Where a repair is cut off hundreds of times, the fault is known to last, and counters to run.
const (
	againAfter = 300 * time.Millisecond
	hurry      = 3
)
