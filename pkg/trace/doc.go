// Package trace follows a packet from one end of a deployment to the other and says what stops it.
//
// # The question
//
// Given two ends and a protocol: would the first packet of a new connection arrive, would its answer come
// back, and if not, which object of which node is the reason?
//
// # Two ways
//
// What should happen: a [Walker] follows the packet by the logical flows, with the databases alone (package logical), over
// hosts and physical networks as these tell of them. What would happen: a chain of places. In a bridge, ovs-vswitchd
// itself is asked what it would do (package ofproto); on a host, its kernel (package node). Where the packet leaves a node
// through a tunnel or an uplink, the way goes on at the node that owns the other end. Either way the answer starts where
// the packet ended, and what conntrack would know by then is remembered, so that answers are translated back.
//
// [Run] takes the nodes' word where all on the way are in reach and lays the logical way beside it; else the logical way
// is the answer.
//
// # What is taken for granted
//
// The underlay: a packet that leaves for the address of another node arrives there. The world outside:
// a packet that leaves by an uplink for an address that nobody here owns is delivered, and answered. The
// pod: it answers. A host that is not asked: it sends, takes and passes on what the databases lead one to
// expect. Existing connections: the packet belongs to none.
package trace
