// Package text puts names behind the numbers of OVN in pasted text. Parsed flows
// get theirs from [decode.Namer], which this package asks, too.
//
// # What is read
//
// Lines of ovs-ofctl dump-flows, dump-groups and dump-ports-desc, of
// ofproto/trace, dpctl/dump-flows and dpctl/dump-conntrack, of tcpdump(8) about
// tunnels, from all releases, whole or cut, with other text around them. A line is
// scanned for numbers, not parsed: a [decode.Name] goes behind each that is
// recognised, and everything else stays as it is.
//
// # What a number depends on
//
// reg15 means something in a datapath, in_port in a bridge, a stage in a kind of
// datapath. Within a line the match says which, and actions that write metadata
// change it for what follows. Across the lines of a trace the [Annotator] follows
// the indentation. If the bridge is uncertain, ports get no names: a wrong name is
// worse than none.
//
// # Without a database
//
// Numbers are then explained: "logical port 3".
package text
