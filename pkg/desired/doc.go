// Package desired compiles logical flows to the OpenFlow flows that ovn-controller wants installed for them on one
// chassis, its desired flows.
//
// # From a logical flow to OpenFlow
//
// A [Chassis] is what ovn-controller knows on its node. [Chassis.Parse] parses a row; [Chassis.Flows] makes of it, for
// one datapath, what ovn-controller makes: the match, with what the actions require, is brought to OVN's normal form
// with address sets, and the ports of port groups that concern the node, written out; what one conjunction of it leaves
// open in several places becomes a conjunctive match (ovs-fields(7)), numbered by a hash of flow and datapath; actions
// are encoded, those that ovn-controller carries out itself as userdata. In a switch, flows for ports elsewhere are left
// out.
//
// # What is looked up
//
// The numbers of groups and meters depend on the order in which ovn-controller met them: they are found among those of
// the switch. The tables are those that the node's flows show. The datapaths of a node are those that its flows are for.
//
// # What it leaves out
//
// The flows of ovn-controller's own tables are made from other rows. Where a number of a conjunction was taken,
// ovn-controller takes the next, which depends on the past.
package desired
