package trace

import (
	"context"
	"errors"
	"net/netip"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// origin returns where the packet starts, or a verdict if it cannot be sent at all.
func (t *tracer) origin(ctx context.Context, from topology.Match, p Packet) (location, *journey.Verdict) {
	switch from.Kind {
	case topology.KindNode:
		return t.fromNode(ctx, from, p)
	case topology.KindExternal:
		return t.fromOutside(ctx, p)
	}
	return t.fromPort(ctx, from.Port, p)
}

// fromPort starts at a logical port's interface, with the frame that its owner would send.
func (t *tracer) fromPort(ctx context.Context, port *topology.Port, p Packet) (location, *journey.Verdict) {
	carrier, stopped := t.carrier(port)
	if stopped != nil {
		return location{}, stopped
	}
	n := t.cluster.Node(carrier.Chassis)
	if n == nil {
		return location{}, unknown(journey.Cause{Kind: journey.ChassisUnreachable, Chassis: carrier.Chassis, Port: carrier.Name})
	}
	v, err := t.view(ctx, n)
	if err != nil {
		return location{}, unknown(causeOf(err))
	}
	carrier = t.graph.PortByName(carrier.Name)
	i := slices.IndexFunc(carrier.Interfaces, func(a *topology.Attachment) bool { return a.Node == n.Name && a.OFPort > 0 })
	if i < 0 {
		return location{}, droppedAt(port, journey.Cause{Kind: journey.NoInterface, Node: n.Name, Port: carrier.Name, Detail: carrier.Why})
	}
	attached := carrier.Interfaces[i]
	if port.Parent == "" { // else the owner has its address on a VLAN inside
		if verdict := t.sends(ctx, v, attached.Interface, p.tuple(), false); verdict != nil {
			verdict.Port = port.Name
			return location{}, verdict
		}
	}
	pkt, stopped := t.frame(port, p)
	if stopped != nil {
		return location{}, stopped
	}
	start := location{node: v, bridge: attached.Bridge, port: packet.PortID{Number: uint32(attached.OFPort)}, packet: pkt}
	link := attached.Interface
	if port.Parent != "" {
		link = ""
		start.packet.SetUint("dl_vlan", uint64(port.Tag))
	} else {
		t.begins(ctx, &start, link)
		start.unsummed = t.leavesChecksum(ctx, v, link, port, p.tuple())
	}
	start.assumed = t.unseen(ctx, v, link, port, p.tuple(), "", false, false)
	return start, nil
}

// ingress returns where a packet that starts here enters a bridge; nil if not by a port.
func (l *location) ingress() *journey.Ingress {
	if l.bridge == "" || l.port.Number == 0 {
		return nil
	}
	return &journey.Ingress{
		Node: l.node.Name, Bridge: l.bridge, Port: int(l.port.Number),
		SrcMAC: l.packet.Uint("eth_src"), DstMAC: l.packet.Uint("eth_dst"), VLAN: int(l.packet.Uint("dl_vlan") & 0xfff),
	}
}

// fromNode starts in a node's network stack.
func (t *tracer) fromNode(ctx context.Context, from topology.Match, p Packet) (location, *journey.Verdict) {
	n := t.nodeOf(from)
	if n == nil {
		return location{}, unknown(journey.Cause{Kind: journey.NodeNotFound, Detail: from.Name})
	}
	v, err := t.view(ctx, n)
	if err != nil {
		return location{}, unknown(causeOf(err))
	}
	l := location{node: v, packet: p.frame(noMAC, noMAC)}
	t.begins(ctx, &l, "")
	return l, nil
}

// noMAC is the MAC address in the frame of a packet that a host is about to send.
const noMAC = "00:00:00:00:00:00"

// fromOutside starts at the uplink of the node that owns the destination on the underlay.
func (t *tracer) fromOutside(ctx context.Context, p Packet) (location, *journey.Verdict) {
	n := t.holder(p.Dst)
	if n == nil {
		return location{}, t.noRouteIn(p.Src, p.Dst)
	}
	v, err := t.view(ctx, n)
	if err != nil {
		return location{}, unknown(causeOf(err))
	}
	e, entered := t.entryOf(p.Dst)
	bridge, port, ok := t.uplink(n.Name, t.bridgeTo(v, e.localnet))
	if !ok {
		return location{}, unknown(journey.Cause{Kind: journey.UplinkNotFound, Node: n.Name})
	}
	mac := e.mac
	if !entered {
		if mac, err = t.underlayMAC(ctx, v, p.Dst); err != nil {
			return location{}, unknown(causeOf(err))
		}
	}
	frame := p.frame(anyMAC, mac) // from the router on the underlay
	if entered && e.localnet.Tag != 0 {
		frame.SetUint("dl_vlan", uint64(e.localnet.Tag))
	}
	return location{node: v, bridge: bridge, port: port, packet: frame}, nil
}

// underlayMAC returns the MAC address of the node's link that has an address.
func (t *tracer) underlayMAC(ctx context.Context, v *nodeView, a netip.Addr) (string, error) {
	if _, err := v.net(ctx); err != nil {
		return "", err
	}
	if mac := v.macAt(ctx, a); mac != "" {
		return mac, nil
	}
	return "", errors.New("no link of node " + v.Name + " has the address " + a.String())
}

// bridgeTo returns the bridge that connects a node to a localnet port's physical network; empty if unknown.
func (t *tracer) bridgeTo(v *nodeView, localnet *topology.Port) string {
	n := t.graph.NodeByName(v.Name)
	if n == nil || localnet == nil {
		return ""
	}
	for _, m := range n.BridgeMappings {
		if m.Network == localnet.Options["network_name"] {
			return m.Bridge
		}
	}
	return ""
}
