package trace

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/ovn"
)

// Run answers a query: by what the nodes on the way say, and by what the logical flows say. Where a node is not in reach
// the logical flows are the answer. The notes are what a reader should know of it. The error is a *topology.NameError for a
// name that means nothing or several things; what cannot be read on the way is no error but an unknown verdict.
func Run(ctx context.Context, c *cluster.Cluster, g *topology.Graph, q Query) (*journey.Trace, []string, error) {
	t := &tracer{deployment: newDeployment(c, g), noNodes: q.Logical}
	ask, err := t.ask(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	should, notes, err := t.logical(ctx, ask)
	if err != nil {
		return nil, nil, err
	}
	answer := &journey.Trace{Request: ask.request}
	notes = append(notes, t.answer(ctx, ask, should, answer)...)
	answer.Next = t.next(ask, answer.Verdict, answer.Disagreements)
	if q.Observe > 0 {
		t.observe(ctx, ask, answer)
	}
	answer.Commands, answer.Simulated = t.commands, t.simulated
	answer.Complete()
	return answer, notes, nil
}

// answer fills in the ways: those that the nodes say, and beside them those that the logical flows say, or these alone.
func (t *tracer) answer(ctx context.Context, ask *question, should *journey.Walk, answer *journey.Trace) []string {
	if t.noNodes {
		answer.Take(should)
		return nil
	}
	t.gather(ctx, should)
	would := walkOf(t.openflow(ctx, ask, len(should.Branches)))
	if would.Verdict.Outcome == journey.Unknown && len(t.unasked) > 0 && should.Verdict.Outcome != journey.Unknown {
		answer.Take(should)
		return []string{t.notLooked()}
	}
	answer.Take(would)
	if len(t.zones) == 0 && should.Verdict.Outcome == journey.Unknown {
		return nil // there are no logical flows at all
	}
	answer.Logical = should
	if !t.cluster.Offline() || t.cluster.Captured() {
		answer.Disagreements = t.compare(ctx, would, should)
	}
	v, by := &answer.Verdict, should.Verdict
	if v.Outcome == by.Outcome && v.Stage == by.Stage { // they agree: what the logical flows rest on, the nodes' do
		v.Rule, v.Near, v.Allowed, v.WhyNot = by.Rule, by.Near, by.Allowed, by.WhyNot
		if v.Because.Kind == by.Because.Kind { // of which the logical flows know more
			v.Because, v.Cause = by.Because, by.Cause
		}
	}
	return differ(would, should)
}

// logical follows the packet by the logical flows alone.
func (t *tracer) logical(ctx context.Context, ask *question) (*journey.Walk, []string, error) {
	w, err := newWalker(ctx, t.deployment, ovn.Options{Length: ask.Length, Query: ask.Name})
	if err != nil {
		return unread(err, ask), nil, ctx.Err()
	}
	rounds, more, err := w.Rounds(ctx, ask.from, ask.packet, ask.Backend)
	if err != nil {
		return unread(err, ask), nil, ctx.Err()
	}
	w.Evidence = ask.Evidence
	var branches []journey.Branch
	for _, r := range rounds {
		b := w.Branch(ctx, r)
		if ask.WhyNot && r.Outcome() != journey.Delivered {
			b.Verdict.WhyNot = w.WhyNot(ctx, ask.from, ask.packet, r)
		}
		branches = append(branches, b)
	}
	slices.SortStableFunc(branches, byChoice)
	if err := ask.chosen(branches); err != nil {
		return nil, nil, err
	}
	var notes []string
	if more {
		notes = append(notes, fmt.Sprintf("there are more combinations of backends and next hops than the %d that were followed: --backend follows one", len(branches)))
	}
	return walkOf(branches), notes, ctx.Err()
}

// unread is the walk where the logical flows cannot be read.
func unread(err error, ask *question) *journey.Walk {
	v := unknown(journey.Cause{Kind: journey.LogicalUnread, Detail: err.Error()})
	return walkOf([]journey.Branch{neverSent(*v, ask.packet, journey.LogicalFlows)})
}

// byChoice orders branches by what they go through.
func byChoice(a, b journey.Branch) int {
	return cmp.Or(strings.Compare(a.Backend, b.Backend), slices.Compare(a.Through, b.Through))
}

// chosen is the error of a backend that was asked for, where no load balancer on the way has it.
func (q *question) chosen(branches []journey.Branch) error {
	if !q.Backend.IsValid() || len(q.backends) == 0 {
		return nil
	}
	for _, b := range q.backends {
		if b.Addr == q.Backend.Addr() && (q.Backend.Port() == 0 || b.Port == int(q.Backend.Port())) {
			return nil
		}
	}
	var has []string
	for _, b := range q.backends {
		has = append(has, joinPort(b.Addr, uint16(b.Port)))
	}
	return &topology.NameError{Text: q.Backend.String(), Reason: "the service has no such backend\nhint: it has " + strings.Join(has, ", ")}
}

// gather opens the nodes that the logical flows lead to, side by side: one that does not answer is waited for once.
func (t *tracer) gather(ctx context.Context, should *journey.Walk) {
	var nodes []*cluster.Node
	for _, d := range should.Directions() {
		for _, h := range d.Hops {
			n := t.cluster.Node(h.Node)
			if h.Node != "" && n != nil && !n.Far() && !slices.Contains(nodes, n) {
				nodes = append(nodes, n)
			}
		}
	}
	if len(nodes) > 0 {
		t.cluster.Gather(ctx, nodes...)
	}
}

// notLooked says which nodes were not asked.
func (t *tracer) notLooked() string {
	nodes := strings.Join(t.unasked, ", ")
	return fmt.Sprintf("this is what the logical flows say: what really happens on %s was not looked at", nodes)
}

// walkOf is what several rounds come to: the worst of them is the verdict.
func walkOf(branches []journey.Branch) *journey.Walk {
	w := &journey.Walk{Branches: []journey.Branch{}, Verdict: branches[0].Verdict}
	if len(branches) == 1 {
		w.Forward, w.Reply = branches[0].Forward, branches[0].Reply
		return w
	}
	w.Branches = branches
	for _, b := range branches[1:] {
		if journey.Worst(w.Verdict.Outcome, b.Verdict.Outcome) != w.Verdict.Outcome {
			w.Verdict = b.Verdict
		}
	}
	w.Verdict.Sentence = overall(w.Verdict, branches)
	return w
}

// neverSent is the branch of a packet that its sender does not get out.
func neverSent(v journey.Verdict, p Packet, producer string) journey.Branch {
	say(&v, nil, "", "the packet")
	return journey.Branch{Verdict: v, Through: []string{}, Forward: &journey.Direction{
		Verdict: v, Producer: producer, State: "new", Packet: p.String(), Hops: []journey.Hop{},
	}}
}

// differ says where what the nodes do is not what the logical flows say.
func differ(would, should *journey.Walk) []string {
	a, b := would.Verdict, should.Verdict
	if a.Outcome == b.Outcome || a.Outcome == journey.Unknown || b.Outcome == journey.Unknown {
		return nil
	}
	return []string{fmt.Sprintf("the logical flows say otherwise, %s: %s", b.Outcome, b.Sentence)}
}
