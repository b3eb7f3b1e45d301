package cause

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/ovn"
)

// routerChanges returns the changes that let a packet pass a router.
func (e *Explainer) routerChanges(ctx context.Context, s *stop) []change {
	p := s.packet()
	t := trafficOf(&p)
	switch s.kind {
	case journey.NoRoute:
		return e.routeChanges(ctx, s, t)
	case journey.Discarded:
		return e.discardChanges(s, t)
	case journey.NextHopUnknown:
		return e.neighbourChanges(s, NextHop(&p))
	case journey.NextHopDisabled:
		r := e.disabledAt(NextHop(&p))
		return []change{e.enableRouter(r.Name, ovsdb.UUID(r.UUID), r.ExternalIDs)}
	case journey.TTLExpired:
		return []change{remedy(decode.Object{}, "send the packet with a greater TTL: it crosses more routers than that, or loops", "")}
	case journey.TooLarge:
		o := e.portObject(ctx, s.port)
		return []change{remedy(o, fmt.Sprintf("send frames of at most %d bytes, or raise options:gateway_mtu of router port %s", packetLimit(s), s.port.Name()),
			"ovn-nbctl get Logical_Router_Port "+Shell(s.port.Name())+" options")}
	case journey.WrongMAC:
		if s.port != nil && len(s.port.Row.MAC) > 0 {
			mac, _, _ := strings.Cut(s.port.Row.MAC[0], " ")
			return []change{remedy(e.portObject(ctx, s.port), fmt.Sprintf("send to %s, the MAC address of router port %s: the sender's neighbour entry is stale", mac, s.port.Name()), "")}
		}
	}
	return nil
}

// discardChanges returns the changes that remove the policy or route which discards a packet.
func (e *Explainer) discardChanges(s *stop, t traffic) []change {
	router := Shell(s.by.Holder.Name)
	var command string
	switch row := s.by.Row.(type) {
	case nb.Policy:
		command = fmt.Sprintf("ovn-nbctl lr-policy-del %s %d %s", router, row.Priority, Shell(row.Match))
	case nb.StaticRoute:
		command = fmt.Sprintf("ovn-nbctl lr-route-del %s %s", router, Shell(row.IPPrefix))
	default:
		return nil
	}
	c := remedy(s.by, "delete "+s.by.Text, command)
	c.try = without(s.flow)
	switch owner := s.by.Owner; owner.Kind {
	case "EgressIP", "EgressService":
		c.Text = fmt.Sprintf("%s: it sends %s elsewhere", owner, trafficText(e.asked(t)))
		c.Command = "kubectl describe " + strings.ToLower(owner.Kind) + " " + Shell(owner.FullName())
	case "Subnet":
		c.Text, c.Command = fmt.Sprintf("%s: %s", owner, s.by.Text), "kubectl edit subnet "+Shell(owner.Name)
	}
	return []change{c}
}

// neighbourChanges returns the changes that give a router its next hop's MAC address.
func (e *Explainer) neighbourChanges(s *stop, hop netip.Addr) []change {
	if s.port == nil {
		return nil
	}
	text := fmt.Sprintf("the host with the address %s has to reply on the network behind router port %s", hop, s.port.Name())
	c := remedy(decode.Object{}, text, "")
	for _, p := range e.graph.PortsAt(hop) {
		if len(p.MACs) > 0 {
			c.Text += fmt.Sprintf("; %s has it, at %s", p.Name, p.MACs[0])
			c.Command = fmt.Sprintf("ovn-nbctl static-mac-binding-add %s %s %s", Shell(s.port.Name()), hop, p.MACs[0])
			break
		}
	}
	return []change{c}
}

// A newRoute is a route that a router lacks.
type newRoute struct {
	prefix  netip.Prefix
	bySrc   bool
	nextHop netip.Addr
	out     *logicalflow.Port // towards the next hop
}

// routeChanges returns the changes that give a router a route to the packet's destination.
func (e *Explainer) routeChanges(ctx context.Context, s *stop, t traffic) []change {
	d := s.visit.Datapath
	o := routerObject(d.Name, d.NBUUID)
	route, ok := e.routeFor(ctx, s, t)
	if !ok {
		return []change{remedy(o, fmt.Sprintf("router %s: a route to %s", d.Name, t.dst), "ovn-nbctl lr-route-list "+Shell(d.Name))}
	}
	which := "to " + route.prefix.String()
	if route.bySrc {
		which = "for what comes from " + route.prefix.String()
	}
	c := remedy(o, fmt.Sprintf("router %s: add a route %s via %s", d.Name, which, route.nextHop),
		fmt.Sprintf("ovn-nbctl %slr-route-add %s %s %s", choose(route.bySrc, "--policy=src-ip ", ""), Shell(d.Name), route.prefix, route.nextHop))
	if r := e.router(d); r != nil {
		switch {
		case neutrons(r.ExternalIDs):
			c.Command = fmt.Sprintf("openstack router add route --route destination=%s,gateway=%s %s", route.prefix, route.nextHop, Shell(strings.TrimPrefix(d.Name, "neutron-")))
		case r.ExternalIDs["vendor"] == "kube-ovn":
			c.Text = fmt.Sprintf("Vpc %s: add to staticRoutes %s via %s", d.Name, which, route.nextHop)
			c.Command = "kubectl edit vpc " + Shell(d.Name)
		}
	}
	c.try = e.routed(ctx, s, t, route)
	return []change{c}
}

// routeFor finds the next hop that others in the same place use: the chassis' gateway router if the router routes by
// source, else the next hop of another router's route, else a neighbouring router on the destination network.
func (e *Explainer) routeFor(ctx context.Context, s *stop, t traffic) (newRoute, bool) {
	ports, err := s.visit.Datapath.Ports(ctx)
	if err != nil {
		return newRoute{}, false
	}
	toward := func(hop netip.Addr) *logicalflow.Port {
		for _, p := range ports {
			for _, n := range networksOf(p) {
				if n.Contains(hop) && n.Addr() != hop {
					return p
				}
			}
		}
		return nil
	}
	if r := e.router(s.visit.Datapath); r != nil && slices.ContainsFunc(r.Routes, func(r *topology.Route) bool { return r.Policy == "src-ip" }) {
		if found, ok := e.gatewayRoute(s, t, toward); ok {
			return found, true
		}
	}
	return e.neighbourRoute(s, t, toward)
}

// gatewayRoute returns a route to the gateway router of the packet's chassis.
func (e *Explainer) gatewayRoute(s *stop, t traffic, toward func(netip.Addr) *logicalflow.Port) (newRoute, bool) {
	if s.visit.Chassis == nil || s.visit.Inport == nil {
		return newRoute{}, false
	}
	var source netip.Prefix
	for _, n := range networksOf(s.visit.Inport) {
		if n.Contains(t.src) {
			source = n.Masked()
		}
	}
	for _, r := range e.graph.Routers {
		if r.Chassis != s.visit.Chassis.Row.Name || !source.IsValid() {
			continue
		}
		if hop, out := e.hopTo(r, t.dst.Is6(), toward); out != nil {
			return newRoute{prefix: source, bySrc: true, nextHop: hop, out: out}, true
		}
	}
	return newRoute{}, false
}

// hopTo returns the address at which a port reaches a router, and that port; nil if none does.
func (e *Explainer) hopTo(r *topology.Router, v6 bool, toward func(netip.Addr) *logicalflow.Port) (netip.Addr, *logicalflow.Port) {
	for _, p := range e.graph.PortsOn(r.UUID) {
		for _, hop := range hopsAt(p, v6) {
			if out := toward(hop); out != nil {
				return hop, out
			}
		}
	}
	return netip.Addr{}, nil
}

// neighbourRoute returns a route to another router's next hop for the destination, or to a router on its network.
func (e *Explainer) neighbourRoute(s *stop, t traffic, toward func(netip.Addr) *logicalflow.Port) (newRoute, bool) {
	for _, r := range e.graph.Routers {
		for _, known := range r.Routes {
			prefix, err := netip.ParsePrefix(known.Prefix)
			hop, hopErr := netip.ParseAddr(known.NextHop)
			if err != nil || hopErr != nil || known.Policy == "src-ip" || !prefix.Contains(t.dst) {
				continue
			}
			if out := toward(hop); out != nil && r.UUID != string(s.visit.Datapath.NBUUID) {
				return newRoute{prefix: prefix, nextHop: hop, out: out}, true
			}
		}
	}
	for _, r := range e.graph.Routers {
		if r.UUID == string(s.visit.Datapath.NBUUID) {
			continue
		}
		network, reaches := networkWith(e.graph.PortsOn(r.UUID), t.dst)
		if hop, out := e.hopTo(r, t.dst.Is6(), toward); reaches && out != nil {
			return newRoute{prefix: network, nextHop: hop, out: out}, true
		}
	}
	return newRoute{}, false
}

// networkWith returns the ports' network that contains an address.
func networkWith(ports []*topology.Port, a netip.Addr) (netip.Prefix, bool) {
	for _, p := range ports {
		for _, text := range p.Networks {
			if n, err := netip.ParsePrefix(text); err == nil && n.Contains(a) {
				return n.Masked(), true
			}
		}
	}
	return netip.Prefix{}, false
}

// hopsAt returns a router port's addresses of one family.
func hopsAt(p *topology.Port, v6 bool) []netip.Addr {
	var hops []netip.Addr
	for _, text := range p.Networks {
		if n, err := netip.ParsePrefix(text); err == nil && n.Addr().Is6() == v6 {
			hops = append(hops, n.Addr())
		}
	}
	return hops
}

// networksOf returns a router port's networks, with its own addresses in them.
func networksOf(p *logicalflow.Port) []netip.Prefix {
	var networks []netip.Prefix
	for _, text := range p.Row.MAC {
		for _, word := range strings.Fields(text) {
			if n, err := netip.ParsePrefix(word); err == nil {
				networks = append(networks, n)
			}
		}
	}
	return networks
}

// routed adds a route in memory: a copy of the route to the next hop's network, with another next hop.
func (e *Explainer) routed(ctx context.Context, s *stop, t traffic, r newRoute) func(context.Context, *overlay) {
	table := tableOf(s.visit, s.step)
	flows, err := e.net.Flows(ctx, table)
	if err != nil {
		return nil
	}
	register := choose(t.dst.Is6(), "xxreg0 = ", "reg0 = ")
	field := t.ip() + ".dst"
	for _, f := range flows {
		actions := f.Row.Actions
		if !strings.Contains(actions, register+field+";") || !strings.Contains(actions, fmt.Sprintf("outport = %q;", r.out.Name())) || !strings.Contains(f.Row.Match, field) {
			continue
		}
		row := sb.LogicalFlow{
			LogicalFlowMatch: f.Row.LogicalFlowMatch,
			Actions:          strings.Replace(actions, register+field+";", register+r.nextHop.String()+";", 1),
			ExternalIDs:      map[string]string{"stage-name": f.Stage()},
		}
		row.UUID, row.Priority, row.Match = "", maxPriority, field+" == "+t.dst.String()
		return func(ctx context.Context, o *overlay) {
			if added := e.net.Compile(ctx, row); added.Err() == nil {
				o.added = append(o.added, addition{table, added})
			}
		}
	}
	return nil
}

// maxPriority is above every flow's.
const maxPriority = 65535

// enableRouter returns the change that enables a router.
func (e *Explainer) enableRouter(name string, uuid ovsdb.UUID, ids map[string]string) change {
	c := remedy(routerObject(name, uuid), "enable the router "+name, "ovn-nbctl set Logical_Router "+Shell(name)+" enabled=true")
	if neutrons(ids) {
		c.Command = "openstack router set --enable " + Shell(strings.TrimPrefix(name, "neutron-"))
	}
	return c
}

func routerObject(name string, uuid ovsdb.UUID) decode.Object {
	return decode.Object{Kind: "router", Name: name, UUID: uuid, Text: "router " + name}
}

// translations returns changes that translate the inside source address of a packet on a physical network.
func (e *Explainer) translations(ctx context.Context, w *ovn.Path) []change {
	end := w.End()
	if end == nil || end.End == nil || end.End.Reason != ovn.ToNetwork {
		return nil
	}
	var first, last *ovn.Visit
	for _, v := range end.Visits() {
		if !v.Datapath.Router {
			continue
		}
		if first == nil {
			first = v
		}
		last = v
	}
	if last == nil || last.Outport == nil || first.Inport == nil {
		return nil
	}
	t := trafficOf(&end.Packet)
	var outside, inside netip.Prefix
	for _, n := range networksOf(last.Outport) {
		if n.Addr().Is6() == t.src.Is6() && !n.Addr().IsLinkLocalUnicast() {
			outside = n
		}
	}
	for _, n := range networksOf(first.Inport) {
		if n.Contains(t.src) {
			inside = n.Masked()
		}
	}
	if !outside.IsValid() || !inside.IsValid() || outside.Contains(t.src) {
		return nil
	}
	d := last.Datapath
	o := routerObject(d.Name, d.NBUUID)
	c := remedy(o, fmt.Sprintf("router %s: translate what comes from %s to %s (snat)", d.Name, inside, outside.Addr()),
		fmt.Sprintf("ovn-nbctl lr-nat-add %s snat %s %s", Shell(d.Name), outside.Addr(), inside))
	if r := e.router(d); r != nil && neutrons(r.ExternalIDs) {
		c.Command = fmt.Sprintf("openstack router set --enable-snat --external-gateway %s %s",
			Shell(strings.TrimPrefix(end.Datapath.Name, "neutron-")), Shell(strings.TrimPrefix(d.Name, "neutron-")))
	}
	return []change{c}
}
