// Package desired compiles logical flows to the OpenFlow flows that ovn-controller wants installed for them on one
// chassis: its desired flows, from which it installs.
package desired
