// Package facts derives from a snapshot what several checks and repairs need: uplinks, owners, placements, links.
//
// A fact is computed from what was read, and remembered beside it. Nothing here reads a source of its own accord or
// changes anything.
package facts
