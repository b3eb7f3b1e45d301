package trace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/trace/cause"
	"github.com/ovnctl/ovnctl/pkg/trace/ovs"
)

// learn teaches a node's decoder what its tables mean, from the steps of a walk.
func (r *run) learn(ctx context.Context, n *nodeView, walk *ovs.Walk) {
	for _, leaf := range walk.Leaves {
		for _, s := range leaf.Steps {
			if s.Bridge == n.names.Bridge {
				n.seen = append(n.seen, seen(s))
			}
		}
	}
	n.decoder.Calibrate(ctx, n.seen)
}

// seen converts a step for the decoder.
func seen(s ovs.Step) decode.Seen {
	return decode.Seen{
		Table: s.Table, Priority: s.Priority, Cookie: s.Cookie,
		Metadata: s.Before.Uint("metadata"), Resubmits: s.Resubmits,
	}
}

// hops returns the datapaths and bridges that a packet crosses to a leaf, with the steps in each.
func (r *run) hops(ctx context.Context, p location, leaf ovs.Leaf) []journey.Hop {
	var hops []journey.Hop
	var metadata uint64
	for i, s := range leaf.Steps {
		h := journey.Hop{Node: p.node.Name, Datapath: s.Bridge, Kind: "bridge", Steps: []journey.Step{}}
		now := uint64(0)
		if s.Bridge == p.node.names.Bridge {
			now = datapathOf(leaf.Steps, i)
			if d := p.node.names.Datapath(now); d != nil {
				h.Kind, h.Datapath, h.Row = string(d.Kind), d.Name, string(d.NB)
			}
		}
		last := len(hops) - 1
		if last < 0 || hops[last].Kind != h.Kind || hops[last].Place() != h.Place() || metadata != now {
			h.From = r.entered(p, s, now)
			hops = append(hops, h)
			last++
		}
		metadata = now
		step := r.step(ctx, p.node, s)
		hops[last].Steps = append(hops[last].Steps, step)
		if out := s.Before.Uint("reg15"); now != 0 && out != 0 && s.Before.Uint("metadata") == now {
			hops[last].To = r.portText(p.node, now, out)
		}
	}
	return hops
}

// datapathOf returns the datapath of a step. A step at the bridge's entry, where the packet is in none yet, belongs to
// the datapath that it leads to.
func datapathOf(steps []ovs.Step, i int) uint64 {
	bridge := steps[i].Bridge
	for ; i < len(steps) && steps[i].Bridge == bridge; i++ {
		if m := steps[i].Before.Uint("metadata"); m != 0 {
			return m
		}
	}
	return 0
}

// entered returns the port through which the packet came to a step's datapath or bridge.
func (r *run) entered(p location, s ovs.Step, datapath uint64) string {
	if in := s.Before.Uint("reg14"); datapath != 0 && in != 0 {
		return r.portText(p.node, datapath, in)
	}
	if p.tunnel != nil {
		return "" // the tunnel has its own hop
	}
	port := s.Before.InPort()
	if op, ok := p.node.names.OFPort(s.Bridge, int(port.Number)); ok {
		if op.LogicalPort != "" {
			return op.LogicalPort
		}
		return op.Interface
	}
	return ""
}

// step converts one table lookup to the JSON contract.
func (r *run) step(ctx context.Context, n *nodeView, s ovs.Step) journey.Step {
	out := journey.Step{
		Pipeline: "physical", Table: s.Table, Priority: s.Priority, Match: s.MatchText,
		Actions: slices.Clone(s.Actions), Decoded: []string{}, Notes: []string{},
	}
	if out.Actions == nil {
		out.Actions = []string{}
	}
	out.Cookie = cookieText(s.Cookie)
	before := s.Before
	out.Before = &before
	if s.Bridge == n.names.Bridge {
		r.decoded(n.decoder.Decode(ctx, seen(s)), &out)
		out.Decoded = decoded(n.names, s)
	}
	for _, c := range s.Tracked {
		if c.From != c.To {
			out.Notes = append(out.Notes, fmt.Sprintf("translates %s to %s", c.From, c.To))
		}
	}
	return out
}

// cookieText returns a cookie as the JSON contract writes it.
func cookieText(cookie uint64) string {
	if cookie == 0 {
		return ""
	}
	return fmt.Sprintf("0x%08x", cookie)
}

// decoded adds the meaning of a step's flow.
func (r *run) decoded(m decode.Meaning, out *journey.Step) {
	if m.Pipeline != "" {
		out.Pipeline = string(m.Pipeline)
	}
	out.Stage = m.Stage
	if out.Stage == "" {
		out.Stage = strings.ToLower(string(m.Physical))
	}
	out.Logical = m.Flow
	// The flows that resolve a MAC address are shared by all routers: their hint is the route of any of them.
	shared := strings.HasSuffix(out.Stage, "arp_request")
	if len(m.Objects) > 0 && (m.Flow != nil || m.Physical == "") && !shared {
		out.Object = cause.ObjectOf(m.Objects[0])
	}
}

// decoded names the numbers that a step's flow matches on and writes.
func decoded(names *decode.Names, s ovs.Step) []string {
	texts := []string{}
	at := decode.Context{Bridge: s.Bridge, Metadata: s.Before.Uint("metadata"), TunID: s.Before.Uint("tun_id")}
	add := func(f *packet.Field, value packet.Value) {
		name := names.Annotate(f, value, at)
		if text := fmt.Sprintf("%s=%s %s", f.Label(), f.Print(value), name); name != "" && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if s.Match != nil {
		for _, term := range s.Match.Terms {
			if term.Field != nil {
				add(term.Field, term.Value)
			}
		}
	}
	for _, action := range s.Parsed {
		switch a := action.(type) {
		case openflow.SetField:
			switch a.Field.Name {
			case "metadata":
				at.Metadata = a.Value.Lo
			case "tun_id":
				at.TunID = a.Value.Lo
			}
			add(a.Field, a.Value)
		case openflow.Load:
			if a.Dst.Lo == 0 {
				add(a.Dst.Field, a.Value)
			}
		}
	}
	for _, c := range s.Tracked {
		if zone, ok := packet.Lookup("ct_zone"); ok && !c.Zone.Host {
			add(zone, packet.Uint(uint64(c.Zone.ID)))
		}
	}
	return texts
}

// lastStep returns the step that stopped a packet: the last one outside of helper tables.
func lastStep(leaf ovs.Leaf) (ovs.Step, bool) {
	for _, s := range slices.Backward(leaf.Steps) {
		if !s.Aside {
			return s, true
		}
	}
	return ovs.Step{}, false
}

// outport returns the packet's logical output port, from reg15.
func (r *run) outport(n *nodeView, p packet.Flow) string {
	return r.portText(n, p.Uint("metadata"), p.Uint("reg15"))
}
