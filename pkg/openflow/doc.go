// Package openflow parses the output of ovs-ofctl and ovs-appctl into values and
// prints it again: matches, actions, flows, groups, connections, traces.
//
// # What is read
//
//   - matches and actions (ovs-fields(7), ovs-actions(7)): [ParseMatch],
//     [ParseActions]
//   - dump-flows, dump-groups, dump-meters, dump-ports-desc and dump-tlv-map,
//     as whole dumps and line by line: [ParseDump], [Reader] and so on
//   - fdb/show, dpctl/dump-flows and dpctl/dump-conntrack, likewise
//   - the reply of ofproto/trace and ofproto/trace-packet-out: [ParseTrace]
//
// A value prints as it was read, byte by byte: load stays load, set_field stays
// set_field. [StripColors] removes colours first and can restore them.
// [Parts] splits an action into pieces, to annotate its values with names.
//
// # What is executed
//
// [Replay] walks a trace's reply and executes its actions on the initial flow, so
// that the flow is known at every step: which packet left through which port with
// which tunnel fields, which zone a packet was sent to. The reply's own "Final
// flow" verifies it.
package openflow
