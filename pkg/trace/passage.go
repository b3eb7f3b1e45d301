package trace

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/expr"
	"github.com/ovnctl/ovnctl/pkg/flow"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/lflow"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/trace/logical"
	"github.com/ovnctl/ovnctl/pkg/trace/ofproto"
)

// direction is a passage as the contract has it, without a sentence.
func (w *Walker) direction(ctx context.Context, p *Passage, state string) *journey.Direction {
	d := &journey.Direction{Producer: journey.LogicalFlows, State: state, Packet: describe(p.Packet), Hops: []journey.Hop{}}
	for _, l := range p.legs {
		if l.way == nil {
			d.Hops = append(d.Hops, w.hostHop(l))
			continue
		}
		d.Hops = append(d.Hops, w.hops(ctx, l)...)
	}
	d.Verdict = w.verdict(ctx, p)
	return d
}

func (w *Walker) hostHop(l leg) journey.Hop {
	node := w.nodeName(l.host.chassis.Name)
	return journey.Hop{Node: node, Datapath: node, Kind: "host", From: l.from, Steps: []journey.Step{{
		Pipeline: "host", Stage: "host", Table: -1, Actions: []string{}, Decoded: []string{}, Notes: []string{"the host " + l.does},
	}}}
}

// hops are the datapaths that a packet crosses on its way to its end, with the tunnels between them.
func (w *Walker) hops(ctx context.Context, l leg) []journey.Hop {
	var hops []journey.Hop
	var before *logical.Visit
	for _, v := range l.way.End().Path() {
		if v.Tunnel != nil {
			hops = append(hops, w.tunnelHop(v))
		}
		if before == nil || before.Datapath != v.Datapath || before.Chassis != v.Chassis || v.Origin == logical.Arrived {
			h := journey.Hop{Node: w.nodeOn(v), Datapath: v.Datapath.Name, Kind: kindOf(v.Datapath), Steps: []journey.Step{}}
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

func kindOf(d *lflow.Datapath) string {
	if d.Router {
		return "router"
	}
	return "switch"
}

// nodeOn is the node that a visit is on, empty if it is on none.
func (w *Walker) nodeOn(v *logical.Visit) string {
	if v.Chassis == nil {
		return ""
	}
	return w.nodeName(v.Chassis.Row.Name)
}

// tunnelHop is the tunnel by which a packet came to a visit.
func (w *Walker) tunnelHop(v *logical.Visit) journey.Hop {
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
	if v.Outport != nil {
		t.Outport = v.Outport.Name()
	}
	switch {
	case t.Type == "vxlan" && v.Outport != nil: // ovn-architecture(7), "Tunnel Encapsulations": 12 bits of outport above the datapath's
		t.Key |= uint64(v.Outport.Key()) << 12
	case t.Type != "vxlan" && v.Inport != nil:
		t.Inport = v.Inport.Name()
	}
	return journey.Hop{Node: node, Datapath: t.Datapath, Kind: "tunnel", Tunnel: t, Steps: []journey.Step{}}
}

// logicalStep is one table in the words of the contract.
func (w *Walker) logicalStep(ctx context.Context, l leg, v *logical.Visit, i int) journey.Step {
	s := &v.Steps[i]
	out := journey.Step{Pipeline: v.Pipeline, Table: -1, Actions: []string{}, Decoded: []string{}, Changes: []string{}, Notes: []string{}}
	if s.Flow == nil {
		out.Stage = w.stageOf(ctx, l.zone, v, s)
		out.Notes = append(out.Notes, "no flow matches")
		return out
	}
	row := &s.Flow.Row
	out.Stage, out.Priority = s.Flow.Stage(), row.Priority
	out.Logical = &journey.Logical{UUID: string(row.UUID), Table: row.TableID, Match: row.Match, Actions: row.Actions, Priority: row.Priority}
	out.Object = w.object(ctx, l.zone, s.Flow)
	for _, c := range s.Changes {
		out.Changes = append(out.Changes, fmt.Sprintf("%s = %s", c.Field, changed(v.Datapath, c)))
	}
	for _, n := range s.Notes {
		if text := noteText(l.way, n); text != "" {
			out.Notes = append(out.Notes, text)
		}
	}
	for _, t := range s.Ties {
		out.Notes = append(out.Notes, fmt.Sprintf("the flow %q of the same priority matches too", t.Row.Match))
	}
	for _, u := range s.Unknown {
		out.Notes = append(out.Notes, fmt.Sprintf("the flow %q is not understood: %v", u.Row.Match, u.Err()))
	}
	return out
}

// changed is the value that a field was given, as OVN writes it.
func changed(d *lflow.Datapath, c logical.Change) string {
	if c.Field.Field == nil {
		return c.To.String()
	}
	if c.Field.Bits > 0 && c.Field.Bits < c.Field.Field.Bits {
		return c.To.String()
	}
	return c.Field.Field.Print(c.To)
}

// stageOf names a table of which no flow was hit.
func (w *Walker) stageOf(ctx context.Context, z *logicalZone, v *logical.Visit, s *logical.Step) string {
	return fmt.Sprintf("table %d of %s", s.Table, v.Pipeline)
}

// object is what a flow was made for, nil if it says nothing or nothing in particular.
func (w *Walker) object(ctx context.Context, z *logicalZone, f *lflow.Flow) *journey.Object {
	stage := f.Stage()
	if strings.HasSuffix(stage, "arp_request") {
		return nil // the same flows for all routers: their hint is the route of any of them
	}
	objects, _ := z.objects.Of(ctx, stage, f.Row.ExternalIDs["stage-hint"])
	if len(objects) == 0 {
		return nil
	}
	o := objects[0]
	out := &journey.Object{Kind: o.Kind, Name: o.Name, UUID: string(o.UUID), Owner: o.Owner, Text: o.Text}
	if acl, ok := o.Row.(nb.ACL); ok && o.Owner == "" {
		out.Text += ": " + acl.Match // nothing else says what it is for
	}
	return out
}

// noteText is what an action did, in words; empty for what says nothing to a person.
func noteText(way *logical.Way, n logical.Note) string {
	switch n.Kind {
	case logical.Translated:
		c := n.Connection
		if c == nil {
			return ""
		}
		if n.State&logical.StateReply != 0 {
			return fmt.Sprintf("translates back %s to %s", pair(c.Answer), pair(c.Original.Reverse()))
		}
		return fmt.Sprintf("translates %s to %s", pair(c.Original), pair(c.Answer.Reverse()))
	case logical.Chosen:
		if n.Choice < len(way.Choices) {
			return choiceText(way.Choices[n.Choice])
		}
	case logical.Assumed:
		if n.Port == nil {
			return "the next hop is not resolved yet: it is asked for, and somebody outside is taken to answer"
		}
		return "the next hop is not resolved yet: it is asked for, and " + n.Port.Name() + " answers"
	case logical.Unresolved:
		return "the MAC address of the next hop is not known"
	}
	return ""
}

func pair(t logical.Tuple) string {
	text := func(a netip.AddrPort) string {
		if a.Port() == 0 {
			return a.Addr().String()
		}
		return a.String()
	}
	return text(t.Src) + " → " + text(t.Dst)
}

// choiceText says what a hash chose.
func choiceText(c logical.Choice) string {
	switch a := c.Action.(type) {
	case *expr.CTLB:
		if c.Index < len(a.Backends) {
			return fmt.Sprintf("chooses backend %s, %d of %d", a.Backends[c.Index], c.Index+1, c.Of)
		}
	case *expr.Select:
		return fmt.Sprintf("chooses next hop %d of %d", c.Index+1, c.Of)
	case *expr.ForwardGroup:
		if c.Index < len(a.Ports) {
			return fmt.Sprintf("chooses port %s, %d of %d", a.Ports[c.Index], c.Index+1, c.Of)
		}
	}
	return ""
}

// through are the choices of a passage beside those of a backend, in words.
func (p *Passage) through() []string {
	texts := []string{}
	for _, l := range p.legs {
		if l.way == nil {
			continue
		}
		for _, c := range l.way.Choices {
			if _, lb := c.Action.(*expr.CTLB); !lb && c.Of > 1 {
				texts = append(texts, strings.TrimPrefix(choiceText(c), "chooses "))
			}
		}
	}
	return texts
}

// verdict says what became of a passage, without a sentence.
func (w *Walker) verdict(ctx context.Context, p *Passage) journey.Verdict {
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
	l := leg{zone: p.zone, way: p.legs[len(p.legs)-1].way}
	if n := len(p.visit.Steps); n > 0 {
		step := w.logicalStep(ctx, l, p.visit, n-1)
		v.Stage, v.Object = step.Stage, step.Object
	}
	v.Cause = w.cause(p, &v)
	return v
}

// cause says why a packet ended in a logical network.
func (w *Walker) cause(p *Passage, v *journey.Verdict) string {
	end := p.visit.End
	t, _ := ofproto.TupleOf(&p.packet)
	port := v.Port
	switch end.Reason {
	case logical.NotBound:
		if known := w.graph.PortByName(strings.TrimPrefix(port, "cr-")); known != nil && known.Why != "" {
			return fmt.Sprintf("no chassis holds the port %s: %s", known.Name, known.Why)
		}
		return "no chassis holds the port " + port
	case logical.SameOutport:
		return fmt.Sprintf("it would go back out of the port that it came in by, %s, which OVN does not do", port)
	case logical.NoOutport:
		return "it is sent to no port"
	case logical.NoTunnel:
		return "no tunnel leads to the chassis that holds the port " + port
	case logical.NotCarried:
		return "VXLAN has no room for the keys that the packet would carry"
	case logical.NotHere:
		return fmt.Sprintf("node %s has no way to the port %s", v.Node, port)
	case logical.NoPeer:
		return fmt.Sprintf("the port %s has no other end", port)
	case logical.EmptyGroup:
		return "no port is left that the packet could be sent to"
	case logical.TTLExceeded:
		return "its TTL is used up"
	case logical.Resolving:
		return fmt.Sprintf("the MAC address of the next hop %s is not known (no MAC_Binding): ovn-controller asks for it, and nobody who has that address is known", hopOf(&p.packet))
	case logical.NotUnderstood:
		return "a logical flow that it may meet is not understood: " + end.Detail
	case logical.Tie:
		return "flows of one priority match and do different things: " + end.Detail
	case logical.Limit:
		return "the way is longer than ovnctl follows: " + end.Detail
	case logical.Answering:
		return "OVN answers in the place of the receiver"
	case logical.Controller:
		return strings.TrimSuffix("ovn-controller takes the packet: "+end.Detail, ": ")
	}
	return w.flowCause(p, v, t)
}

// hopOf is the address that a router resolves: OVN keeps it in reg0, or xxreg0 for IPv6.
func hopOf(p *flow.Flow) string {
	if p.Uint("eth_type") == flow.EthIPv6 {
		return registerAddress(*p, "xxreg0", 16)
	}
	return registerAddress(*p, "reg0", 4)
}

// flowCause says why the last flow on the way does not let a packet on.
func (w *Walker) flowCause(p *Passage, v *journey.Verdict, t ofproto.Tuple) string {
	if empty := w.withoutEndpoints(v.Object, t); empty != "" {
		return empty
	}
	if v.Outcome == journey.Rejected {
		how := "rejected with an ICMP unreachable"
		if t.Proto == flow.ProtoTCP {
			how = "rejected with a TCP reset"
		}
		if v.Object != nil {
			return how + " by " + v.Object.Text
		}
		return how
	}
	switch {
	case v.Object != nil && v.Object.Kind == "ACL":
		return "dropped by " + v.Object.Text
	case strings.Contains(v.Stage, "l2_lkup"), strings.Contains(v.Stage, "l2_unknown"):
		return w.noPortHas(macText(p.packet, "eth_dst"), string(p.visit.Datapath.NBUUID))
	case v.Object != nil && !strings.HasSuffix(v.Object.Kind, "port"):
		return v.Object.Text
	case strings.Contains(v.Stage, "ip_routing"):
		return fmt.Sprintf("the router has no route to %s", t.Dst)
	case strings.Contains(v.Stage, "port_sec"):
		return "port security does not let the port send from this address"
	}
	last := p.visit.Steps[max(len(p.visit.Steps)-1, 0):]
	if len(last) > 0 && last[0].Flow != nil {
		return fmt.Sprintf("the logical flow %q drops it", last[0].Flow.Row.Match)
	}
	return "no logical flow of " + v.Stage + " matches it"
}

// noPortHas says why a switch sends a frame to none of its ports.
func (w *Walker) noPortHas(mac, nbSwitch string) string {
	for _, port := range w.graph.PortsOn(nbSwitch) {
		if slices.Contains(port.MACs, mac) && !port.Enabled {
			return disabled(port)
		}
	}
	return fmt.Sprintf("no port of the switch has the MAC address %s", mac)
}

// reached says in words who has a packet that was delivered.
func (w *Walker) reached(p *Passage) string {
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
	case end.Reason == logical.ToVTEP:
		return "a hardware gateway, by the port " + end.Port.Name()
	case end.Port != nil:
		name = end.Port.Name()
	}
	if known := w.graph.PortByName(name); known != nil && known.Pod != "" {
		name = known.Pod
	}
	return name + " on " + w.nodeOn(p.visit)
}

// lastHop is the hop that a passage ends in, as much of it as a sentence needs.
func (w *Walker) lastHop(p *Passage) []journey.Hop {
	if p.visit == nil {
		return nil
	}
	return []journey.Hop{{Kind: kindOf(p.visit.Datapath), Datapath: p.visit.Datapath.Name}}
}
