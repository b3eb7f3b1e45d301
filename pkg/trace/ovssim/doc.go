// Package ovssim says what ovs-vswitchd would do with a packet, from dumps alone.
//
// Open vSwitch calls the way of a packet through the tables of its bridges its
// translation: OpenFlow actions go in, datapath actions come out. A [Switch]
// holds what that depends on: flows, groups, ports and their rows, tunnel
// options, learned MAC addresses, routes and neighbours of tunnels.
// [Switch.Trace] makes of a packet what ofproto/trace replies to the same
// question (ovs-vswitchd(8)), with some exceptions:
//
//   - the megaflow is an estimate: it has every bit that decided, and more;
//   - NORMAL floods in the order of the ports' numbers; that of ovs-vswitchd is
//     by chance;
//   - recirculation ids are counted from 1, and meters go by their numbers in
//     OpenFlow, of which the datapath has others.
//
// Nothing is read or sent, and a trace leaves no marks: neither MAC addresses
// nor flows are learned.
package ovssim
