// Package compare says what differs between two states of a deployment: two
// captures, a capture and what is live, or any two of the sources that ovnctl
// reads.
//
// # Who is who
//
// A row is the same row where its UUID is the same. Rows that were deleted and
// made anew have other UUIDs; those, and the rows of two deployments, are joined
// by what tells them apart for people: a port by its name, a route by router,
// prefix and table, an ACL by what holds it, direction, priority and match. The
// strictest of a table's keys comes first, so that of two rules the one that is
// unchanged finds its like, and the other one is what has changed. References
// are compared by whom they mean, not by UUIDs.
//
// # What is no difference
//
// What moves by itself: counters, timestamps, sequence numbers, the state of
// management connections, flows that were learned from packets and go by
// themselves. What says the same again: a row's list of the rows it holds, where
// those are compared themselves; the Southbound's copies of what the Northbound
// says; the interface of a port that is gone. Options.All brings the former back.
//
// # What is not known
//
// What one side lacks is no difference: it is in Comparison.NotCompared, with
// the reason.
package compare
