// Package facts derives from a snapshot what several checks and repairs need: uplinks, owners, placements, links,
// what is missing and what it should be.
//
// A fact is what the snapshot shows to be the case; what to do about it is up to the repairs. Nothing here changes
// anything.
package facts
