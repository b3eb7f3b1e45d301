// Package faults tests every fault of the catalogue on a real lab, with packets.
//
// Each is made by the means by which it happens in production, found with ovnctl doctor and repaired with ovnctl fix;
// then packets show whether traffic flows again. The tests have the build tag lab.
//
// Faults of one topic are in one file. The table in docs/checks/README.md is written from
// them.
package faults
