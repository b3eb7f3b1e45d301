// Package logicalflow is a logical network as a packet meets it: datapaths, ports, the
// logical flows of each table, and what routers and switches have learned. It
// finds the flow that a packet hits; what the flow's actions do is for the
// packages under pkg/trace.
//
// # Loading
//
// A Network reads the Southbound as it comes to need it: the ports and flows of
// a datapath when a packet reaches it, neighbours when one is looked up. What was
// read is kept. A flow of a datapath group is kept once, whatever the number of
// datapaths in the group. No request asks for so much that the server is busy
// with it for long.
//
// # Numbers and names
//
// In a packet inport and outport are numbers, the tunnel keys of ports in the
// packet's datapath (ovn-architecture(7), "Logical input port field"); a match
// names ports. So a packet means something only together with a Datapath.
//
// A Network may be used by several goroutines.
package logicalflow
