// Package trace follows a packet from one end of a deployment to the other and says what stops it.
//
// # The question
//
// Given two ends and a protocol: would the first packet of a new connection arrive, would its answer come
// back, and if not, which object of which node is the reason?
//
// # The model
//
// A way is a chain of places. In a bridge, ovs-vswitchd itself is asked what it would do (package
// ofproto); on a host, its kernel (package node). Where the packet leaves a node through a tunnel or an
// uplink, the way goes on at the node that owns the other end. The answer starts where the packet
// ended. What conntrack would know by then is remembered on the way, so that answers are translated back.
//
// # What is taken for granted
//
// The underlay: a packet that leaves for the address of another node arrives there. The world outside:
// a packet that leaves by an uplink for an address that nobody here owns is delivered, and answered. The
// pod: it answers. Existing connections: the packet belongs to none.
package trace
