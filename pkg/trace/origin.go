package trace

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/flow"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/ofproto"
)

// origin is the place where the packet starts. A packet that cannot be sent at all has a verdict instead.
func (t *tracer) origin(ctx context.Context, from topology.Match, p packet) (place, *journey.Verdict, error) {
	switch from.Kind {
	case topology.KindNode:
		return t.fromNode(ctx, from, p)
	case topology.KindExternal:
		return t.fromOutside(ctx, p)
	case topology.KindService:
		return place{}, nil, &topology.NameError{Text: from.Name, Reason: "a service sends no packets\nhint: name the pod that sends"}
	case topology.KindRPort:
		return place{}, nil, &topology.NameError{Text: from.Name, Reason: "a router port starts no connections\nhint: name a port of a switch"}
	}
	return t.fromPort(ctx, from.Port, p)
}

func unknown(format string, args ...any) *journey.Verdict {
	return &journey.Verdict{Outcome: journey.Unknown, Cause: fmt.Sprintf(format, args...)}
}

// fromPort starts at the interface of a logical port, with the frame that its owner would send.
func (t *tracer) fromPort(ctx context.Context, port *topology.Port, p packet) (place, *journey.Verdict, error) {
	carrier := port
	if port.Parent != "" {
		if carrier = t.graph.PortByName(port.Parent); carrier == nil {
			return place{}, unknown("the parent port %s of %s is not known", port.Parent, port.Name), nil
		}
	}
	stopped := func(cause string) *journey.Verdict {
		v := &journey.Verdict{Outcome: journey.Dropped, Port: port.Name, Cause: cause}
		if port.Switch != nil {
			v.Datapath = port.Switch.Name
		}
		return v
	}
	if !port.Enabled {
		return place{}, stopped(disabled(port)), nil
	}
	if carrier.Chassis == "" {
		if !t.hasSouthbound(carrier.Zone) {
			return place{}, unknown("the Southbound, which says which chassis holds %s, could not be read", carrier.Name), nil
		}
		if carrier.State == topology.StateUnknown {
			return place{}, unknown("which chassis holds %s is not known: %s", carrier.Name, carrier.Why), nil
		}
		return place{}, stopped("no chassis holds " + carrier.Name + ": " + carrier.Why), nil
	}
	n := t.cluster.Node(carrier.Chassis)
	if n == nil {
		return place{}, unknown("no way is known to chassis %s, which holds %s: give --node-exec 'PREFIX {hostname}'", carrier.Chassis, carrier.Name), nil
	}
	v, err := t.view(ctx, n)
	if err != nil {
		return place{}, unknown("%v", err), nil
	}
	carrier = t.graph.PortByName(carrier.Name)
	i := slices.IndexFunc(carrier.Interfaces, func(a *topology.Attachment) bool { return a.Node == n.Name && a.OFPort > 0 })
	if i < 0 {
		return place{}, stopped(fmt.Sprintf("no interface on %s carries %s: %s", n.Name, carrier.Name, carrier.Why)), nil
	}
	attached := carrier.Interfaces[i]
	if verdict := v.sends(ctx, attached.Interface, p.src, p.dst); verdict != nil {
		verdict.Port = port.Name
		return place{}, verdict, nil
	}
	if len(port.MACs) == 0 {
		return place{}, unknown("the MAC address of %s is not known", port.Name), nil
	}
	p.srcMAC = port.MACs[0]
	if p.dstMAC = t.nextHopMAC(port, p); p.dstMAC == "" {
		return place{}, stopped(fmt.Sprintf("nothing on its switch leads from %s to %s: no router port there has a network with %s", port.Name, p.dst, p.src)), nil
	}
	packet, err := p.flow()
	if err != nil {
		return place{}, nil, err
	}
	if port.Parent != "" {
		ofproto.Set(&packet, "dl_vlan", flow.Uint(uint64(port.Tag)))
	}
	return place{node: v, bridge: attached.Bridge, port: flow.PortID{Number: uint32(attached.OFPort)}, packet: packet}, nil, nil
}

// disabled is the cause of a packet that a disabled port does not take.
func disabled(p *topology.Port) string {
	return fmt.Sprintf("the port %s is disabled in the Northbound (enabled=false)", p.Name)
}

func (t *tracer) hasSouthbound(zone string) bool {
	return slices.ContainsFunc(t.cluster.Zones, func(z *cluster.Zone) bool { return z.Name == zone && z.SB != nil })
}

// nextHopMAC is the address that the owner of a port would send the frame to.
func (t *tracer) nextHopMAC(port *topology.Port, p packet) string {
	for _, hop := range t.graph.NextHops(port, p.src, p.dst) {
		if hop.MAC != "" {
			return hop.MAC
		}
	}
	return ""
}

// fromNode starts in the network stack of a node.
func (t *tracer) fromNode(ctx context.Context, from topology.Match, p packet) (place, *journey.Verdict, error) {
	n := t.nodeOf(from)
	if n == nil {
		return place{}, unknown("%s cannot be asked", from.Name), nil
	}
	v, err := t.view(ctx, n)
	if err != nil {
		return place{}, unknown("%v", err), nil
	}
	return t.inHost(v, p)
}

func (t *tracer) inHost(v *nodeView, p packet) (place, *journey.Verdict, error) {
	p.srcMAC, p.dstMAC = "00:00:00:00:00:00", "00:00:00:00:00:00"
	packet, err := p.flow()
	return place{node: v, packet: packet}, nil, err
}

// fromOutside starts at the uplink of the node that answers for the destination on the underlay.
func (t *tracer) fromOutside(ctx context.Context, p packet) (place, *journey.Verdict, error) {
	n := t.holder(p.dst)
	if n == nil {
		return place{}, unknown("no node answers for %s on the underlay, so it is not known by which uplink the packet would come", p.dst), nil
	}
	v, err := t.view(ctx, n)
	if err != nil {
		return place{}, unknown("%v", err), nil
	}
	bridge, port, ok := t.uplink(n.Name, "")
	if !ok {
		return place{}, unknown("node %s has no bridge with an uplink", n.Name), nil
	}
	p.srcMAC = anyMAC // the router on the underlay
	p.dstMAC, err = t.underlayMAC(ctx, v, p.dst)
	if err != nil {
		return place{}, unknown("%v", err), nil
	}
	packet, err := p.flow()
	return place{node: v, bridge: bridge, port: port, packet: packet}, nil, err
}

// underlayMAC is the MAC address by which a node answers for one of its underlay addresses.
func (t *tracer) underlayMAC(ctx context.Context, v *nodeView, a netip.Addr) (string, error) {
	for _, p := range t.graph.PortsAt(a) {
		if p.Kind == topology.RouterPort && len(p.MACs) > 0 {
			return p.MACs[0], nil
		}
	}
	for _, r := range t.graph.Routers {
		if r.Chassis != v.SystemID || !t.routerHas(r, a) {
			continue
		}
		for _, name := range r.Ports {
			if p := t.graph.PortByName(name); p != nil && len(p.MACs) > 0 && t.leadsOut(p) {
				return p.MACs[0], nil
			}
		}
	}
	net, err := v.net(ctx)
	if err != nil {
		return "", err
	}
	for _, x := range net.Addresses {
		if link := net.Link(x.Link); x.Prefix.Addr() == a && link != nil {
			return link.MAC, nil
		}
	}
	return "", errors.New("no link of node " + v.Name + " has the address " + a.String())
}

// leadsOut says whether a router port is on a switch with a way to a physical network.
func (t *tracer) leadsOut(p *topology.Port) bool {
	peer := t.graph.PeerOf(p)
	if peer == nil || peer.Switch == nil {
		return false
	}
	return slices.ContainsFunc(t.graph.PortsOn(peer.Switch.UUID), func(x *topology.Port) bool { return x.Type == "localnet" })
}
