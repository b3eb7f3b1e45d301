// Package facts derives from a snapshot what several checks and repairs need: uplinks, owners, placements, links, what is
// missing and what it should be.
//
// A fact says what is the case, as the snapshot can read it; what to do about it is for the repairs. Nothing here changes anything.
package facts
