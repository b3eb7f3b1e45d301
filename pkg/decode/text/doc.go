// Package text finds the numbers of OVN in text that somebody pasted, and says
// what they mean.
//
// # What is read
//
// Lines of ovs-ofctl dump-flows, dump-groups and dump-ports-desc, of
// ofproto/trace, dpctl/dump-flows and dpctl/dump-conntrack, of tcpdump(8) about
// tunnels, in the dialects of all releases, whole or cut: whatever stands around
// them, and whatever is unknown, is left alone. A line is never understood as a
// whole; a [Gloss] is put behind each number that is recognised, so that the text
// without the names is the text that was read.
//
// # What a number depends on
//
// A number means something in a place: reg15 in a datapath, in_port in a bridge,
// a stage in a kind of datapath. Within a line the match says which, and actions
// that write metadata change it for what follows them. Across the lines of a
// trace the [Annotator] remembers it by indentation, as the reply nests. Where the
// bridge is not certain, ports get no names: a wrong name is worse than none.
//
// # Without a database
//
// The numbers then come out as what they are for, in words: "logical port 3".
package text
