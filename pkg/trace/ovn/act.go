package ovn

import (
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Actions that move values and packets within a datapath.

func (w *walker) drop(*instruction) control { return w.end(journey.Dropped, DropAction, nil) }

// plain returns an action without arguments.
func plain(name string) func(*walker, *instruction) control {
	switch name {
	case "output":
		return (*walker).output
	case "ct_clear":
		return (*walker).ctClear
	case "ct_snat_to_vip":
		return (*walker).ctSNATToVIP
	case "igmp", "handle_dhcpv6_reply", "handle_bfd_msg":
		return (*walker).toController
	case "mac_cache_use", "flood_remote":
		return noted(Ignored)
	}
	return (*walker).strange
}

// noted returns an action that leaves the packet unchanged.
func noted(kind NoteKind) func(*walker, *instruction) control {
	return func(w *walker, in *instruction) control {
		w.note(Note{Kind: kind, Action: in.action})
		return proceed
	}
}

// strange ends the path at an action that the engine does not know.
func (w *walker) strange(in *instruction) control {
	w.end(journey.Unknown, NotUnderstood, nil)
	w.visit.End.Detail = in.action.String()
	return stop
}

// toController passes the packet to ovn-controller; the flow's remaining actions still run.
func (w *walker) toController(in *instruction) control {
	w.note(Note{Kind: Observed, Action: in.action})
	if in.last {
		w.end(journey.Consumed, Controller, nil)
		w.visit.End.Detail = in.action.String()
	}
	return proceed
}

// next continues in another table, of the same pipeline or of another.
func (w *walker) next(in *instruction) control {
	a := in.action.(*ovnexpr.Next)
	pipeline, table := w.visit.Pipeline, w.here()+1
	if a.Pipeline != "" {
		pipeline = a.Pipeline
	}
	if a.HasTable {
		table = a.Table
	}
	return w.resume(in, pipeline, table)
}

// here returns the packet's current table.
func (w *walker) here() int {
	for v := w.visit; v != nil; v = v.Parent {
		if n := len(v.Steps); n > 0 {
			return v.Steps[n-1].Table
		}
	}
	return 0
}

// resume continues in a table.
func (w *walker) resume(in *instruction, pipeline string, table int) control {
	w.sent = true
	switch {
	case len(w.visit.Steps) == 0: // the body of a nested action
		w.visit.Pipeline = pipeline
		if pipeline == logicalflow.Egress {
			w.visit.Outport = w.outport()
		}
		w.start(table)
		return stop
	case pipeline != w.visit.Pipeline:
		child := w.open(Redirected, "")
		child.visit.Pipeline = pipeline
		if pipeline == logicalflow.Egress {
			child.visit.Outport = w.outport()
		}
		child.start(table)
		return proceed
	case in.last:
		w.table = table
		return jump
	}
	w.tables(table) // then continue with what follows
	w.sent = true
	return proceed
}

// outport returns the packet's output port; nil if it has none.
func (w *walker) outport() *logicalflow.Port {
	p, err := w.visit.Datapath.PortByKey(w.run.ctx, int(w.run.fields.outport.Get(&w.packet).Lo))
	if err != nil {
		w.run.fail(err)
	}
	return p
}

func (w *walker) load(in *instruction) control {
	old := in.a.Get(&w.packet)
	w.set(in.a, old.AndNot(in.mask).Or(in.value))
	return proceed
}

// loadPort writes the key of a port or multicast group of this datapath; 0 if none has the name.
func (w *walker) loadPort(in *instruction) control {
	key, err := w.run.key(w.visit.Datapath, in.port)
	if err != nil {
		return w.run.fail(err)
	}
	w.set(in.a, packet.Uint(key))
	return proceed
}

type portName struct {
	datapath *logicalflow.Datapath
	name     string
}

// key returns the number of a port or multicast group in a datapath; 0 if none has the name.
func (r *run) key(d *logicalflow.Datapath, name string) (uint64, error) {
	if name == "" {
		return 0, nil
	}
	if key, ok := r.engine.keys.Load(portName{d, name}); ok {
		return key.(uint64), nil
	}
	key, err := r.findKey(d, name)
	if err == nil {
		r.engine.keys.Store(portName{d, name}, key)
	}
	return key, err
}

func (r *run) findKey(d *logicalflow.Datapath, name string) (uint64, error) {
	groups, err := d.Groups(r.ctx)
	if err != nil {
		return 0, err
	}
	for _, g := range groups {
		if g.Row.Name == name {
			return uint64(g.Row.TunnelKey), nil
		}
	}
	p, err := r.port(name)
	if err != nil || p == nil || p.Datapath != d {
		return 0, err
	}
	return uint64(p.Key()), nil
}

func (w *walker) move(in *instruction) control {
	w.set(in.a, in.b.Get(&w.packet))
	return proceed
}

func (w *walker) exchange(in *instruction) control {
	a, b := in.a.Get(&w.packet), in.b.Get(&w.packet)
	w.set(in.a, b)
	w.set(in.b, a)
	return proceed
}

func (w *walker) push(in *instruction) control {
	if len(w.stack) >= maxStack {
		return w.limit("push without pop")
	}
	w.stack = append(w.stack, in.a.Get(&w.packet))
	return proceed
}

func (w *walker) pop(in *instruction) control {
	if n := len(w.stack); n > 0 {
		w.set(in.a, w.stack[n-1])
		w.stack = w.stack[:n-1]
	}
	return proceed
}

// decTTL drops a packet whose TTL has expired, as Open vSwitch does: no flow of OVN gets packets that the switch itself
// refuses to send on.
func (w *walker) decTTL(*instruction) control {
	ttl := w.run.fields.ttl
	v := ttl.Get(&w.packet).Lo
	if v <= 1 {
		return w.end(journey.Dropped, TTLExceeded, nil)
	}
	w.set(ttl, packet.Uint(v-1))
	return proceed
}

// selectMember writes one of several numbers and continues in the next table.
func (w *walker) selectMember(in *instruction) control {
	a := in.action.(*ovnexpr.Select)
	i := w.choose(a, len(a.Members))
	w.set(in.a, packet.Uint(uint64(a.Members[i].ID)))
	return w.resume(in, w.visit.Pipeline, w.here()+1)
}

// forwardGroup sends the packet out of one of several ports.
func (w *walker) forwardGroup(in *instruction) control {
	a := in.action.(*ovnexpr.ForwardGroup)
	if len(a.Ports) == 0 {
		return w.end(journey.Dropped, EmptyGroup, nil)
	}
	key, err := w.run.key(w.visit.Datapath, a.Ports[w.choose(a, len(a.Ports))])
	if err != nil {
		return w.run.fail(err)
	}
	w.set(w.run.fields.outport, packet.Uint(key))
	return w.output(in)
}

// mirror sends a copy out of a port.
func (w *walker) mirror(in *instruction) control {
	key, err := w.run.key(w.visit.Datapath, in.action.(*ovnexpr.Mirror).Port)
	if err != nil {
		return w.run.fail(err)
	}
	copied := w.open(Mirrored, "mirror")
	copied.aside = true
	copied.run.fields.outport.Set(&copied.packet, packet.Uint(key))
	copied.visit.Packet = copied.packet
	copied.output(in)
	return proceed
}
