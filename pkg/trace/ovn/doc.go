// Package ovn follows a packet through the logical network as OVN's chassis process it.
//
// That covers switches and routers with their tables, conntrack, tunnels between chassis, and physical networks that
// connect what is bound to them. It needs only the Southbound, see [logicalflow.Network].
//
// # A path
//
// The path of a packet is a tree of visits. A [Visit] is one run through the ingress or the egress pipeline of a
// datapath on a chassis. What an output, a patch port, a clone or a nested action sends on is a child of the visit, at
// the step that sent it; a visit from which nothing continues has an [End]. A packet for one receiver makes a chain,
// one for a multicast group a tree whose copies are independent of each other.
//
// # Choices
//
// Where a flow leaves a choice to a hash (backends of a load balancer, routes of equal cost, ports of a forwarding
// group) a [Chooser] decides; [Engine.Every] follows each possibility.
//
// # Connections
//
// [Connections] is the conntrack of all chassis for one connection. It starts empty, so the packet is new; what a
// packet commits stays, so that its reply ([Visit.Reply]) is recognized and translated back.
//
// # What is not known
//
// A flow that is not understood, or two flows of one priority that do different things, end the path with
// [journey.Unknown] where the packet may hit them, and nowhere else.
package ovn
