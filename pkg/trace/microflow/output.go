package microflow

import (
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

const sameport = "/* omitting output because inport == outport && !flags.loopback */"

// output sends the packet to its outport: from ingress to egress, from egress out of the datapath.
func (r *run) output() {
	d, k := r.at.Datapath, key(r.p, outportReg)
	if k == 0 {
		r.super.add(Fault, "*** output to null logical port")
		return
	}
	port, group := r.portByKey(d, k), r.group(d, k)
	if port == nil && group == nil {
		r.super.add(Fault, "*** unknown port or multicast group %d", k)
	}
	switch {
	case r.at.Pipeline == logicalflow.Egress:
		r.leave(port, group)
	case group != nil:
		r.multicast(group)
	case port != nil && port.Row.Type == "chassisredirect":
		r.redirect(port)
	default:
		r.egress(port, r.nameOr(port, "(unnamed)"))
	}
}

// leave sends the packet out of the egress pipeline.
func (r *run) leave(port *logicalflow.Port, group *logicalflow.Group) {
	name, kind := "(unnamed)", ""
	switch {
	case port != nil:
		name, kind = r.portName(port), port.Row.Type
	case group != nil:
		name = group.Row.Name
	}
	r.super.add(Output, "/* output to \"%s\", type \"%s\" */", name, kind)
	peer := r.peer(port)
	if peer == nil {
		r.super.add(Modify, "output(\"%s\")", name)
		return
	}
	node := r.super.add(Pipeline, "ingress(dp=\"%s\", inport=\"%s\")", r.datapathName(peer.Datapath), r.portName(peer))
	p := *r.p
	p.Set(inportReg, packet.Uint(uint64(peer.Key())))
	p.Set(outportReg, packet.Uint(0))
	r.table(logicalflow.Table{Datapath: peer.Datapath, Pipeline: logicalflow.Ingress}, &p, node)
}

// peer returns the other end of a patch port.
func (w *walker) peer(p *logicalflow.Port) *logicalflow.Port {
	if p == nil || p.Row.Type != "patch" && p.Row.Type != "l3gateway" {
		return nil
	}
	name, ok := p.Row.Options["peer"]
	if !ok {
		return nil
	}
	return w.port(name)
}

// fresh returns the packet as ovn-trace passes it to the egress pipeline: of the registers, only the ports remain.
func fresh(p *packet.Flow) packet.Flow {
	q := *p
	q.ClearRegisters()
	q.Set(inportReg, p.Get(inportReg))
	q.Set(outportReg, p.Get(outportReg))
	return q
}

func (r *run) loopback() bool { return r.p.Get(flagsReg).Lo&allowLoopback != 0 }

// enterEgress adds the node of an egress pipeline.
func (r *run) enterEgress(super *Node, outport string) *Node {
	d := r.at.Datapath
	return super.add(Pipeline, "egress(dp=\"%s\", inport=\"%s\", outport=\"%s\")", r.datapathName(d),
		r.keyName(d, key(r.p, inportReg)), outport)
}

// multicast sends the packet to each port of a group. They share one packet: what one port's egress pipeline changes,
// the next one sees.
func (r *run) multicast(g *logicalflow.Group) {
	d := r.at.Datapath
	all := r.super.add(Pipeline, "multicast(dp=\"%s\", mcgroup=\"%s\")", r.datapathName(d), g.Row.Name)
	p := fresh(r.p)
	for _, port := range g.Ports {
		node := r.enterEgress(all, r.portName(port))
		if port.Key() == key(r.p, inportReg) && !r.loopback() {
			node.add(Output, sameport)
			continue
		}
		node.indent = true
		p.Set(outportReg, packet.Uint(uint64(port.Key())))
		r.table(logicalflow.Table{Datapath: d, Pipeline: logicalflow.Egress}, &p, node)
	}
}

// redirect sends the packet to the port that a chassisredirect port stands for.
func (r *run) redirect(port *logicalflow.Port) {
	var distributed *logicalflow.Port
	if name, ok := port.Row.Options["distributed-port"]; ok {
		distributed = r.port(name)
	}
	if distributed == nil || distributed.Datapath != port.Datapath {
		r.super.add(Fault, "*** output to type \"%s\" port \"%s\" with no or invalid distributed port", port.Row.Type, r.portName(port))
		return
	}
	r.super.add(Output, "/* Replacing type \"%s\" outport \"%s\" with distributed port \"%s\". */",
		port.Row.Type, r.portName(port), r.portName(distributed))
	r.egress(distributed, r.portName(distributed))
}

// egress sends the packet through the egress pipeline to a port; nil if no port has the key.
func (r *run) egress(port *logicalflow.Port, name string) {
	same := port == nil || port.Key() == key(r.p, inportReg)
	if same && !r.loopback() {
		r.super.add(Output, sameport)
		return
	}
	p := fresh(r.p)
	if port != nil {
		p.Set(outportReg, packet.Uint(uint64(port.Key())))
	}
	r.table(logicalflow.Table{Datapath: r.at.Datapath, Pipeline: logicalflow.Egress}, &p, r.enterEgress(r.super, name))
}

// mirror sends a copy out of a port.
func (r *run) mirror(a *ovnexpr.Mirror) {
	port := r.port(a.Port)
	if port == nil {
		r.super.add(Output, "/* omitting output because no taget port found. */")
		return
	}
	p := fresh(r.p)
	p.Set(outportReg, packet.Uint(uint64(port.Key())))
	r.table(logicalflow.Table{Datapath: port.Datapath, Pipeline: logicalflow.Egress}, &p, r.super.add(Transformation, "clone"))
}
