// Package microflow answers as ovn-trace(8) does: the same microflows, the same options, the same text, whether or not
// real packets would fare so. What they would meet is for package logical to say.
//
// # Where ovn-trace departs from the truth
//
// These departures are kept, since its users compare answers. All registers but inport and outport are lost where the
// egress pipeline begins, flags with them, and nothing is lost on the way through a patch port. Every port resides
// here. What a connection commits is not remembered, and conntrack answers est|trk unless it is told otherwise. The
// ports of a multicast group get one packet, one after the other, with the changes that the ports before made. Static
// MAC bindings are not looked at, nor templates, DNS and the packet's length.
// Of port security only the first entry with the packet's MAC address counts.
//
// # What is chosen
//
// ovn-trace draws the backends of load balancers and the members of select() that nobody asked for at random. Here it is
// the first, unless [Options.Choose] chooses. Of several flows of one priority it takes the one that its table holds
// first; so does this package, but where the Southbound is too large to count its flows.
package microflow
