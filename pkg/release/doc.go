// Package release knows the releases of OVN and Open vSwitch: how their versions compare, and what changed in which.
//
// This is the place to add a release of OVN:
//
//   - tables.go: the OpenFlow tables of ovn-controller, by release ([Layouts]) and with the release that brought each;
//   - bits.go: the bits of reg10, ct_mark and ct_label;
//   - changes.go: the rest of what ovnctl does differently by release.
//
// CONTRIBUTING.md has the whole list of steps.
package release
