package trace

import (
	"context"
	"errors"
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/ovn"
	"github.com/ovnctl/ovnctl/pkg/trace/ovs"
)

// ErrNoFamily means that two ends have no addresses of the same family.
var ErrNoFamily = errors.New("the ends have no addresses of the same family")

// Packet returns the first packet of a connection between two ends, using their first addresses of a family, 4 or 6.
func (w *Walker) Packet(from, to topology.Match, protocol string, sourcePort, port, family int) (Packet, error) {
	p := Packet{Protocol: protocol, SourcePort: sourcePort, Port: port}
	for _, a := range w.Addresses(to) {
		if a.Is6() == (family == 6) {
			p.Dst, p.Src = a, w.Source(from, a)
			break
		}
	}
	if !p.Src.IsValid() {
		return Packet{}, ErrNoFamily
	}
	return p, nil
}

// origin returns where the first packet of a connection starts, or a verdict if it cannot be sent.
func (w *Walker) origin(ctx context.Context, from topology.Match, p Packet) (*source, *journey.Verdict, error) {
	switch {
	case from.Kind == topology.KindExternal:
		return &source{packet: p.frame(noMAC, noMAC)}, nil, nil
	case from.Kind == topology.KindNode && from.Chassis != nil:
		return &source{host: w.hosts.byChassis[from.Chassis.Name], packet: p.frame(noMAC, noMAC)}, nil, nil
	case from.Port == nil || from.Kind == topology.KindRPort:
		return nil, unknown(journey.Cause{Kind: journey.NotInOVN, Detail: from.Name}), nil
	}
	return w.fromPort(ctx, from.Port, p)
}

// fromPort starts at a logical port, with the frame that its owner sends.
func (w *Walker) fromPort(ctx context.Context, port *topology.Port, p Packet) (*source, *journey.Verdict, error) {
	carrier, stopped := w.carrier(port)
	if stopped != nil {
		return nil, stopped, nil
	}
	frame, stopped := w.frame(port, p)
	if stopped != nil {
		return nil, stopped, nil
	}
	return w.at(ctx, port, carrier.Chassis, frame)
}

// at returns the source for a logical port on a chassis.
func (w *Walker) at(ctx context.Context, port *topology.Port, chassis string, frame packet.Flow) (*source, *journey.Verdict, error) {
	z := w.zones[port.Zone]
	if z == nil {
		return nil, unknown(journey.Cause{Kind: journey.FlowsUnread, Port: port.Name}), nil
	}
	p, err := z.net.Port(ctx, port.Name)
	if err != nil {
		return nil, nil, err
	}
	if p == nil {
		return nil, droppedAt(port, journey.Cause{Kind: journey.NoPortBinding, Port: port.Name}), nil
	}
	return &source{zone: z, start: ovn.Start{Port: p, Chassis: z.net.ChassisByName(chassis), Packet: frame}}, nil, nil
}

// fromHost continues with a packet that is sent by a host, or from outside.
func (f *follower) fromHost(ctx context.Context, s source, c *ovn.Connections, so Path, each func(Path, *ovn.Connections) error) error {
	t, _ := s.packet.Tuple()
	if s.host != nil {
		so.sections = append(so.sections, section{host: s.host, does: "sends it"})
	}
	so.arrival = arrival{packet: s.packet}
	if to := f.hosts.byAddress[t.Dst]; to != nil || s.host != nil && s.host.has(t.Dst) {
		f.overUnderlay(s, to, &so)
		return each(so, c)
	}
	next, stopped, err := f.intoOVN(ctx, s, t)
	switch {
	case err != nil:
		return err
	case next != nil:
		return f.follow(ctx, *next, c, so, each)
	case stopped != nil:
		so.stopped = stopped
		return each(so, c)
	}
	f.overUnderlay(s, nil, &so)
	return each(so, c)
}

// overUnderlay takes a packet to a host, or to the network outside if nil, over the underlay alone; the reply takes the
// same path.
func (f *follower) overUnderlay(s source, to *host, p *Path) {
	switch {
	case to == nil && p.host == nil && s.host != nil && s.host.has(dstOf(&s.packet)):
		to = s.host
	case to == nil:
		p.outside = true
	}
	p.host = to
	if to != nil && to != s.host {
		p.sections = append(p.sections, section{host: to, does: "receives it over the underlay"})
	}
	if to == nil {
		p.host = s.host
	}
	if reply, ok := ovs.Reply(s.packet); ok {
		p.reply = &source{host: to, packet: reply}
	}
}

func sourceOf(p *packet.Flow) netip.Addr {
	t, _ := p.Tuple()
	return t.Src
}

func dstOf(p *packet.Flow) netip.Addr {
	t, _ := p.Tuple()
	return t.Dst
}

// intoOVN returns where a packet from a host or outside enters a logical network: through the physical network on which
// OVN owns its destination, or through the host's port on the overlay. It is nil if the packet stays on the underlay.
func (f *follower) intoOVN(ctx context.Context, s source, t packet.Tuple) (*source, *journey.Verdict, error) {
	overlay := f.onOverlay(t.Dst)
	if e, ok := f.entryOf(t.Dst); ok && (s.host == nil || !overlay || f.onUnderlay(t.Dst)) {
		next, err := f.enter(ctx, e, s.packet)
		if next == nil && err == nil {
			return nil, unknown(journey.Cause{Kind: journey.FlowsUnread, Port: e.localnet.Name}), nil
		}
		return next, nil, err
	}
	switch {
	case s.host == nil:
		return nil, f.noRouteIn(t.Src, t.Dst), nil
	case !overlay:
		return nil, nil, nil
	case s.host.port == nil:
		return nil, unknown(journey.Cause{Kind: journey.NoOverlayPort, Node: f.nodeName(s.host.chassis.Name), Address: t.Dst}), nil
	}
	return f.byHostPort(ctx, s, t)
}

// byHostPort sends a host's packet through its port on the overlay.
func (f *follower) byHostPort(ctx context.Context, s source, t packet.Tuple) (*source, *journey.Verdict, error) {
	port := s.host.port
	carrier, stopped := f.carrier(port)
	if stopped != nil {
		return nil, stopped, nil
	}
	for _, own := range addressesOn(port) {
		if own.Is6() != t.Dst.Is6() {
			continue
		}
		for _, hop := range f.graph.NextHops(port, own, t.Dst) {
			if hop.MAC == "" || len(port.MACs) == 0 {
				continue
			}
			frame := s.packet
			setMAC(&frame, "eth_src", port.MACs[0])
			setMAC(&frame, "eth_dst", hop.MAC)
			return f.at(ctx, port, carrier.Chassis, frame)
		}
	}
	return nil, droppedAt(port, journey.Cause{Kind: journey.NoGateway, Port: port.Name, Address: t.Dst}), nil
}

// chooseBackend makes load balancers choose a backend, if they have it.
func chooseBackend(b netip.AddrPort) ovn.Chooser {
	return func(c ovn.Choice) int {
		lb, ok := c.Action.(*ovnexpr.CTLB)
		if !ok {
			return 0
		}
		for i, x := range lb.Backends {
			if x.Addr == b.Addr() && (b.Port() == 0 || x.Port == b.Port()) {
				return i
			}
		}
		return 0
	}
}
