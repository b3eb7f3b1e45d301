// Package packet holds a packet with its metadata and the fields that OpenFlow and
// OVN define for it.
//
// # Fields
//
// The registry lists the fields of ovs-fields(7): each has a name, aliases
// (dl_src and eth_src are one field), its NXM and OXM names (NXM_OF_ETH_SRC,
// OXM_OF_ETH_SRC), a width, a format and the protocol that a packet needs to have
// the field. Fields overlap as in Open vSwitch: xreg0 is reg0 followed by reg1,
// xxreg0 is reg0 to reg3 with reg0 most significant, and tcp_src and udp_src are
// one place in the packet.
//
// # Flows
//
// A [Flow] holds one value for every field; a field that was never set is zero,
// as in Open vSwitch. It is a plain value: assignment copies it. [Parse] reads
// what ofproto/trace prints and accepts, [Flow.String] writes what ofproto/trace
// accepts: the protocol keyword precedes the fields that need it.
package packet
