package ovn

import (
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Between pipelines, ovn-architecture(7) "Life Cycle of a Packet": from an ingress pipeline to the egress pipeline of
// the outport's chassis, and from there to the port's owner or to the next datapath.

// bound reports whether a port is on one chassis at a time, and nowhere without one.
func bound(p *logicalflow.Port) bool {
	switch p.Row.Type {
	case "patch", "localnet", "localport":
		return false
	}
	return true
}

// output sends the packet on.
func (w *walker) output(*instruction) control {
	w.sent = true
	if len(w.visit.Steps) == 0 {
		w.visit.Packet = w.packet
	}
	if w.visit.Pipeline == logicalflow.Egress {
		w.leave()
		return proceed
	}
	key := int(w.run.fields.outport.Get(&w.packet).Lo)
	if key == 0 {
		w.end(journey.Dropped, NoOutport, nil)
		return proceed
	}
	d, ctx := w.visit.Datapath, w.run.ctx
	p, err := d.PortByKey(ctx, key)
	if err != nil {
		return w.run.fail(err)
	}
	if p != nil {
		w.switchTo(p)
		return proceed
	}
	g, err := d.GroupByKey(ctx, key)
	if err != nil {
		return w.run.fail(err)
	}
	if g == nil {
		w.end(journey.Dropped, NoOutport, nil)
		return proceed
	}
	w.flood(g)
	return proceed
}

// flood sends a copy to each port of a group.
func (w *walker) flood(g *logicalflow.Group) {
	children := len(w.visit.Children)
	carrier, err := w.run.carrier(w.visit.Datapath, w.visit.Chassis)
	if err != nil {
		w.run.fail(err)
		return
	}
	for _, p := range g.Ports {
		if w.run.err != nil {
			return
		}
		there := p
		if p.Row.Type == "chassisredirect" {
			if there, err = w.run.port(p.Row.Options["distributed-port"]); err != nil || there == nil {
				continue
			}
		}
		switch {
		case there == w.visit.Inport && w.run.fields.loopback.Get(&w.packet).IsZero():
		case bound(p) && w.run.engine.net.Chassis(p.Row.Chassis.Get()) == nil:
		case bound(p) && !resides(p, w.visit.Chassis) && carrier != nil: // it receives from the physical network
		default:
			w.pass(p, Copied)
		}
	}
	if len(w.visit.Children) == children {
		w.end(journey.Dropped, EmptyGroup, nil)
	}
}

// switchTo sends the packet to the egress pipeline of its outport.
func (w *walker) switchTo(p *logicalflow.Port) {
	kind := p.Row.Type
	if kind == "external" || bound(p) && !resides(p, w.visit.Chassis) && kind != "chassisredirect" && kind != "l3gateway" {
		carrier, err := w.run.carrier(w.visit.Datapath, w.visit.Chassis)
		switch {
		case err != nil:
			w.run.fail(err)
			return
		case carrier != nil && kind != "vtep": // the port is reached over the physical network of the switch
			w.pass(carrier, Output)
			return
		}
	}
	if kind == "chassisredirect" && p.Row.Options["redirect-type"] == "bridged" && !resides(p, w.visit.Chassis) {
		w.bridge(p)
		return
	}
	w.pass(p, Output)
}

// bridge takes a packet to a distributed router's gateway over the physical network instead of a tunnel.
func (w *walker) bridge(p *logicalflow.Port) {
	child := w.open(Arrived, "")
	v := child.visit
	v.Packet = child.packet
	home := w.run.engine.net.Chassis(p.Row.Chassis.Get())
	if home == nil {
		child.end(journey.Dropped, NotBound, p)
		return
	}
	peer, err := w.run.distributedPeer(p)
	if err != nil {
		w.run.fail(err)
		return
	}
	if peer == nil {
		child.end(journey.Dropped, NoPeer, p)
		return
	}
	carrier, err := w.run.carrier(peer.Datapath, home)
	switch {
	case err != nil:
		w.run.fail(err)
	case carrier == nil:
		child.end(journey.Dropped, NotHere, p)
	default:
		child.settle()
		v.Datapath, v.Pipeline, v.Chassis = peer.Datapath, logicalflow.Ingress, home
		child.renew(carrier)
		child.start(0)
	}
}

// distributedPeer returns the switch port connected to a distributed gateway port; nil if there is none.
func (r *run) distributedPeer(redirect *logicalflow.Port) (*logicalflow.Port, error) {
	p, err := r.port(redirect.Row.Options["distributed-port"])
	if err != nil || p == nil {
		return nil, err
	}
	return p.Peer(r.ctx)
}

// pass takes the packet to a port's chassis, and through the egress pipeline there.
func (w *walker) pass(p *logicalflow.Port, origin Origin) {
	f := w.run.fields
	child := w.open(origin, "")
	v := child.visit
	v.Pipeline, v.Outport = logicalflow.Egress, p
	home := v.Chassis
	if bound(p) && !resides(p, v.Chassis) {
		home = w.run.engine.net.Chassis(p.Row.Chassis.Get())
	}
	f.outport.Set(&child.packet, packet.Uint(uint64(p.Key())))
	if !child.reach(p, home) {
		v.Packet = child.packet
		return
	}
	child.arrive(p)
}

// arrive runs the egress pipeline for an outport on its chassis.
func (w *walker) arrive(p *logicalflow.Port) {
	f, v := w.run.fields, w.visit
	if p.Row.Type == "chassisredirect" {
		distributed, err := w.run.port(p.Row.Options["distributed-port"])
		if err != nil {
			w.run.fail(err)
			return
		}
		if distributed == nil {
			v.Packet = w.packet
			w.end(journey.Dropped, NoPeer, p)
			return
		}
		v.Outport = distributed
		f.outport.Set(&w.packet, packet.Uint(uint64(distributed.Key())))
	}
	if f.loopback.Get(&w.packet).IsZero() && f.inport.Get(&w.packet) == f.outport.Get(&w.packet) {
		v.Packet = w.packet
		w.end(journey.Dropped, SameOutport, v.Outport)
		return
	}
	for _, r := range f.registers {
		r.Set(&w.packet, packet.Value{})
	}
	w.start(0)
}

// reach takes the packet to its outport's chassis; false if it does not get there, or ends there.
func (w *walker) reach(p *logicalflow.Port, home *logicalflow.Chassis) bool {
	v := w.visit
	switch {
	case home == nil && bound(p):
		w.end(journey.Dropped, NotBound, p)
		return false
	case home == v.Chassis && p.Row.Type != "vtep" && p.Row.Type != "remote":
		return true
	case v.Inport != nil && v.Inport.Row.Type == "localport":
		w.end(journey.Dropped, NotHere, p)
		return false
	}
	if !w.tunnel(home) {
		return false
	}
	switch p.Row.Type {
	case "vtep":
		w.end(journey.Delivered, ToVTEP, p)
		return false
	case "remote":
		w.end(journey.Delivered, ToZone, p)
		return false
	}
	return true
}

// Bits of VXLAN's key for the datapath and for the outport.
const (
	vxlanDatapath = 1 << 12
	vxlanPort     = 1 << 11
)

// tunnel takes the packet to another chassis. The tunnel carries datapath, inport and outport; VXLAN carries no inport.
func (w *walker) tunnel(to *logicalflow.Chassis) bool {
	v, f := w.visit, w.run.fields
	v.Tunnel = between(v.Chassis, to)
	if v.Tunnel == nil {
		w.end(journey.Dropped, NoTunnel, v.Outport)
		return false
	}
	w.settle()
	in, out := f.inport.Get(&w.packet), f.outport.Get(&w.packet)
	if v.Tunnel.Type == "vxlan" {
		in = packet.Value{}
		if v.Datapath.Key() >= vxlanDatapath || out.Lo >= vxlanPort {
			w.end(journey.Dropped, NotCarried, v.Outport)
			return false
		}
		v.Inport = nil
	}
	w.packet.ClearRegisters()
	w.packet.ClearConntrack()
	f.mark.Set(&w.packet, packet.Value{})
	f.inport.Set(&w.packet, in)
	f.outport.Set(&w.packet, out)
	v.Chassis = to
	return true
}

// between returns the tunnel from one chassis to another: of the types that both have, the one that ovn-controller
// prefers. An unknown chassis is assumed to have what is needed.
func between(from, to *logicalflow.Chassis) *Tunnel {
	if to == nil {
		return nil
	}
	for _, kind := range []string{"geneve", "stt", "vxlan"} {
		t := Tunnel{From: from, To: to, Type: kind, Remote: encapOf(to, kind)}
		if from != nil {
			t.Local = encapOf(from, kind)
		}
		if t.Remote != "" && (from == nil || t.Local != "") {
			return &t
		}
	}
	return nil
}

// encapOf returns a chassis' tunnel address for a type; empty if it has none.
func encapOf(c *logicalflow.Chassis, kind string) string {
	for _, e := range c.Encaps {
		if e.Type == kind {
			return e.IP
		}
	}
	return ""
}

// leave takes the packet out of a port, at the end of its egress pipeline.
func (w *walker) leave() {
	p := w.visit.Outport
	if now := w.outport(); now != nil {
		p = now
	}
	if p == nil {
		w.end(journey.Dropped, NoOutport, nil)
		return
	}
	switch p.Row.Type {
	case "patch", "l3gateway":
		w.cross(p)
	case "localnet":
		w.toNetwork(p)
	case "l2gateway":
		w.settle()
		w.end(journey.Delivered, ToNetwork, p)
		w.visit.End.Network = p.Row.Options["network_name"]
	default:
		w.settle()
		w.end(journey.Delivered, ToPort, p)
	}
}

// cross takes the packet through a patch port to the next datapath, where only its headers remain.
func (w *walker) cross(p *logicalflow.Port) {
	peer, err := p.Peer(w.run.ctx)
	if err != nil {
		w.run.fail(err)
		return
	}
	if peer == nil {
		w.end(journey.Dropped, NoPeer, p)
		return
	}
	child := w.open(Crossed, "")
	child.visit.Datapath, child.visit.Pipeline = peer.Datapath, logicalflow.Ingress
	child.renew(peer)
	child.start(0)
}

// renew makes the packet one that enters by a port: it keeps only its headers.
func (w *walker) renew(port *logicalflow.Port) {
	w.visit.Inport, w.visit.Outport = port, nil
	w.packet.ClearRegisters()
	w.packet.ClearConntrack()
	w.admit(port)
}
