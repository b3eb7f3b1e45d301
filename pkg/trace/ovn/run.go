package ovn

import (
	"context"
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Bounds of one packet's path, since the Southbound may contain a loop. A packet that loops until its TTL expires stays
// below.
const (
	maxDepth  = 2048  // nested visits
	maxVisits = 8192  // of a path
	maxSteps  = 50000 // of a path
	maxStack  = 64    // values on the push stack
)

func symbols(net *logicalflow.Network) *ovnexpr.Symbols {
	return ovnexpr.SymbolsOf(ovnexpr.Profile{Version: net.Version()})
}

// A run follows one path.
type run struct {
	engine      *Engine
	fields      *fields
	ctx         context.Context
	path        *Path
	connections *Connections
	chooser     Chooser
	taken       int    // steps taken
	entered     []Zone // one for each connection that the packet made
	asking      bool   // it is a router's request, which triggers no other
	err         error  // a read failed: the path is given up
	memory

	chassis  *logicalflow.Chassis // for resident
	resident logicalflow.Resident
	missing  []string // ports that resident did not know
}

// fail gives up the path.
func (r *run) fail(err error) control {
	if r.err == nil {
		r.err = err
	}
	return stop
}

// A walker is one packet in one visit.
type walker struct {
	run    *run
	visit  *Visit
	packet packet.Flow
	depth  int
	table  int            // to jump to
	stack  []packet.Value // of the current flow
	sent   bool           // the packet went on
	aside  bool           // it is OVN's own reply, or a mirrored copy

	// What conntrack did to the packet; flows see it only when it comes back from conntrack.
	pending *packet.Tuple
	// For an ICMP error, the packet that it is about.
	about  *packet.Tuple
	silent bool // do not record changes
}

// enter starts the path.
func (r *run) enter(s Start) {
	if s.Outport != nil {
		r.emerge(s)
		return
	}
	chassis := s.Chassis
	if chassis == nil {
		chassis = r.engine.net.Chassis(s.Port.Row.Chassis.Get())
	}
	port := s.Port
	if port.Row.Type == "external" { // its owner is on the physical network of the switch
		if carrier, err := r.carrier(port.Datapath, chassis); err != nil {
			r.fail(err)
			return
		} else if carrier != nil {
			port = carrier
		}
	}
	w := r.walker(nil, Visit{Origin: Entered, At: -1, Datapath: port.Datapath, Chassis: chassis, Pipeline: logicalflow.Ingress, Inport: port})
	w.packet = s.Packet
	w.packet.ClearRegisters()
	w.packet.ClearConntrack()
	w.admit(port)
	w.visit.Packet = w.packet
	r.path.Root = w.visit
	if chassis == nil && bound(port) {
		w.end(journey.Dropped, NotBound, port)
		return
	}
	w.tables(0)
}

// emerge starts the path of a packet that comes out of a tunnel.
func (r *run) emerge(s Start) {
	f := r.fields
	w := r.walker(nil, Visit{Origin: Entered, At: -1, Datapath: s.Outport.Datapath, Chassis: s.Chassis, Pipeline: logicalflow.Egress, Inport: s.Port, Outport: s.Outport})
	w.packet = s.Packet
	w.packet.ClearRegisters()
	w.packet.ClearConntrack()
	if s.Port != nil {
		f.inport.Set(&w.packet, packet.Uint(uint64(s.Port.Key())))
	}
	f.outport.Set(&w.packet, packet.Uint(uint64(s.Outport.Key())))
	r.path.Root = w.visit
	w.arrive(s.Outport)
}

// admit makes a packet one that enters by a port.
func (w *walker) admit(port *logicalflow.Port) {
	f := w.run.fields
	f.inport.Set(&w.packet, packet.Uint(uint64(port.Key())))
	if port.Row.Type == "localnet" {
		f.localnet.Set(&w.packet, packet.Uint(1))
	}
}

// walker opens a visit.
func (r *run) walker(from *walker, v Visit) *walker {
	w := &walker{run: r, visit: &v}
	if from != nil {
		v.Parent = from.visit
		w.depth, w.aside = from.depth+1, from.aside
		w.about = from.about
		from.visit.Children = append(from.visit.Children, w.visit)
	}
	r.path.Visits = append(r.path.Visits, w.visit)
	return w
}

// open begins a visit with the packet unchanged; the caller modifies and starts it.
func (w *walker) open(origin Origin, name string) *walker {
	v := w.visit
	child := w.run.walker(w, Visit{
		Origin: origin, Name: name, At: len(v.Steps) - 1, Datapath: v.Datapath, Chassis: v.Chassis, Pipeline: v.Pipeline,
		Inport: v.Inport, Outport: v.Outport,
	})
	child.packet, child.pending = w.packet, w.pending
	return child
}

// start runs a visit's pipeline from a table on.
func (w *walker) start(table int) {
	w.visit.Packet = w.packet
	if w.depth > maxDepth || len(w.run.path.Visits) > maxVisits {
		w.limit("the packet passes too many datapaths")
		return
	}
	w.tables(table)
}

// end records what became of the packet.
func (w *walker) end(o journey.Outcome, why Reason, port *logicalflow.Port) control {
	if w.visit.End == nil {
		w.visit.End = &End{Outcome: o, Reason: why, Port: port}
	}
	return stop
}

func (w *walker) limit(detail string) control {
	w.end(journey.Unknown, Limit, nil)
	w.visit.End.Detail = detail
	return stop
}

// tables runs a pipeline from a table until nothing continues in it.
func (w *walker) tables(table int) {
	v, r := w.visit, w.run
	if v.Steps == nil {
		r.claim(v)
	}
	for r.err == nil {
		if r.taken++; r.taken > maxSteps {
			w.limit("the packet passes too many tables")
			return
		}
		hit, err := r.lookup(logicalflow.Table{Datapath: v.Datapath, Pipeline: v.Pipeline, ID: table, Chassis: v.Chassis}, &w.packet)
		if err != nil {
			r.fail(err)
			return
		}
		v.Steps = append(v.Steps, Step{Table: table, Flow: hit.Flow, Ties: hit.Ties, Unknown: hit.Unknown})
		if !w.certain(hit) {
			return
		}
		w.stack, w.sent = w.stack[:0], false
		if w.execute(r.engine.program(hit.Flow)) != jump {
			w.finish()
			return
		}
		table = w.table
	}
}

// lookup finds the flow that a packet hits on a chassis. The lookup needs to know where ports reside; what is unknown
// is read afterwards, and the lookup repeated.
func (r *run) lookup(t logicalflow.Table, p *packet.Flow) (logicalflow.Hit, error) {
	if r.resident == nil || r.chassis != t.Chassis {
		r.chassis, r.resident = t.Chassis, r.residents(t.Chassis)
	}
	for {
		hit, err := r.engine.options.Lookup(r.ctx, t, p, r.resident)
		if err != nil || len(r.missing) == 0 {
			return hit, err
		}
		for _, name := range r.missing {
			if _, err := r.port(name); err != nil {
				return logicalflow.Hit{}, err
			}
		}
		r.missing = r.missing[:0]
	}
}

// residents returns a function that reports which ports reside on a chassis.
func (r *run) residents(c *logicalflow.Chassis) logicalflow.Resident {
	return func(name string) bool {
		p, known := r.engine.names.Load(name)
		if !known {
			r.missing = append(r.missing, name)
			return false
		}
		return resides(p.(*logicalflow.Port), c)
	}
}

// resides reports whether a port is bound to a chassis.
func resides(p *logicalflow.Port, c *logicalflow.Chassis) bool {
	return p != nil && c != nil && (p.Row.Chassis.Has(c.Row.UUID) || p.Row.AdditionalChassis.Has(c.Row.UUID))
}

// port finds a port by name; nil if there is none.
func (r *run) port(name string) (*logicalflow.Port, error) {
	if p, ok := r.engine.names.Load(name); ok {
		return p.(*logicalflow.Port), nil
	}
	p, err := r.engine.net.Port(r.ctx, name)
	if err == nil {
		r.engine.names.Store(name, p)
	}
	return p, err
}

// certain reports whether the effect of a hit is known; if not, or if the packet is dropped, it ends the path.
func (w *walker) certain(hit logicalflow.Hit) bool {
	switch {
	case len(hit.Unknown) > 0:
		w.end(journey.Unknown, NotUnderstood, nil)
		w.visit.End.Detail = unread(hit.Unknown[0])
	case hit.Flow == nil:
		w.end(journey.Dropped, NoFlow, nil)
	case differ(hit):
		w.end(journey.Unknown, Tie, nil)
		w.visit.End.Detail = fmt.Sprintf("%d flows of priority %d match", 1+len(hit.Ties), hit.Flow.Row.Priority)
	default:
		return true
	}
	return false
}

// unread says which flow could not be read, and what of it.
func unread(f *logicalflow.Flow) string {
	return fmt.Sprintf("priority %d, %s (%v), uuid %.8s", f.Row.Priority, f.Unread(), f.Err(), f.Row.UUID)
}

// differ reports whether tying flows do something else.
func differ(hit logicalflow.Hit) bool {
	for _, f := range hit.Ties {
		if f.Row.Actions != hit.Flow.Row.Actions {
			return true
		}
	}
	return false
}

// execute runs instructions.
func (w *walker) execute(p program) control {
	for i := range p {
		if c := p[i].run(w, &p[i]); c != proceed {
			return c
		}
	}
	return stop
}

// finish ends a visit from which nothing continues.
func (w *walker) finish() {
	v := w.visit
	if w.sent || v.End != nil || w.run.err != nil {
		return
	}
	at := len(v.Steps) - 1
	for _, child := range v.Children {
		if child.At == at && child.Origin == Cloned {
			return // only the copy continues
		}
	}
	if at >= 0 && len(v.Steps[at].Flow.Actions()) == 0 {
		w.end(journey.Dropped, DropAction, nil)
		return
	}
	w.end(journey.Dropped, Finished, nil)
}

// step returns the current step; nil in the body of a nested action before its first table.
func (w *walker) step() *Step {
	if n := len(w.visit.Steps); n > 0 && !w.silent {
		return &w.visit.Steps[n-1]
	}
	return nil
}

// note records what an action did.
func (w *walker) note(n Note) {
	if s := w.step(); s != nil {
		s.Notes = append(s.Notes, n)
	}
}

// set writes a field and records the change.
func (w *walker) set(r ovnexpr.Ref, v packet.Value) {
	if r.Field == nil {
		return
	}
	old := r.Get(&w.packet)
	r.Set(&w.packet, v)
	if now := r.Get(&w.packet); now != old {
		w.changed(r, old, now)
	}
}

// changed records a change. Changes before a visit's first table are part of the packet that it starts with.
func (w *walker) changed(r ovnexpr.Ref, from, to packet.Value) {
	if s := w.step(); s != nil {
		s.Changes = w.run.keep(s.Changes, Change{r, from, to})
	}
}

// result writes the result of a function.
func (w *walker) result(in *instruction, yes bool, n Note) control {
	var v packet.Value
	if yes {
		v.Lo = 1
	}
	w.set(in.result, v)
	n.Kind, n.Action, n.Result = Tested, in.action, yes
	w.note(n)
	return proceed
}
