// Package openflow is OpenFlow as text: what ovs-ofctl and ovs-appctl print,
// read into values and written back.
//
// # What is read
//
//   - matches and actions (ovs-fields(7), ovs-actions(7)): [ParseMatch],
//     [ParseActions]
//   - dump-flows, dump-groups, dump-meters, dump-ports-desc and dump-tlv-map,
//     as whole dumps and line by line: [ParseDump], [ParseFlowEntry] and so on
//   - fdb/show, dpctl/dump-flows and dpctl/dump-conntrack, likewise
//   - the reply of ofproto/trace and ofproto/trace-packet-out: [ParseTrace]
//
// Dialects are kept: an action read as load is printed as load, one read as
// set_field as set_field. What was read prints as it was, byte by byte; colours
// are taken out before, and put back after, by [StripColors].
//
// # What is executed
//
// [Replay] walks a trace's reply and executes the actions it names on the flow
// it began with, so that the flow is known at every step: which packet left by
// which port with which tunnel fields, which zone a packet was sent to. The
// reply's own "Final flow" checks it.
package openflow
