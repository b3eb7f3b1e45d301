// Package microflow prints what ovn-trace(8) prints: the same microflows, options and text, even where real packets would
// fare otherwise. What those meet is for package ovn.
//
// # Where ovn-trace departs from the truth
//
// These departures are kept, since users compare the outputs. All registers but inport and outport are lost where the
// egress pipeline begins, flags with them, and a patch port loses nothing. Every port counts as
// resident. Commits are not remembered: conntrack says est|trk unless an option says otherwise. The
// ports of a multicast group get one packet, one after the other, with the changes that the ports before made. Static
// MAC bindings, templates, DNS and the packet's length are ignored.
// Of port security only the first entry with the packet's MAC address counts.
//
// # What is chosen
//
// ovn-trace chooses backends and members of select() at random if no option says which. This package takes the first,
// unless [Options.Choose] chooses. Of several flows of one priority it takes the one that its table holds
// first; so does this package, but where the Southbound is too large to count its flows.
package microflow
