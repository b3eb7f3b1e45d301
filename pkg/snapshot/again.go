//go:build !failpoints

package snapshot

import "time"

// againAfter is longer than the seconds that a change needs from the Northbound to the flows of a node that is not busy.
const againAfter = 3 * time.Second

// hurry is by how much a second look comes sooner than it should.
const hurry = 1
