// Package decode turns the numbers of a chassis back into OVN's names: a [Decoder]
// finds what a flow was made for, a [Namer] names the numbers in its match and actions.
//
// # What has to be decoded
//
// ovn-controller compiles logical flows into OpenFlow, and in doing so turns
// every name into a number: a logical switch into a value of metadata, a
// logical port into a value of reg14 or reg15, a stage into a table, a
// conntrack zone into reg11, reg12 or reg13, a logical flow into a cookie.
// A trace of ofproto/trace or a dump of flows holds the numbers only.
//
// # Derive, do not look up
//
// Most of these numbers are rows of the databases: the tunnel key of a
// Datapath_Binding or Port_Binding, the ofport of an Interface, a ct-zone-*
// of the bridge. [Names] joins them. Table numbers are in no database and change
// in point releases, so that a map from release to tables is wrong sooner or
// later. They are learned from the flows at hand: a
// flow's cookie is the first 32 bits of the UUID of the row it was made from,
// and that row knows its own logical table, so table − logical table is the
// base of the pipeline. [Decoder.Calibrate] takes the vote of all flows that it is
// given; only what they leave open comes from an embedded profile of the
// release, and [Calibration.Source] says which was which.
//
// # From flow to object
//
// Cookie → Logical_Flow ([LogicalFlows]) → stage-name and stage-hint → row of
// the Northbound database ([Objects]) → who made it, for instance a
// NetworkPolicy. A prefix of 32 bits is not a key: every step keeps all
// candidates and narrows them by what else is known of the flow.
//
// # Per chassis
//
// A [Calibration] and [Names] belong to one chassis: during an upgrade each
// runs its own release, and zones and OpenFlow ports are local anyway.
//
// All input is untrusted: an odd value decodes to nothing, never to a panic.
package decode
