// Package logicalflow finds the logical flow that a packet hits. It holds a logical
// network as a packet meets it: datapaths, ports, the flows of each table, and what
// routers and switches have learned. What the actions do is for the packages under
// pkg/trace.
//
// # Loading
//
// A [Network] reads the Southbound as needed: the ports and flows of a datapath
// when a packet reaches it, neighbours when one is looked up. It keeps what it read. A flow of a datapath group is kept once, whatever the number of
// datapaths in the group. No request keeps the server busy for long.
//
// # Numbers and names
//
// In a packet inport and outport are numbers, the tunnel keys of ports in the
// packet's datapath (ovn-architecture(7), "Logical input port field"); a match
// names ports. So a packet means something only together with a Datapath.
//
// A Network may be used by several goroutines.
package logicalflow
