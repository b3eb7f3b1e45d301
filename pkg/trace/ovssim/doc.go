// Package ovssim simulates what ovs-vswitchd does with a packet, from dumps alone.
//
// Open vSwitch calls the path of a packet through the tables of its bridges its
// translation: OpenFlow actions go in, datapath actions come out. A [Switch]
// holds what that depends on: flows, groups, ports and their rows, tunnel
// options, learned MAC addresses, routes and neighbours of tunnels.
// [Switch.Trace] prints what ofproto/trace prints (ovs-vswitchd(8)), except that
//
//   - the megaflow is an estimate: it has every bit that decided, and more;
//   - NORMAL floods in the order of the ports' numbers; that of ovs-vswitchd is
//     random;
//   - recirculation ids are counted from 1, and meters have their OpenFlow
//     numbers; the datapath has others.
//
// Nothing is read or sent, and a trace changes nothing: it learns neither MAC
// addresses nor flows.
package ovssim
