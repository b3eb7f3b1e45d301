package trace

import (
	"context"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/cause"
	"github.com/ovnctl/ovnctl/pkg/trace/ovn"
)

// Branch converts a round to its JSON contract.
func (w *Walker) Branch(ctx context.Context, r *Round) journey.Branch {
	b := journey.Branch{Through: r.Forward.through(), Verdict: w.Verdict(ctx, r)}
	if r.Backend.IsValid() {
		b.Backend = r.Backend.String()
	}
	if b.Verdict.Outcome == journey.Delivered {
		b.Verdict.Allowed = w.allowed(ctx, r.Forward)
	}
	b.Forward = w.direction(ctx, r.Forward, "new")
	w.say(r.Forward, &b.Forward.Verdict, "the packet")
	if r.Reply != nil {
		b.Reply = w.direction(ctx, r.Reply, "est,rpl")
		b.Reply.Verdict.Outcome = ofReply(b.Reply.Verdict.Outcome)
		w.say(r.Reply, &b.Reply.Verdict, "the reply")
	}
	return b
}

// Verdict returns the verdict of the round trip, without what let it pass. For a failed one it finds the reason, which
// takes longer than following it.
func (w *Walker) Verdict(ctx context.Context, r *Round) journey.Verdict {
	if r.Reply != nil && r.Reply.Outcome() != journey.Delivered {
		v := w.verdict(ctx, r.Reply)
		v.Outcome = ofReply(v.Outcome)
		w.say(r.Reply, &v, "the reply")
		return v
	}
	v := w.verdict(ctx, r.Forward)
	switch {
	case r.RepliedByOVN:
		v = journey.Verdict{Outcome: journey.Delivered, Node: v.Node, Datapath: v.Datapath, Port: v.Port}
		v.Sentence = ovnReplies
	case v.Outcome != journey.Delivered:
		w.say(r.Forward, &v, "the packet")
	default:
		if r.Forward.outside {
			v.Assumptions = assuming([]journey.Assumption{{Kind: journey.OutsideNetwork}})
		}
		v.Sentence = roundTrip(w.reached(r.Forward), r.Forward.outside, sourceOf(&r.Forward.packet))
	}
	return v
}

// Tunnels returns the tunnels that the packet of a round trip passes, and those of its reply.
func (r *Round) Tunnels() (forward, reply []*ovn.Tunnel) {
	if r.Reply != nil {
		reply = r.Reply.tunnels()
	}
	return r.Forward.tunnels(), reply
}

func (p *Path) tunnels() []*ovn.Tunnel {
	var list []*ovn.Tunnel
	for _, l := range p.sections {
		if l.path == nil {
			continue
		}
		for _, v := range l.path.End().Visits() {
			if v.Tunnel != nil {
				list = append(list, v.Tunnel)
			}
		}
	}
	return list
}

// Receiver returns the logical port through which the packet leaves the logical networks; empty if it does not.
func (r *Round) Receiver() string {
	if v := r.Forward.visit; v != nil && v.Outport != nil {
		return v.Outport.Name()
	}
	return ""
}

func (w *Walker) say(p *Path, v *journey.Verdict, what string) {
	say(v, w.lastHop(p), w.reached(p), what)
}

// WhyNot proposes changes that would let a failed round pass, the smallest first. It tries those that it can on the
// flows in memory.
func (w *Walker) WhyNot(ctx context.Context, from topology.Match, p Packet, r *Round) []journey.Remedy {
	failed := r.deciding()
	l := failed.last()
	if failed == r.Reply && failed.visit == nil {
		l = r.Forward.last() // nothing outside has a route back to its source
	}
	if l.path == nil {
		return nil
	}
	again := func(ctx context.Context, lookup cause.Lookup) (journey.Outcome, *ovn.Path, error) {
		rounds, _, err := w.changed(l.zone, lookup).Rounds(ctx, from, p, r.Backend)
		if err != nil || len(rounds) == 0 {
			return journey.Unknown, nil, err
		}
		return rounds[0].Outcome(), rounds[0].deciding().last().path, nil
	}
	return l.zone.explain.WhyNot(ctx, l.path, again)
}
