package trace

import (
	"context"
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/trace/cause"
	"github.com/ovnctl/ovnctl/pkg/trace/ovn"
)

// direction converts a path to its JSON contract, without a sentence.
func (w *Walker) direction(ctx context.Context, p *Path, state string) *journey.Direction {
	d := &journey.Direction{Producer: journey.LogicalFlows, State: state, Packet: describe(p.Packet), Hops: []journey.Hop{}}
	for _, l := range p.sections {
		if l.path == nil {
			d.Hops = append(d.Hops, w.hostHop(l))
			continue
		}
		d.Hops = append(d.Hops, w.hops(ctx, l)...)
		if first := l.path.First; first != nil {
			d.Learned = w.learned(ctx, l.zone, first.End())
		}
	}
	d.Verdict = w.verdict(ctx, p)
	return d
}

// learned returns what OVN learned from a client's first packet, which ended in a visit.
func (w *Walker) learned(ctx context.Context, z *logicalZone, v *ovn.Visit) *journey.Learned {
	node := w.nodeOn(v)
	return &journey.Learned{Node: node, Datapath: v.Datapath.Name, Stage: w.stage(ctx, z, v, len(v.Steps)-1), Userspace: w.netdev(node)}
}

func (w *Walker) hostHop(l section) journey.Hop {
	node := w.nodeName(l.host.chassis.Name)
	return journey.Hop{Node: node, Datapath: node, Kind: "host", From: l.from, Steps: []journey.Step{{
		Pipeline: "host", Stage: "host", Table: -1, Actions: []string{}, Decoded: []string{}, Notes: []string{"the host " + l.does},
	}}}
}

// hops returns the datapaths that a packet crosses, with the tunnels between them.
func (w *Walker) hops(ctx context.Context, l section) []journey.Hop {
	var hops []journey.Hop
	var before *ovn.Visit
	for _, v := range l.path.End().Visits() {
		if v.Tunnel != nil {
			out := w.sentTo(ctx, v)
			if n := len(hops); n > 0 {
				hops[n-1].To = out
			}
			hops = append(hops, w.tunnelHop(v, out))
		}
		if before == nil || before.Datapath != v.Datapath || before.Chassis != v.Chassis || v.Origin == ovn.Arrived {
			h := journey.Hop{Node: w.nodeOn(v), Datapath: v.Datapath.Name, Row: string(v.Datapath.NBUUID), Kind: kindOf(v.Datapath), Steps: []journey.Step{}}
			if v.Inport != nil && v.Tunnel == nil {
				h.From = v.Inport.Name()
			}
			hops = append(hops, h)
		}
		last := &hops[len(hops)-1]
		if v.Outport != nil {
			last.To = v.Outport.Name()
		}
		for i := range v.Steps {
			last.Steps = append(last.Steps, w.logicalStep(ctx, l, v, i))
		}
		before = v
	}
	return hops
}

func kindOf(d *logicalflow.Datapath) string {
	if d.Router {
		return "router"
	}
	return "switch"
}

// nodeOn returns the node of a visit; empty if it has none.
func (w *Walker) nodeOn(v *ovn.Visit) string {
	if v.Chassis == nil {
		return ""
	}
	return w.nodeName(v.Chassis.Row.Name)
}

// sentTo returns the port that a packet was sent to on the chassis it came from: if the visit's port is the distributed
// one, the gateway port that stands for it.
func (w *Walker) sentTo(ctx context.Context, v *ovn.Visit) string {
	if v.Parent != nil {
		before := v.Parent.Before(len(v.Parent.Steps))
		if p, err := v.Datapath.PortByKey(ctx, int(before.Uint("reg15"))); err == nil && p != nil {
			return p.Name()
		}
	}
	if v.Outport != nil {
		return v.Outport.Name()
	}
	return ""
}

// tunnelHop returns the tunnel through which a packet for a port came to a visit.
func (w *Walker) tunnelHop(v *ovn.Visit, out string) journey.Hop {
	t := &journey.Encapsulation{
		Type: v.Tunnel.Type, Source: v.Tunnel.Local, Remote: v.Tunnel.Remote, Datapath: v.Datapath.Name, Key: uint64(v.Datapath.Key()),
	}
	node := ""
	if v.Tunnel.From != nil {
		node = w.nodeName(v.Tunnel.From.Row.Name)
	}
	if v.Tunnel.To != nil {
		t.Chassis = v.Tunnel.To.Row.Name
	}
	t.Outport = out
	switch {
	case t.Type == "vxlan" && v.Outport != nil: // ovn-architecture(7), "Tunnel Encapsulations": 12 bits of outport above the datapath's
		t.Key |= uint64(v.Outport.Key()) << 12
	case t.Type != "vxlan" && v.Inport != nil:
		t.Inport = v.Inport.Name()
	}
	return journey.Hop{Node: node, Datapath: t.Datapath, Kind: "tunnel", Tunnel: t, Steps: []journey.Step{}}
}

// logicalStep converts one table to the JSON contract.
func (w *Walker) logicalStep(ctx context.Context, l section, v *ovn.Visit, i int) journey.Step {
	s := &v.Steps[i]
	out := journey.Step{Pipeline: v.Pipeline, Table: -1, Actions: []string{}, Decoded: []string{}, Changes: []string{}, Notes: []string{}}
	out.Stage = w.stage(ctx, l.zone, v, i)
	before := v.Before(i)
	out.Before = &before
	for _, u := range s.Unknown {
		out.Notes = append(out.Notes, fmt.Sprintf("a flow of priority %d may be hit and cannot be read: %s (%v), uuid %.8s", u.Row.Priority, u.Unread(), u.Err(), u.Row.UUID))
	}
	if s.Flow == nil {
		if len(s.Unknown) == 0 {
			out.Notes = append(out.Notes, "no flow matches")
		}
		return out
	}
	row := &s.Flow.Row
	out.Priority = row.Priority
	out.Logical = &decode.LogicalFlow{UUID: row.UUID, TableID: row.TableID, Match: row.Match, Actions: row.Actions, Priority: row.Priority}
	out.Object = l.zone.explain.Object(ctx, v, i)
	if w.Evidence {
		out.Decided = l.zone.explain.Decided(ctx, v, i)
	}
	for _, c := range s.Changes {
		out.Changes = append(out.Changes, fmt.Sprintf("%s = %s", c.Field, changed(v.Datapath, c)))
	}
	if text := translation(v, i); text != "" {
		out.Notes = append(out.Notes, text)
	}
	for _, n := range s.Notes {
		if text := noteText(l.path, n); text != "" {
			out.Notes = append(out.Notes, text)
		}
	}
	for _, t := range s.Ties {
		out.Notes = append(out.Notes, fmt.Sprintf("the flow %q of the same priority matches too", t.Row.Match))
	}
	return out
}

// translation returns how a step changed the packet's addresses and ports; empty if it did not.
func translation(v *ovn.Visit, i int) string {
	if len(v.Steps[i].Changes) == 0 {
		return ""
	}
	before, after := v.Before(i), v.Before(i+1)
	was, ok := before.Tuple()
	is, still := after.Tuple()
	if !ok || !still || was == is || was.Proto != is.Proto {
		return ""
	}
	return fmt.Sprintf("translates %s to %s", was, is)
}

// changed returns a field's new value as OVN writes it.
func changed(d *logicalflow.Datapath, c ovn.Change) string {
	if c.Field.Field == nil {
		return c.To.String()
	}
	if c.Field.Bits > 0 && c.Field.Bits < c.Field.Field.Bits {
		return c.To.String()
	}
	return c.Field.Field.Print(c.To)
}

// stage returns the name of a step's table.
func (w *Walker) stage(ctx context.Context, z *logicalZone, v *ovn.Visit, i int) string {
	s := &v.Steps[i]
	if s.Flow != nil {
		return s.Flow.Stage()
	}
	if name, err := z.net.Stage(ctx, v.Table(s)); err == nil && name != "" {
		return name
	}
	return fmt.Sprintf("table %d of %s", s.Table, v.Pipeline)
}

// noteText returns what an action did, in words; empty if it is of no interest to people.
func noteText(path *ovn.Path, n ovn.Note) string {
	switch n.Kind {
	case ovn.Chosen:
		if n.Choice < len(path.Choices) {
			return choiceText(path.Choices[n.Choice])
		}
	case ovn.Assumed:
		if n.Port == nil {
			return "the next hop is not resolved yet: ovn-controller asks for it, and a reply from outside is assumed"
		}
		return "the next hop is not resolved yet: ovn-controller asks for it, and " + n.Port.Name() + " replies"
	case ovn.Unresolved:
		return "the MAC address of the next hop is not known"
	}
	return ""
}

// choiceText returns what a hash chose.
func choiceText(c ovn.Choice) string {
	switch a := c.Action.(type) {
	case *ovnexpr.CTLB:
		if c.Index < len(a.Backends) {
			return fmt.Sprintf("chooses backend %s, %d of %d", a.Backends[c.Index].Endpoint(), c.Index+1, c.Of)
		}
	case *ovnexpr.Select:
		return fmt.Sprintf("chooses next hop %d of %d", c.Index+1, c.Of)
	case *ovnexpr.ForwardGroup:
		if c.Index < len(a.Ports) {
			return fmt.Sprintf("chooses port %s, %d of %d", a.Ports[c.Index], c.Index+1, c.Of)
		}
	}
	return ""
}

// through returns a path's choices, other than of backends, in words.
func (p *Path) through() []string {
	texts := []string{}
	for _, l := range p.sections {
		if l.path == nil {
			continue
		}
		for _, v := range l.path.End().Visits() {
			for i := range v.Steps {
				texts = append(texts, chosenIn(l.path, v, i)...)
			}
		}
	}
	return texts
}

// chosenIn returns the choices of a step.
func chosenIn(p *ovn.Path, v *ovn.Visit, i int) []string {
	var texts []string
	for _, n := range v.Steps[i].Notes {
		if n.Kind == ovn.Chosen && n.Choice < len(p.Choices) {
			texts = append(texts, chosenHop(p.Choices[n.Choice], v, i)...)
		}
	}
	return texts
}

// chosenHop names what a step chose: the next hop that the router's next table sets, or a port.
func chosenHop(c ovn.Choice, v *ovn.Visit, i int) []string {
	switch a := c.Action.(type) {
	case *ovnexpr.Select:
		if after := v.Before(i + 2); c.Of > 1 {
			return []string{"next hop " + cause.NextHop(&after).String()}
		}
	case *ovnexpr.ForwardGroup:
		if c.Of > 1 && c.Index < len(a.Ports) {
			return []string{"port " + a.Ports[c.Index]}
		}
	}
	return nil
}

// verdict returns what became of a packet, without a sentence.
func (w *Walker) verdict(ctx context.Context, p *Path) journey.Verdict {
	switch {
	case p.stopped != nil:
		return *p.stopped
	case p.visit == nil:
		v := journey.Verdict{Outcome: journey.Delivered}
		if p.host != nil {
			v.Node = w.nodeName(p.host.chassis.Name)
		}
		return v
	}
	end := p.visit.End
	v := journey.Verdict{Outcome: end.Outcome, Node: w.nodeOn(p.visit), Datapath: p.visit.Datapath.Name}
	if end.Port != nil {
		v.Port = end.Port.Name()
	} else if p.visit.Outport != nil {
		v.Port = p.visit.Outport.Name()
	}
	if end.Outcome == journey.Delivered {
		return v
	}
	found := p.zone.explain.Explain(ctx, p.last().path)
	v.Because, v.Object, v.Rule, v.Near = found.Cause, found.Object, found.Rule, found.Near
	if n := len(p.visit.Steps); n > 0 {
		v.Stage = w.stage(ctx, p.zone, p.visit, n-1)
	}
	return v
}

// allowed returns what let a delivered packet pass.
func (w *Walker) allowed(ctx context.Context, p *Path) []decode.Object {
	var all []decode.Object
	for _, l := range p.sections {
		if l.path == nil {
			continue
		}
		for _, o := range l.zone.explain.Explain(ctx, l.path).Allowed {
			if !slices.ContainsFunc(all, func(known decode.Object) bool { return known.UUID == o.UUID }) {
				all = append(all, o)
			}
		}
	}
	return all
}

// reached returns where a packet was delivered, in words.
func (w *Walker) reached(p *Path) string {
	switch {
	case p.outside && p.host != nil:
		return "the network outside, by the host " + w.nodeName(p.host.chassis.Name)
	case p.outside && p.visit != nil && p.visit.End.Port != nil:
		return fmt.Sprintf("the network outside, by the port %s on %s", p.visit.End.Port.Name(), w.nodeOn(p.visit))
	case p.outside:
		return "the network outside"
	case p.host != nil:
		return "the host " + w.nodeName(p.host.chassis.Name)
	case p.visit == nil:
		return "the sender"
	}
	end := p.visit.End
	name := ""
	switch {
	case end.Reason == ovn.ToVTEP:
		return "a hardware gateway, by the port " + end.Port.Name()
	case end.Port != nil:
		name = end.Port.Name()
	}
	if known := w.graph.PortByName(name); known != nil {
		name = known.Label()
	}
	return name + " on " + w.nodeOn(p.visit)
}

// lastHop returns the last hop of a path, as much of it as a sentence needs.
func (w *Walker) lastHop(p *Path) []journey.Hop {
	if p.visit == nil {
		return nil
	}
	return []journey.Hop{{Kind: kindOf(p.visit.Datapath), Datapath: p.visit.Datapath.Name}}
}
