// Package vitals reads the numbers of a deployment that tell over time how it does: how far ovn-northd and the chassis are,
// the members of RAFT clusters, OVS datapaths and connection tracking.
package vitals
