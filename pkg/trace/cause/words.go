package cause

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/pattern"
)

// words holds the sentence of each cause. A {name} stands for a field of the cause; text in [brackets] is left out if
// one of its fields is empty.
var words = lazy.Value[map[journey.CauseKind]string]{Make: func() map[journey.CauseKind]string {
	return map[journey.CauseKind]string{
		journey.Denied:           "{refused} by {object}[; no rule allows {traffic}][; {groups}]",
		journey.NotAllowed:       "no ACL of {datapath} allows {traffic}, and NB_Global options:default_acl_drop drops the rest",
		journey.PortSecurity:     "port security does not let port {port} {direction} {frame}[; it allows {detail}]",
		journey.PortDisabled:     "port {port} is disabled in the Northbound (enabled=false)",
		journey.RouterDisabled:   "{datapath} is disabled",
		journey.NextHopDisabled:  "the next hop {address} is {datapath}, which is disabled",
		journey.UnknownMAC:       "no port of the switch has the MAC address {mac}",
		journey.WrongMAC:         "the frame is for {mac}, which router port {port} does not have",
		journey.NoRoute:          "the {who} has no route to {address}",
		journey.Discarded:        "{refused} by {object}",
		journey.NoBackends:       "{object} has no {backends} for {detail}",
		journey.NoLocalBackends:  "{object} is distributed, and none of its {backends} for {detail} is on the client's chassis[ {node}]",
		journey.TTLExpired:       "its TTL has run out in {datapath}",
		journey.TooLarge:         "it is larger than the {detail} bytes that may pass[ {port}]",
		journey.NextHopUnknown:   "the MAC address of the next hop {address} is not known (no MAC_Binding): ovn-controller asks for it, and the packet waits",
		journey.Unbound:          "port {port} is not bound to a chassis[: {detail}]",
		journey.SameOutport:      "OVN does not send it back out of port {port}, by which it came in",
		journey.NoPeer:           "port {port} has no peer",
		journey.NoTunnel:         "no tunnel leads[ from {node}] to [{chassis}, which holds ]port {port}[: Open vSwitch says of {link} \"{detail}\"]",
		journey.Controller:       "ovn-controller takes it: {detail}[, for {object}]",
		journey.ByObject:         "{refused} by {object}",
		journey.FlowUnread:       "{datapath} has in {table} a logical flow that it may hit and that ovnctl cannot read: {detail}",
		journey.ActionUnread:     "the logical flow that it hits in {table} of {datapath} has an action that ovnctl cannot follow: {detail}",
		journey.FlowsTie:         "which logical flow it hits in {table} of {datapath} is undefined: {detail}, and they do different things",
		journey.PathTooLong:      "{detail}",
		journey.FlowDrops:        "logical flow \"{detail}\" drops it",
		journey.ConnectionUnseen: "conntrack finds it invalid: it did not see the connection begin",
		journey.FlowEnds:         "logical flow \"{detail}\" does not send it on",
		journey.NoLogicalFlow:    "no logical flow of {datapath} matches it in {table}",
		journey.NothingSendsItOn: "nothing sends it on",

		journey.MACNotInstalled: "node {node} has no flow for the MAC address {mac} of port {port}: its ovn-controller has not installed it",
		journey.OpenFlowDrops:   "[flow \"{detail}\" of ]{table}[ of bridge {bridge}] drops it",
		journey.NoOpenFlow:      "no flow of {table}[ of bridge {bridge}] matches it",
		journey.NoOutputFlow:    "no flow of {table} on node {node} sends it to port {port}",
		journey.OVSDrops:        "Open vSwitch drops it[ before port {port}]: {detail}",
		journey.OVSGivesUp:      "Open vSwitch gives up: {detail}",
		journey.ActionUnknown:   "ovnctl does not know the action {detail}",
		journey.NotInDatabase:   "port {port} of bridge {bridge} is not in the node's database",
		journey.NoEnd:           "ovs-vswitchd does not say where the packet ends",
		journey.Loop:            "the packet crosses more than {detail} bridges, networks and hosts: it loops or is flooded",
		journey.NoSuchBackend:   "none of the tried values of ovs-vswitchd's hash leads to backend {detail}",

		journey.NoInterface:     "no interface on {node} carries port {port}[: {detail}]",
		journey.NoPortBinding:   "ovn-northd has not made a Port_Binding for port {port}",
		journey.NoGateway:       "nothing on its switch leads from port {port} to {address}: no router port there has a network with {other}",
		journey.NoOverlayPort:   "node {node} has no known port on the overlay: only its kernel knows the path to {address}",
		journey.NotInOVN:        "{detail} is not a port or node of OVN: no logical flow says what becomes of its packets",
		journey.WrongPort:       "it comes out at port {port}, which does not have the address {address}",
		journey.LinkDown:        "interface {link} of {owner} is down",
		journey.WrongSource:     "the reply comes from {address}, but the packet was sent to {other}: the sender does not accept it",
		journey.AddressMissing:  "the {who} does not have the address {address} of its port[; it has {detail}]",
		journey.OtherInterface:  "the {who} sends packets to {address} by interface {detail}, not by {link}",
		journey.RouteRefuses:    "the {who}'s route to {address} is \"{detail}\"",
		journey.NotForwarding:   "node {node} does not forward packets that come in by {link}: {detail} is off",
		journey.NotForHost:      "the frame is for another host",
		journey.NotIP:           "the packet is not IP: what the host does with it is unknown",
		journey.NeighbourFailed: "nothing answers for the next hop {address} on {link} (ip neighbour: failed)",
		journey.NeighbourUnread: "the host does not know the MAC address of {address} on {link} yet: it would ask for it first",

		journey.VLANMismatch:   "port {link} of bridge {bridge} on {node} is in VLAN {detail}, and the packet is not",
		journey.VLANUnknown:    "the packet comes in with the tag of VLAN {detail}, which {link} on {node} has no interface for",
		journey.LeavesInVLAN:   "it leaves by {link} on {node} with the tag of VLAN {detail}, but its next hop {address} is in VLAN {service}",
		journey.RoutedOutside:  "router {datapath} sends packets for {address} to the network outside: it has no route to the pods",
		journey.NoMapping:      "node {node} has no bridge for the physical network {detail} of port {port}",
		journey.BondDown:       "no member of bond {link} of bridge {bridge} on {node} is enabled[: {detail}]",
		journey.PortBlocked:    "port {link} of bridge {bridge} on {node} does not pass packets: {detail}",
		journey.MirrorOutput:   "port {link} of bridge {bridge} on {node} is the output of mirror {detail}, and passes nothing else",
		journey.ZoneFull:       "{detail} on {node} has reached its limit: it takes no new connections",
		journey.TableFull:      "the conntrack table of {node} is full: it takes no new connections",
		journey.TunnelNotTaken: "Open vSwitch on {node} takes no tunnel packets for {address} on bridge {bridge}",
		journey.WrongNeighbour: "the {who} sends packets for {address} to {mac}, but it is at {detail}",
		journey.SameMAC:        "nodes {node} and {chassis} have the same MAC address {mac} on the underlay",
		journey.Filtered:       "the {who}'s packet filter drops it: {detail}",
		journey.IPsecBlocks:    "an IPsec policy of the {who} blocks it: {detail}",
		journey.IPsecLacks:     "an IPsec policy of the {who} has it encrypted, but there is no association for that: {detail}",
		journey.NoARP:          "interface {link} of the {who} asks for no MAC addresses (arp off), and does not know that of {address}",
		journey.EchoIgnored:    "the {who} answers no ping: {detail}",
		journey.NoChecksum:     "what {port} sends has no {detail} checksum: its kernel leaves that to {link} (tx-checksumming is on), and Open vSwitch in userspace adds none",
		journey.TTLRanOut:      "its TTL has run out[: {detail}]",
		journey.NobodyAccepts:  "what listens in the {who} on {service}[ at {address}] accepts nothing: its queue of new connections is full",
		journey.NobodyListens:  "nothing in the {who} listens on {service}[ at {address}]",
		journey.NobodyBehind:   "the {who}'s packet filter leads it to {service}, on which nothing there listens: {detail}",
		journey.SentElsewhere:  "the {who}'s packet filter sends it to {service} instead: {detail}",
		journey.OtherSource:    "the {who}'s route to {address} has the source {other}, which port security does not let pass",
		journey.OtherSourceNAT: "the {who}'s packet filter makes {other} the source, which port security does not let pass: {detail}",
		journey.NoSuchGateway:  "the {who} has a route by the gateway {address}, which nothing on its switch has",
		journey.NotOnLink:      "the {who} takes {address} for a neighbour ({detail}), but it is not on its switch",
		journey.OtherWorkload:  "interface {link} on {node} carries port {port}, but what is attached to it is {detail}",
		journey.OtherMAC:       "the {who} has the MAC address {mac}, not {detail} of its port",
		journey.SourceHeld:     "the {who} itself has {address}, from which it comes: its kernel takes no such packet",
		journey.OverRate:       "it is larger than {object} lets pass at once: {detail}",
		journey.QueueDrops:     "the traffic control of {link} drops it: {detail}",
		journey.LinkTooSmall:   "it is larger than {link} on {node} lets pass: {detail} bytes",
		journey.ManagementDown: "interface {link} of node {node}, by which the host reaches {address}, is down",

		journey.NoTunnelNode:    "no known node has the tunnel address {address}",
		journey.NoTunnelPort:    "node {node} has no tunnel port for packets from {other} to {address}",
		journey.OwnAddress:      "node {node} itself has {address}, the tunnel address of {chassis}",
		journey.GatewaySilent:   "node {node} sends packets for {other} to {address}, which does not answer",
		journey.NoAnswer:        "node {chassis} asks for the MAC address of {address}, and gets no answer: {detail}",
		journey.TunnelOptions:   "tunnel {link} on {node} has {detail}, and its other end does not",
		journey.NoTunnelRoute:   "node {node} has no route to the tunnel address {address} ({detail})",
		journey.NoUplink:        "bridge {bridge} on {node} has no uplink: it is cut off from the network outside",
		journey.UplinkDown:      "uplink {link} of bridge {bridge} on {node} is down",
		journey.UplinkNotFound:  "node {node} has no bridge with an uplink",
		journey.UplinkUnknown:   "no node answers for {address} on the underlay, so the uplink that the packet comes in by is unknown",
		journey.NotBalanced:     "no load balancer on its path takes {service} for the virtual IP {address}[, only {detail}], and nobody outside has it",
		journey.Isolated:        "{address} is port {port}'s on network {detail}, which no router on the packet's path leads to, and nobody outside has it",
		journey.ReplyStrays:     "the reply leaves for the network outside[ by {link}], not back to {address}: its sender's gateway is another router, which has no route there",
		journey.NoRouteBack:     "the packet leaves with the private address {address}, which nothing translates: no reply comes back from outside",
		journey.RouteBackUnsure: "the packet leaves with the private address {address}, which nothing translates: whether the network outside has a route back is unknown",
		journey.NobodyAnswers:   "nothing answers for {address} on the underlay",
		journey.NoRouteIn:       "nothing answers for {address} on the underlay, and the network outside has no route to a private address",

		journey.NodeUnread:         "{detail}",
		journey.NodeNotFound:       "node not found: {detail}",
		journey.ChassisUnreachable: "chassis {chassis}, which holds port {port}, is unreachable: give --via ssh or --node-exec 'PREFIX {hostname}'",
		journey.VswitchdSilent:     "{detail}",
		journey.NotRecorded:        "the capture does not have what ovs-vswitchd on {node} does with it: trace the same packet live with --record",
		journey.HostUnread:         "the host's network could not be read: {detail}",
		journey.SourceUnread:       "{detail}",
		journey.LogicalUnread:      "the logical flows could not be read: {detail}",
		journey.FlowsUnread:        "the Southbound could not be read, so the logical flows of port {port} are unknown",
		journey.ZoneUnread:         "it goes on to port {port} of the transit switch in another zone, whose Southbound was not read",
		journey.ChassisUnread:      "the Southbound could not be read, so the chassis of port {port} is unknown",
		journey.ChassisUnknown:     "the chassis of port {port} is unknown: {detail}",
		journey.ParentNotFound:     "parent port not found: {detail}, of port {port}",
		journey.MACUnread:          "the MAC address of port {port} is unknown",
	}
}}

var (
	optional = pattern.New(`\[[^\]]*\]`)
	variable = pattern.New(`\{[a-z]+\}`)
)

// Words returns a cause's sentence; empty for no cause.
func Words(c journey.Cause) string {
	value := values(c)
	text := optional.Get().ReplaceAllStringFunc(words.Get()[c.Kind], func(part string) string {
		for _, name := range variable.Get().FindAllString(part, -1) {
			if value[name] == "" {
				return ""
			}
		}
		return strings.Trim(part, "[]")
	})
	return variable.Get().ReplaceAllStringFunc(text, func(name string) string {
		if v, ok := value[name]; ok {
			return v
		}
		return name // --node-exec 'PREFIX {hostname}'
	})
}

// values returns the values for the names in a sentence.
func values(c journey.Cause) map[string]string {
	object, backends := "", "backends"
	if c.Object != nil {
		object = c.Object.Text
		if c.Object.Owner.Kind == "Service" {
			backends = "endpoints"
		}
	}
	owner := "port " + c.Port
	who := "router"
	switch c.Place {
	case journey.InWorkload:
		who = string(c.Workload)
		owner = "the " + who
	case journey.OnHost:
		who = "host"
	}
	return map[string]string{
		"{address}": addressText(c.Address), "{other}": addressText(c.Other), "{backends}": backends, "{bridge}": c.Bridge, "{chassis}": c.Chassis,
		"{datapath}": c.Datapath, "{detail}": c.Detail, "{groups}": c.Groups, "{frame}": strings.TrimSpace(c.MAC + " " + addressText(c.Address)), "{direction}": choose(c.Inbound, "receive for", "send from"), "{link}": c.Link,
		"{mac}": c.MAC, "{node}": c.Node, "{object}": object, "{owner}": owner, "{port}": c.Port, "{refused}": refused(c.Reply),
		"{service}": c.Service, "{table}": c.Table, "{traffic}": trafficText(c.Traffic), "{who}": who,
	}
}

func addressText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// refused returns how a packet was stopped, and what its sender is told.
func refused(r journey.Refusal) string {
	return [...]string{journey.Silent: "dropped", journey.TCPReset: "rejected with a TCP reset", journey.Unreachable: "rejected with an ICMP unreachable"}[r]
}

// trafficText returns traffic in words: "tcp 8080 from 10.244.1.6 (shop/client) to 10.244.3.7 (bank/ledger)".
func trafficText(t *journey.Traffic) string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf("%s from %s to %s", t.Service, named(t.Src, t.From), named(t.Dst, t.To))
}

// named returns an address with its owner.
func named(a netip.Addr, who string) string {
	if who == "" {
		return a.String()
	}
	return fmt.Sprintf("%s (%s)", a, who)
}
