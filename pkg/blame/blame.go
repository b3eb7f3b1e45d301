// Package blame finds in a record when an answer changed.
package blame

import (
	"time"

	"github.com/ovnctl/ovnctl/pkg/compare"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/journey"
)

// The JSON of a blame; docs/json.md describes it.
type (
	// A Document says when what becomes of a packet changed: kind Blame.
	Document struct {
		document.Envelope
		From    time.Time       `json:"from"` // the first moment that was looked at
		To      time.Time       `json:"to"`
		Moments int             `json:"moments"` // at which something changed between the two, anywhere
		Looked  int             `json:"looked"`  // of them, and of the two, at so many the packet was traced
		Before  journey.Verdict `json:"before"`  // the verdict at the first moment
		After   journey.Verdict `json:"after"`
		Changes []Change        `json:"changes"` // in order; empty if nothing is seen to change
	}

	// A Change is when the verdict changed.
	Change struct {
		Time time.Time `json:"time"` // the first moment with the new verdict
		compare.Paths
	}
)

// Find returns the indexes among n moments, in order, at which the answer is another than at the one before, and at how many
// it asked. It asks at grid moments and the last, evenly spaced, and between two that differ by halves. An answer
// that came and went between two moments of the grid is not seen.
func Find[T comparable](n, grid int, answer func(i int) (T, error)) (changes []int, asked int, err error) {
	known := map[int]T{}
	at := func(i int) T {
		if _, ok := known[i]; !ok && err == nil {
			known[i], err = answer(i)
		}
		return known[i]
	}
	var between func(low, high int)
	between = func(low, high int) { // whose answers differ
		if err != nil {
			return
		}
		if high-low == 1 {
			changes = append(changes, high)
			return
		}
		middle := low + (high-low)/2
		if at(middle) != at(low) {
			between(low, middle)
		}
		if at(middle) != at(high) {
			between(middle, high)
		}
	}
	steps := max(1, min(grid, n-1))
	for i := range steps {
		low, high := i*(n-1)/steps, (i+1)*(n-1)/steps
		if n > 0 && at(low) != at(high) {
			between(low, high)
		}
	}
	if n == 1 {
		at(0)
	}
	return changes, len(known), err
}
