// Package openflow parses what ovs-ofctl and ovs-appctl print into values and writes
// it back: matches, actions, flows, groups, connections, traces.
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
// set_field. [StripColors] removes colours first and can put them back.
// [Parts] are an action piece by piece, for who puts names behind its values.
//
// # What is executed
//
// [Replay] walks a trace's reply and executes the actions it names on the flow
// it began with, so that the flow is known at every step: which packet left by
// which port with which tunnel fields, which zone a packet was sent to. The
// reply's own "Final flow" checks it.
package openflow
