// Package trace follows a packet from one end of a deployment to the other and reports what stops it.
//
// # The question
//
// Given two ends and a protocol: does the first packet of a new connection arrive, does its reply come back, and if
// not, which object on which node is the reason?
//
// # Two paths
//
// The expected path: a [Walker] follows the packet through the logical flows, using only the databases (package
// trace/ovn), across hosts and physical networks as the databases describe them. The actual path is a chain of
// locations. In a bridge, ovs-vswitchd itself traces the packet, or is simulated from its flows (packages trace/ovs and
// trace/ovssim); on a host, its kernel is read (package node). Where the packet leaves a node through a tunnel or an
// uplink, the path continues on the node with the other end. The reply starts where the packet ended. What conntrack
// would know by then is remembered, so that replies are translated back.
//
// [Run] reports the actual path if all nodes on it are reachable, and compares it with the expected one; otherwise it
// reports the expected one.
//
// # The verdict
//
// The deciding cause is a value, a [journey.Cause]; its sentence (package trace/cause) and the next command are derived
// from it last.
//
// # Assumptions
//
// The underlay: a packet that leaves for another node's address arrives there. The network outside: a packet that
// leaves by an uplink for an address outside the deployment is delivered, and a reply comes back. The workload: it
// replies. A host that was not read: it sends, receives and forwards as the databases suggest. Existing connections:
// the packet belongs to none.
package trace
