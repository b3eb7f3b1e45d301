// Package faults holds the tests that make every fault of the catalogue on a real
// lab, by the means it happens in life, find it with ovnctl doctor, mend it with
// ovnctl fix, and look by packets whether traffic flows again.
//
// Faults of one topic are in one file. The table in docs/checks/README.md is written from
// them.
package faults
