// Package compare finds the differences between two states of a deployment: two captures, a capture and the live state,
// or any two of the sources that ovnctl reads.
//
// # Matching
//
// Rows are the same if their UUIDs are. Rows that were deleted and recreated have other UUIDs; those, and the rows of
// two deployments, are matched by what identifies them for people: a port by its name, a route by router, prefix and
// table, an ACL by what holds it, direction, priority and match. A table's strictest key comes first, so that of two
// rules the unchanged one finds its counterpart and the other is the changed one. References are compared by what they
// refer to, not by UUID.
//
// # What is no difference
//
// What changes by itself: counters, timestamps, sequence numbers, the state of management connections, flows that were
// learned from packets and expire. What is redundant: a row's list of rows that are compared themselves; the
// Southbound's copies of the Northbound; the interface of a removed port. Options.All includes the former.
//
// # What is not known
//
// What one side lacks is no difference: it is in Comparison.NotCompared, with the reason.
package compare
