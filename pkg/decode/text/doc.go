// Package text adds names to the OVN numbers in pasted text. Parsed flows are named by [decode.Namer], which this
// package also uses.
//
// # What is read
//
// Lines of ovs-ofctl dump-flows, dump-groups and dump-ports-desc, of ofproto/trace, dpctl/dump-flows and
// dpctl/dump-conntrack, and of tcpdump(8) for tunnels, from all releases, complete or truncated, mixed with other
// text. A line is scanned for numbers, not parsed: a [decode.Name] follows each recognized number, and everything
// else is unchanged.
//
// # What a number depends on
//
// The meaning of reg15 depends on the datapath, of in_port on the bridge, of a table on the kind of datapath. Within
// a line the match tells which, and actions that set metadata change it for what follows. Across the lines of a trace
// the [Annotator] follows the indentation. If the bridge is uncertain, ports get no names: a wrong name is worse than
// none.
//
// # Without a database
//
// Numbers are then explained: "logical port 3".
package text
