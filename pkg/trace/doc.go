// Package trace follows a packet from one end of a deployment to the other and says what stops it.
//
// # The question
//
// Given two ends and a protocol: does the first packet of a new connection arrive, does its reply come back, and if not,
// which object of which node is the reason?
//
// # Two paths
//
// The expected path: a [Walker] follows the packet by the logical flows, with the databases alone (package trace/ovn), over
// hosts and physical networks as these describe them. The actual path: a chain of locations. In a bridge, ovs-vswitchd
// itself is asked what it would do, or simulated from its flows (packages trace/ovs and trace/ovssim); on a host, its
// kernel (package node). Where the packet leaves a node through a tunnel or an uplink, the path goes on at the node that
// has the other end. The reply starts where the packet ended, and what conntrack would know by then is remembered, so that
// replies are translated back.
//
// [Run] reports the actual path where all nodes on it are reachable, and compares it with the expected one; else it reports
// the expected one.
//
// # The verdict
//
// What decided is a [journey.Cause], a value: its sentence (package trace/cause) and the next command are made from it last.
//
// # What is assumed
//
// The underlay: a packet that leaves for the address of another node arrives there. The network outside: a packet that
// leaves by an uplink for an address that is not in the deployment is delivered, and a reply comes back. The workload: it
// replies. A host that was not read: it sends, receives and forwards as the databases let one expect. Existing connections:
// the packet belongs to none.
package trace
