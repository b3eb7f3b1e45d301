// Package ovssim simulates what ovs-vswitchd does with a packet, using only dumps.
//
// Open vSwitch calls a packet's path through its bridges' tables its translation: OpenFlow actions go in, datapath
// actions come out. A [Switch] holds what that depends on: flows, groups, ports and their rows, tunnel options, learned
// MAC addresses, and tunnel routes and neighbours. [Switch.Trace] prints what ofproto/trace prints (ovs-vswitchd(8)),
// except:
//
//   - the megaflow has more bits where a dump does not tell which action was
//     written, and may lack some in rare cases;
//   - NORMAL floods in port number order; in ovs-vswitchd, ports that were
//     added together come in the order of addresses in its memory;
//   - recirculation ids are counted from 1, and meters have their OpenFlow
//     numbers; the datapath has others.
//
// Nothing is read or sent, and a trace changes nothing: it learns neither MAC addresses nor flows, unless asked to.
package ovssim
