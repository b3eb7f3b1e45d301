package reach

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace"
	"github.com/ovnctl/ovnctl/pkg/trace/cause"
	"github.com/ovnctl/ovnctl/pkg/trace/ovn"
)

// manySwitches is the number of switches from which on reading all their flows at once is faster.
const manySwitches = 6

// worthClasses is the number of pairs from which on it is faster to sort their ends into classes first.
const worthClasses = 100_000

// NewWalk opens a deployment's logical networks for a plan's [Walk]. What is not known from beneath, which may be nil, and
// the network outside are assumed to behave as package trace describes. A connection with several backends is as bad as
// the worst of them. What many pairs need is read at once; progress, which may be nil, is called after each piece. Of a plan with
// many pairs it returns the classes, too.
func NewWalk(ctx context.Context, c *cluster.Cluster, g *topology.Graph, p *Plan, beneath *Beneath, progress func(done, total int)) (Walk, *Classes, error) {
	w, err := trace.NewWalker(ctx, c, g, ovn.Options{})
	if err != nil {
		return nil, nil, err
	}
	walker := &walker{Walker: w, beneath: beneath, causes: map[deciding]Cause{}}
	if p.Pairs() >= worthClasses {
		if walker.classes, err = classify(ctx, c, g, w, p, beneath, progress); err != nil {
			return nil, nil, err
		}
	} else if p.switches() >= manySwitches {
		for _, zone := range c.Zones {
			if net := w.Network(zone.Name); net != nil {
				if err := net.Preload(ctx, progress, nil); err != nil {
					return nil, nil, err
				}
			}
		}
	}
	return walker.walk, walker.classes, nil
}

// switches returns how many switches a plan's parties are on.
func (p *Plan) switches() int {
	seen := map[string]bool{}
	for _, party := range slices.Concat(p.from, p.to) {
		if party.Switch != "" {
			seen[party.Switch] = true
		}
	}
	return len(seen)
}

// A walker caches what flows are to blame for.
type walker struct {
	*trace.Walker
	beneath *Beneath // nil: not looked at
	classes *Classes // nil: none

	mu     sync.RWMutex
	causes map[deciding]Cause
}

// deciding is what determines a cause if an object is to blame. An ACL has flows of its own; other objects may share
// one flow among many ports.
type deciding struct {
	flow            *logicalflow.Flow
	judging         *logicalflow.Flow // that of the ACL, if flow carries out the verdicts of all: since OVN 23.06
	inport, outport *logicalflow.Port // nil for an ACL
	reason          ovn.Reason
	outcome         journey.Outcome
	reply           bool
}

func (w *walker) walk(ctx context.Context, from, to topology.Match, q Question) (c Cause, like *Likeness, err error) {
	p, err := w.packet(from, to, q)
	if err != nil {
		return Cause{}, nil, err
	}
	rounds, more, err := w.Rounds(ctx, from, p, netip.AddrPort{})
	if err != nil {
		return Cause{}, nil, err
	}
	worst := rounds[0]
	for _, r := range rounds[1:] {
		if o := worst.Outcome(); journey.Worst(o, r.Outcome()) != o {
			worst = r
		}
	}
	if !more {
		if like, err = w.classes.rest(ctx, from.Port, rounds); err != nil {
			return Cause{}, nil, err
		}
	}
	if o := worst.Outcome(); o == journey.Delivered || worst.RepliedByOVN {
		for _, r := range rounds {
			if c, ok := w.beneath.lost(from, r); ok {
				return c, like, nil
			}
		}
		return Cause{Outcome: journey.Delivered}, like, nil
	}
	c = w.cause(ctx, worst)
	if like != nil && !w.classes.sameCause(from.Port, worst, c) {
		like = nil
	}
	return c, like, nil
}

// packet returns the first packet from one to the other, of IPv4 if the question allows it and both ends have it.
func (w *walker) packet(from, to topology.Match, q Question) (trace.Packet, error) {
	if q.Family == 0 {
		q.Family = 4
		if p, err := w.packet(from, to, q); err == nil {
			return p, nil
		}
		q.Family = 6
	}
	return w.Packet(from, to, q.Protocol, q.SourcePort, q.Port, q.Family)
}

// cause returns why a round trip fails.
func (w *walker) cause(ctx context.Context, r *trace.Round) Cause {
	reply, end := r.Deciding()
	key := deciding{outcome: r.Outcome(), reply: reply}
	if end == nil || len(end.Steps) == 0 || end.Steps[len(end.Steps)-1].Flow == nil {
		return causeOf(w.Verdict(ctx, r), reply)
	}
	key.flow, key.judging, key.reason = end.Steps[len(end.Steps)-1].Flow, judging(end), end.End.Reason
	ofPorts := key
	ofPorts.inport, ofPorts.outport = end.Inport, end.Outport
	w.mu.RLock()
	c, ok := w.causes[key]
	if !ok {
		c, ok = w.causes[ofPorts]
	}
	w.mu.RUnlock()
	if ok {
		return c
	}
	c = causeOf(w.Verdict(ctx, r), reply)
	if c.Object == nil {
		return c // the words may be about this packet
	}
	if c.Object.Kind != "ACL" {
		key = ofPorts
	}
	w.mu.Lock()
	w.causes[key] = c
	w.mu.Unlock()
	return c
}

// judging returns the flow whose verdict the last one carries out; nil if that has its own.
func judging(end *ovn.Visit) *logicalflow.Flow {
	list, carriesOut := strings.CutSuffix(end.Steps[len(end.Steps)-1].Flow.Stage(), "_action")
	if !carriesOut {
		return nil
	}
	for _, s := range slices.Backward(end.Steps) {
		if s.Flow != nil && s.Flow.Stage() == list+"_eval" {
			return s.Flow
		}
	}
	return nil
}

// causeOf returns a cause worded to fit the next packet that the same object stops, too.
func causeOf(v journey.Verdict, reply bool) Cause {
	if v.Because.Kind == journey.Denied {
		v.Because.Traffic, v.Because.Groups = nil, ""
	}
	return Cause{Outcome: v.Outcome, Reply: reply, Stage: v.Stage, Kind: v.Because.Kind, Text: cause.Words(v.Because), Object: v.Object}
}
