//go:build !failpoints

package snapshot

import "time"

// againAfter is longer than a change takes from the Northbound to the flows of a node that is not busy.
const againAfter = 3 * time.Second

// hurry divides the time until the second sample.
const hurry = 1
