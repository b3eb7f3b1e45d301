// Package faults holds the tests that make every fault of the catalogue on a real
// lab, by the means by which it happens in production, find it with ovnctl doctor,
// repair it with ovnctl fix, and send packets to see whether traffic flows again.
// Its tests have the build tag lab.
//
// Faults of one topic are in one file. The table in docs/checks/README.md is written from
// them.
package faults
