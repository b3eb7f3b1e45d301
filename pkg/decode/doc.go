// Package decode turns the numbers of a chassis back into OVN's names: a [Decoder] finds what a flow is for, a
// [Namer] names the numbers in its match and actions.
//
// # What is decoded
//
// ovn-controller compiles logical flows into OpenFlow and turns every name into a number: a logical switch into a
// value of metadata, a logical port into a value of reg14 or reg15, a stage into a table, a conntrack zone into
// reg11, reg12 or reg13, a logical flow into a cookie. The output of ofproto/trace and flow dumps contain only the
// numbers.
//
// # Derive, do not look up
//
// Most of these numbers are in the databases: the tunnel key of a Datapath_Binding or Port_Binding, the ofport of an
// Interface, a ct-zone-* of the bridge. [Names] joins them. Table numbers are in no database and change in point
// releases, so a fixed map from release to tables goes wrong sooner or later. They are learned from the flows at
// hand: a flow's cookie is the first 32 bits of the UUID of its row, and the row has the logical table, so OpenFlow
// table − logical table is the base of the pipeline. [Decoder.Calibrate] takes the vote of all given flows; only what
// they leave open comes from an embedded profile of the release, and [Calibration.Source] reports which was used.
//
// # From flow to object
//
// Cookie → Logical_Flow ([LogicalFlows]) → stage-name and stage-hint → row of the Northbound database ([Objects]) →
// its owner, for example a NetworkPolicy. A 32-bit prefix is not a key: every step keeps all candidates and narrows
// them by what else is known of the flow.
//
// # Per chassis
//
// A [Calibration] and [Names] belong to one chassis: during an upgrade each runs its own release, and zones and
// OpenFlow ports are local anyway.
//
// All input is untrusted: a malformed value decodes to nothing and never panics.
package decode
