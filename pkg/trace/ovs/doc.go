// Package ovs has ovs-vswitchd trace a packet through one node's bridges, with ofproto/trace (ovs-vswitchd(8)). Where
// conntrack would translate the packet, it resumes the trace with the translated packet.
package ovs
