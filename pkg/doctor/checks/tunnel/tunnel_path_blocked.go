package tunnel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/trace"
)

var TunnelPathBlocked = &doctor.Check{
	Name:     "tunnel-path-blocked",
	Category: "tunnel",
	Doc: `A node does not let tunnel packets pass

A tunnel packet is followed from each node to its peers as trace follows it: through the flows, VLANs,
bonds and ports of the bridge with the uplink, the routes, neighbours and packet filter of the host,
and in again on the other node.`,
	Causes: []string{
		"vswitchd-not-running", "bridge-ip-lost-after-reboot", "uplink-not-in-bridge", "bridge-fail-mode-wrong", "ip-on-enslaved-nic", "bridge-link-down",
		"encap-ip-not-local", "system-id-cloned", "two-vswitchds", "kernel-module-missing", "ipv6-dad-failed", "duplicate-chassis-stale",
		"conf-db-lost-or-corrupt", "dpdk-not-initialised",
	},
	CausesOn: []doctor.Kind{{Check: "host-path-astray", Reason: "neighbour"}}, // a switch in the kernel sends by the host's entries
	Ground:   true,
	Settle:   true, // a bond or a spanning tree takes a while, and so does a new neighbour
	Run:      tunnelPaths,
}

// peersFollowed is how many peers of a node are sent a packet.
const peersFollowed = 6

// tunnelsFollowed is what became of the packets in tunnels.
type tunnelsFollowed struct {
	lost  []trace.Loss
	count int
}

// followTunnels follows the tunnels of all nodes that can be read.
func followTunnels(d *snapshot.Deployment) (tunnelsFollowed, error) {
	return snapshot.Derive(d, "tunnels", func() (all tunnelsFollowed, err error) {
		ground, err := doctor.GroundOf(d)
		if err != nil {
			return all, err
		}
		nodes := facts.Switching(d)
		// A node's first peers are those that follow it: of many nodes, only these few are in memory.
		slices.SortFunc(nodes, func(a, b *cluster.Node) int { return strings.Compare(a.SystemID, b.SystemID) })
		each := make([]tunnelsFollowed, len(nodes))
		d.SideBySide(len(nodes), func(i int) { // what cannot be read is reported by other checks
			each[i].lost, each[i].count, _ = ground.Beside().Tunnels(d.Context(), nodes[i], peersFollowed)
		})
		for _, e := range each {
			all.lost, all.count = append(all.lost, e.lost...), all.count+e.count
		}
		return all, d.Context().Err()
	})
}

func tunnelPaths(p *doctor.Pass) {
	if len(facts.Switching(p.Deployment)) == 0 {
		p.Skip("no node that runs OVN can be read from here")
		return
	}
	followed, ok := doctor.Need(p, doctor.Object{}, func() (tunnelsFollowed, error) { return followTunnels(p.Deployment) })
	if !ok {
		return
	}
	if followed.count == 0 {
		p.Skip("no tunnel packet can be followed here: there is no tunnel, or the bridges and hosts that it crosses cannot be read")
		return
	}
	lost := followed.lost
	if encrypted(p) { // then filters that let only ESP pass are right
		lost = slices.DeleteFunc(slices.Clone(lost), func(l trace.Loss) bool { return l.Because.Kind == journey.Filtered })
	}
	for _, same := range byPlace(lost) {
		pathBlocked(p, same)
	}
}

// encrypted reports whether a zone's tunnels are.
func encrypted(p *doctor.Pass) bool {
	return slices.ContainsFunc(p.Zones, func(z *snapshot.Zone) bool {
		rows, err := z.Northbound()
		return err == nil && len(rows.Globals) > 0 && rows.Globals[0].IPsec
	})
}

// A place is what stops packets, of whichever tunnels.
type place struct {
	kind               journey.CauseKind
	node, bridge, link string
	other              string // chassis or MAC, of what is between two nodes
}

// byPlace groups losses by what stops them.
func byPlace(lost []trace.Loss) [][]trace.Loss {
	var order []place
	groups := map[place][]trace.Loss{}
	for _, l := range lost {
		c := l.Because
		if follows(l, lost) {
			continue
		}
		at := place{c.Kind, c.Node, c.Bridge, c.Link, c.MAC}
		switch c.Kind {
		case journey.NeighbourFailed, journey.NoTunnelPort, journey.NoUplink:
			continue // a peer that does not answer is no fault here; the others are found by checks of their own
		case journey.SameMAC:
			at.node = ""
		}
		if groups[at] == nil {
			order = append(order, at)
		}
		groups[at] = append(groups[at], l)
	}
	out := make([][]trace.Loss, len(order))
	for i, at := range order {
		out[i] = groups[at]
	}
	return out
}

// follows reports whether a loss is what another one leads to: a bridge whose uplink is in a VLAN receives packets with
// its tag, one whose own port is sends them to others with it, one that shares its MAC address, or floods, learns addresses where they are not,
// and one that stops tunnel packets stops what asks for neighbours.
func follows(l trace.Loss, lost []trace.Loss) bool {
	switch l.Because.Kind {
	case journey.VLANUnknown, journey.LeavesInVLAN, journey.OVSDrops, journey.NothingSendsItOn, journey.NotForHost, journey.TunnelNotTaken, journey.WrongNeighbour, journey.OpenFlowDrops, journey.NoAnswer:
	default:
		return false
	}
	return slices.ContainsFunc(lost, func(root trace.Loss) bool {
		c := root.Because
		if l.Because.Kind == journey.NoAnswer && c.Kind != journey.NoAnswer && c.Bridge != "" && c.Node == l.Because.Node && c.Bridge == l.Because.Bridge {
			return true
		}
		if c.Kind == journey.VLANMismatch && l.Because.Kind == journey.VLANUnknown && c.Node == l.From && c.Detail == l.Because.Detail {
			return true // what the tagged port sends
		}
		switch c.Kind {
		case journey.VLANMismatch, journey.BondDown:
			return c.Node == l.Because.Node && (c.Bridge == l.Because.Bridge || l.Because.Bridge == "")
		case journey.PortBlocked:
			return c.Node == l.Because.Node && c.Bridge == l.Because.Bridge && !strings.HasPrefix(c.Detail, "NO_")
		case journey.SameMAC:
			pair := []string{c.Node, c.Chassis}
			return slices.Contains(pair, l.From) || slices.Contains(pair, l.To)
		}
		return false
	})
}

// pathBlocked reports what stops the packets of some tunnels.
func pathBlocked(p *doctor.Pass, lost []trace.Loss) {
	c := lost[0].Because
	f := doctor.Finding{
		Object: placeOf(p, c),
		Reason: string(c.Kind),
		Title:  fmt.Sprintf("tunnel packets from %s are lost: %s", ways(lost), lost[0].Words),
		Effect: "pods on these nodes do not reach each other; pods on one node do",
		Next:   wayOut(c),
	}
	seen := map[string]bool{f.Object.Name: f.Object.Kind == "node"}
	for _, l := range lost {
		for _, name := range []string{l.From, l.To, l.Because.Node} {
			if !seen[name] {
				seen[name] = true
				f.Concern(doctor.NodeObject(name))
			}
		}
	}
	f.Concern(neighbourLinks(p, c)...)
	f.Show(sourceOf(c).On(c.Node).Says(lost[0].Words))
	p.Report(f)
}

// neighbourLinks returns the links of a host whose entries say the wrong MAC address to which it sends; none if ovs-vswitchd alone has it.
func neighbourLinks(p *doctor.Pass, c journey.Cause) []doctor.Object {
	h := p.Host(c.Node)
	if h == nil || c.Kind != journey.WrongNeighbour {
		return nil
	}
	net, err := h.Network()
	if err != nil {
		return nil
	}
	var links []doctor.Object
	for _, n := range net.Neighbours {
		if n.Addr == c.Address && strings.EqualFold(n.MAC, c.MAC) {
			links = append(links, doctor.LinkObject(h, n.Link))
		}
	}
	return links
}

// ways lists the directions of tunnels, "node1 to node2 and node2 to node1".
func ways(lost []trace.Loss) string {
	var list []string
	for _, l := range lost {
		list = append(list, l.From+" to "+l.To)
	}
	return doctor.AtMost(list, 3)
}

// placeOf returns the object that stops packets.
func placeOf(p *doctor.Pass, c journey.Cause) doctor.Object {
	switch h := p.Host(c.Node); {
	case h == nil:
	case c.Link != "":
		return doctor.Object{Kind: "interface", Name: c.Link, Node: h.Name}
	case c.Bridge != "":
		return doctor.BridgeObject(h, c.Bridge)
	}
	return doctor.NodeObject(c.Node)
}

// sourceOf returns where a cause was read.
func sourceOf(c journey.Cause) doctor.Source {
	switch c.Kind {
	case journey.VLANMismatch:
		return doctor.OVS("Port", c.Link)
	case journey.MirrorOutput:
		return doctor.OVS("Mirror", c.Detail)
	case journey.QueueDrops:
		return doctor.Command(fixes.Command("tc -s qdisc show dev %s", c.Link))
	case journey.PortBlocked:
		return doctor.Command(fixes.Command("ovs-ofctl show %s", c.Bridge))
	case journey.BondDown:
		return doctor.Reply("ovs-vswitchd", "bond/show")
	case journey.OpenFlowDrops, journey.NoOpenFlow, journey.NothingSendsItOn:
		return doctor.Flows(c.Bridge)
	case journey.WrongNeighbour:
		return doctor.Reply("ovs-vswitchd", "tnl/neigh/show")
	case journey.SameMAC:
		return doctor.Links()
	case journey.Filtered:
		return doctor.Command("nft list ruleset")
	case journey.OwnAddress:
		return doctor.Command("ip address show")
	case journey.GatewaySilent:
		return doctor.Reply("ovs-vswitchd", "ovs/route/show")
	case journey.TunnelOptions:
		return doctor.OVS("Interface", c.Link)
	case journey.RouteRefuses, journey.NoTunnelRoute:
		return doctor.Routes()
	}
	return doctor.Reply("ovs-vswitchd", "ofproto/trace")
}

// wayOut returns what to do about a cause.
func wayOut(c journey.Cause) string {
	on := "on " + c.Node + ": "
	switch c.Kind {
	case journey.VLANMismatch:
		return on + fixes.Command("ovs-vsctl remove port %s tag %s", c.Link, c.Detail) + ", unless the network expects that VLAN: then tag the other ports, too"
	case journey.MirrorOutput:
		return on + fixes.Command("ovs-vsctl clear mirror %s output_port", c.Detail) + ", or choose a port that carries nothing else"
	case journey.QueueDrops:
		return on + fixes.Command("tc qdisc del dev %s root", c.Link)
	case journey.PortBlocked:
		if setting, ok := map[string]string{"NO_RECV": "receive", "NO_FWD": "forward", "NO_FLOOD": "flood"}[c.Detail]; ok {
			return on + fixes.Command("ovs-ofctl mod-port %s %s %s", c.Bridge, c.Link, setting)
		}
		return on + fixes.Command("ovs-appctl stp/show %s", c.Bridge) + "; a port of a host needs no spanning tree: " + fixes.Command("ovs-vsctl set bridge %s stp_enable=false rstp_enable=false", c.Bridge)
	case journey.BondDown:
		if strings.HasPrefix(c.Detail, "lacp") {
			return on + fixes.Command("ovs-appctl lacp/show %s", c.Link) + "; configure LACP at the other end, or let the bond do without: " + fixes.Command("ovs-vsctl set port %s other_config:lacp-fallback-ab=true", c.Link)
		}
		return on + fixes.Command("ovs-appctl bond/show %s", c.Link) + "; set a member up: ip link set MEMBER up"
	case journey.OpenFlowDrops, journey.NothingSendsItOn:
		return on + fixes.Command("ovs-ofctl dump-flows %s", c.Bridge) + "; delete the flow, or restart what writes the flows of this bridge"
	case journey.NoOpenFlow:
		return on + fixes.Command("ovs-ofctl dump-flows %s", c.Bridge) + "; restart what writes the flows of this bridge, or let it switch: " + fixes.Command("ovs-ofctl add-flow %s priority=0,actions=NORMAL", c.Bridge)
	case journey.WrongNeighbour:
		return on + fixes.Command("ip neighbour show %s", c.Address.String()) + "; ovs-appctl tnl/neigh/show; if it is in the latter alone: ovs-appctl tnl/neigh/flush; if another host has the address, take it away there"
	case journey.SameMAC:
		return "give one of the two another MAC address: ovs-vsctl set bridge BRIDGE other_config:hwaddr=MAC, or ip link set LINK address MAC"
	case journey.OwnAddress:
		return on + fixes.Command("ip address show to %s", c.Address.String()) + "; remove it there"
	case journey.NoAnswer:
		return on + "let ARP pass, and answer it: ovs-ofctl dump-flows BRIDGE; nft list ruleset; sysctl -a | grep arp_ignore; ip link show"
	case journey.GatewaySilent:
		return on + fixes.Command("ip route get %s", c.Other.String()) + "; ovs-appctl ovs/route/show; remove the route by " + c.Address.String()
	case journey.TunnelOptions:
		option, _, _ := strings.Cut(c.Detail, "=")
		return on + fixes.Command("ovs-vsctl remove Interface %s options %s", c.Link, option) + "; ovn-controller writes its own again once it runs"
	case journey.Filtered:
		return on + "let UDP port 6081 (Geneve) or 4789 (VXLAN) through"
	case journey.RouteRefuses, journey.NoTunnelRoute:
		return on + fixes.Command("ip route get %s", c.Address.String()) + "; remove the route or rule that it shows"
	}
	return on + "ovs-appctl tnl/ports/show -v; ovs-appctl ovs/route/show"
}
