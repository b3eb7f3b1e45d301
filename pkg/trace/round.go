package trace

import (
	"context"

	"github.com/ovnctl/ovnctl/pkg/journey"
)

// Branch is a round as the contract has it.
func (w *Walker) Branch(ctx context.Context, r *Round) journey.Branch {
	b := journey.Branch{Through: r.Forward.through(), Verdict: w.Verdict(ctx, r)}
	if r.Backend.IsValid() {
		b.Backend = r.Backend.String()
	}
	b.Forward = w.direction(ctx, r.Forward, "new")
	b.Forward.Verdict.Sentence = w.sentence(r.Forward, b.Forward.Verdict, "the packet")
	if r.Reply != nil {
		b.Reply = w.direction(ctx, r.Reply, "est,rpl")
		b.Reply.Verdict.Sentence = w.sentence(r.Reply, b.Reply.Verdict, "the answer")
	}
	return b
}

// Verdict is that of the round trip.
func (w *Walker) Verdict(ctx context.Context, r *Round) journey.Verdict {
	if r.Reply != nil && r.Reply.Outcome() != journey.Delivered {
		v := w.verdict(ctx, r.Reply)
		v.Sentence = w.sentence(r.Reply, v, "the answer")
		return v
	}
	v := w.verdict(ctx, r.Forward)
	switch {
	case r.Answered:
		v = journey.Verdict{Outcome: journey.Delivered, Node: v.Node, Datapath: v.Datapath, Port: v.Port}
		v.Sentence = "OVN answers the packet itself, and its sender gets the answer"
	case v.Outcome != journey.Delivered:
		v.Sentence = w.sentence(r.Forward, v, "the packet")
	case r.Forward.outside:
		v.Sentence = "the packet leaves for " + w.reached(r.Forward) + ", and an answer from there comes back"
	default:
		v.Sentence = w.reached(r.Forward) + " receives the packet, and its answer comes back"
	}
	return v
}

func (w *Walker) sentence(p *Passage, v journey.Verdict, what string) string {
	return sentence(v, w.lastHop(p), w.reached(p), what)
}
