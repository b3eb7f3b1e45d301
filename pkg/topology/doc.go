// Package topology joins the three databases of a deployment into one graph, and resolves names and addresses in it.
//
// The Northbound has the configuration, the Southbound what ovn-northd made of it, and each node's Open_vSwitch
// database the actual state.
//
// # How they are joined
//
// A Datapath_Binding names the switch or router it was made from. A Port_Binding and its logical port have the same
// name. An interface carries the logical port in its external_ids:iface-id, a patch port the localnet port in
// ovn-localnet-port. A node is the chassis whose name is its system-id. A tunnel port leads to the chassis in
// ovn-chassis-id; which tunnels should exist follows from the Encaps of each pair.
//
// # What may be missing
//
// Everything. Each of the three databases makes a graph on its own, and each further one adds to it. What cannot be
// known is marked unknown, and the graph explains why a port is not up as far as the available databases show it.
//
// # Zones
//
// A deployment may have several zones, each with its own databases. Names are looked up in all of them. A chassis
// appears once, in its own zone; a port of type remote stands for the port of another zone and yields to it if both
// are present.
package topology
