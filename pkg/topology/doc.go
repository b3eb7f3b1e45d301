// Package topology joins the three databases of a deployment into one graph, and finds what a name or an address means.
//
// The Northbound has what is wanted, the Southbound what ovn-northd made of it, and the Open_vSwitch database of each
// node what is there.
//
// # What is joined by what
//
// A Datapath_Binding names the switch or router it was made from. A Port_Binding
// and a logical port have one name. An interface carries the logical port that
// its external_ids:iface-id names, a patch port the localnet port of
// ovn-localnet-port. A node is the chassis whose name is its system-id. A tunnel
// port leads to the chassis of ovn-chassis-id; which tunnels there should be
// follows from the Encaps of each pair.
//
// # What may be missing
//
// Everything. Each of the three databases makes a graph alone, each more makes it
// richer. What cannot be known is said to be unknown, and of a port that is not up
// the graph says why, as far as the databases at hand tell.
//
// # Zones
//
// A deployment may have several zones with databases of their own. Names are
// looked up in all of them. A chassis is in the graph once, with the zone that it
// belongs to; a port of type remote stands for the port of another zone and gives
// way to it where both are there.
package topology
