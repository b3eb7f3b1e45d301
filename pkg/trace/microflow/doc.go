// Package microflow prints what ovn-trace(8) prints: the same microflows, options and text, even where real packets
// behave differently. Package ovn shows what those do.
//
// # Where ovn-trace departs from the truth
//
// These departures are kept, since users compare the outputs. All registers but inport and outport are lost at the
// start of the egress pipeline, flags included, while a patch port loses nothing. Every port counts as resident.
// Commits are forgotten: conntrack reports est|trk unless an option says otherwise. The ports of a multicast group
// share one packet, one after the other, each with the changes of the ports before. Static MAC bindings, templates, DNS
// and the packet's length are ignored. Only the first port security entry with the packet's MAC address counts.
//
// # What is chosen
//
// Without an option, ovn-trace chooses backends and members of select() at random. This package takes the first, unless
// [Options.Choose] chooses. Of several flows of one priority, ovn-trace takes the first in its table; so does this
// package, unless the Southbound is too large to count its flows.
package microflow
