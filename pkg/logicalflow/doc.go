// Package logicalflow finds the logical flow that a packet hits. It holds a logical
// network as a packet sees it: datapaths, ports, the flows of each table, and what
// routers and switches have learned. Executing the actions is left to the packages
// under pkg/trace.
//
// # Loading
//
// A [Network] reads the Southbound as needed: a datapath's ports and flows when a
// packet reaches it, neighbours when one is looked up. It keeps what it read. The
// flows of a datapath group are kept once, however many datapaths share them. No
// request keeps the server busy for long.
//
// # Numbers and names
//
// In a packet, inport and outport are numbers, the tunnel keys of ports in the
// packet's datapath (ovn-architecture(7), "Logical input port field"); a match
// names ports. So a packet is meaningful only together with a Datapath.
//
// A Network is safe for concurrent use.
package logicalflow
