// Package ovs follows a packet through the bridges of one node, by what ovs-vswitchd answers to ofproto/trace, see
// ovs-vswitchd(8). Where conntrack would translate the packet, the trace is resumed with the packet as translated.
package ovs
