// Package faults tests every fault of the catalogue on a real lab, with packets.
//
// Each fault is caused as it happens in production, found with ovnctl doctor and repaired with ovnctl fix; packets then
// show whether traffic flows again. The tests have the build tag lab.
//
// Each file covers one topic. docs/checks/README.md has a table generated from them.
package faults
