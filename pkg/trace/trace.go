package trace

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/cause"
	"github.com/ovnctl/ovnctl/pkg/trace/ovn"
)

// Run answers a query from the flows of the nodes on the path and from the logical flows. If a node is unreachable, the
// result rests on the logical flows alone. The notes are caveats for the reader. The error is a *topology.NameError for
// a name that is not found or ambiguous; anything unreadable on the path is not an error but an unknown verdict.
func Run(ctx context.Context, c *cluster.Cluster, g *topology.Graph, q Query) (*journey.Trace, []string, error) {
	t := &tracer{deployment: newDeployment(c, g), known: NewKnown(c), noNodes: q.Logical, standing: q.Standing}
	ask, err := t.ask(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	if !t.noNodes {
		t.reads.once(ctx)
		t.beginAt(ctx, ask.from, ask.to)
	}
	expected, notes, err := t.logical(ctx, ask)
	if err != nil {
		return nil, nil, err
	}
	result := &journey.Trace{Request: ask.request}
	notes = append(notes, t.fill(ctx, ask, expected, result)...)
	notes = append(notes, lostFirst(result)...)
	result.Names = t.names(result)
	result.Next = t.next(ask, result.Verdict, result.Disagreements)
	if q.Observe > 0 {
		t.observe(ctx, ask, result)
	}
	result.Commands, result.Simulated, result.Ingress, result.TTL = t.commands, t.simulated, t.ingress, t.firstTTL
	result.Complete()
	return result, notes, nil
}

// fill sets a trace's paths: the actual ones next to those that the logical flows expect, or only the latter.
func (t *tracer) fill(ctx context.Context, ask *question, expected *journey.Walk, result *journey.Trace) []string {
	if t.noNodes {
		t.restOnOVN(expected)
		result.Take(expected)
		return nil
	}
	defer t.gather(ctx, ask, expected)()
	actual := walkOf(t.openflow(ctx, ask, len(expected.Branches)))
	if actual.Verdict.Outcome == journey.Unknown && len(t.unasked) > 0 && expected.Verdict.Outcome != journey.Unknown {
		t.restOnOVN(expected)
		result.Take(expected)
		return []string{t.notRead()}
	}
	result.Take(actual)
	if len(t.zones) == 0 && expected.Verdict.Outcome == journey.Unknown {
		return nil // there are no logical flows
	}
	result.Logical = expected
	if !t.cluster.Offline() || t.cluster.Captured() {
		result.Disagreements = t.compare(ctx, actual, expected)
	}
	v, by := &result.Verdict, expected.Verdict
	if v.Outcome == by.Outcome && v.Stage == by.Stage { // the nodes' flows rest on the same as the logical flows
		v.Rule, v.Near, v.Allowed, v.WhyNot = by.Rule, by.Near, by.Allowed, by.WhyNot
		if v.Because.Kind == by.Because.Kind { // the logical flows know more about it
			v.Because, v.Cause = by.Because, by.Cause
		}
	}
	return differ(actual, expected)
}

// restOnOVN adds to a walk by the logical flows what it assumes: that the nodes do what the flows say, and what lies
// between and outside of them.
func (t *tracer) restOnOVN(w *journey.Walk) {
	if w.Verdict.Outcome != journey.Delivered {
		return
	}
	var all []journey.Assumption
	for _, d := range w.Directions() {
		nodes := []string{}
		for _, h := range d.Hops {
			if h.Node != "" && !slices.Contains(nodes, h.Node) {
				nodes = append(nodes, h.Node)
			}
		}
		unread := nodes
		if len(t.unasked) > 0 {
			unread = t.unasked
		}
		all = append(all, journey.Assumption{Kind: journey.NodesAsOVNSays, Nodes: unread})
		if len(nodes) > 1 {
			all = append(all, journey.Assumption{Kind: journey.PhysicalNetwork, Nodes: nodes})
		}
	}
	w.Verdict.Assumptions = assuming(w.Verdict.Assumptions, all)
}

// logical follows the packet through the logical flows alone.
func (t *tracer) logical(ctx context.Context, ask *question) (*journey.Walk, []string, error) {
	w, err := newWalker(ctx, t.deployment, ovn.Options{Length: ask.Length, Query: ask.Name})
	if err != nil {
		return unread(err, ask), nil, ctx.Err()
	}
	t.walker = w
	rounds, more, err := w.Rounds(ctx, ask.from, ask.packet, ask.Backend)
	if err != nil {
		return unread(err, ask), nil, ctx.Err()
	}
	w.Evidence = ask.Evidence
	w.prepare(ctx, rounds)
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
		notes = append(notes, fmt.Sprintf("only %d combinations of backends and next hops were followed: --backend follows one", len(branches)))
	}
	return walkOf(branches), notes, ctx.Err()
}

// unread returns the walk for logical flows that cannot be read.
func unread(err error, ask *question) *journey.Walk {
	v := unknown(journey.Cause{Kind: journey.LogicalUnread, Detail: err.Error()})
	return walkOf([]journey.Branch{neverSent(*v, ask.packet, journey.LogicalFlows)})
}

// byChoice orders branches by their choices.
func byChoice(a, b journey.Branch) int {
	return cmp.Or(strings.Compare(a.Backend, b.Backend), slices.Compare(a.Through, b.Through))
}

// chosen returns an error if a requested backend is on no load balancer on the path.
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

// beginAt has what will be asked of the nodes at both ends read while the logical flows are followed. Whoever needs it waits for it, and
// gets its error.
func (t *tracer) beginAt(ctx context.Context, ends ...topology.Match) {
	for _, end := range ends {
		if end.Chassis == nil {
			continue
		}
		n := t.cluster.Node(end.Chassis.Name)
		switch {
		case n == nil || n.Far():
		case n.Vswitch() != nil:
			go func() { _, _ = t.known.Names(ctx, n) }()
			go func() { _, _ = t.reads.network(ctx, n) }()
			questions := usual(t.netdev(n.Name))
			go func() {
				for _, question := range questions {
					if _, err := t.reads.control(ctx, n, question[0], question[1:]...); err != nil {
						return
					}
				}
			}()
			for _, link := range linksOn(end.Port, n) {
				go func() { _, _ = t.reads.pod(ctx, n, link) }()
			}
		default:
			node.AskAhead(n.Host).Begin(ctx)
			zone := t.cluster.ZoneOf(n)
			go func() { _, _ = t.known.logical(ctx, zone) }() // for the names on the node
		}
	}
}

// linksOn returns the links on a node by which a port's owner is attached; none of nil.
func linksOn(port *topology.Port, n *cluster.Node) (links []string) {
	if port == nil {
		return nil
	}
	for _, a := range port.Interfaces {
		if a.Node == n.Name && a.OFPort > 0 {
			links = append(links, a.Interface)
		}
	}
	return links
}

// gather opens the nodes that the logical flows lead to in parallel, so that unreachable ones cost one timeout in all. It waits for the
// first one and for those that are there already: the others are read while these are asked, and wait waits for them.
func (t *tracer) gather(ctx context.Context, ask *question, expected *journey.Walk) (wait func()) {
	var nodes, others []*cluster.Node
	for _, d := range expected.Directions() {
		for _, h := range d.Hops {
			n := t.cluster.Node(h.Node)
			if h.Node == "" || n == nil || n.Far() || slices.Contains(nodes, n) || slices.Contains(others, n) {
				continue
			}
			if len(nodes) > 0 && n.Vswitch() == nil && node.AskAhead(n.Host).Possible() {
				others = append(others, n)
			} else {
				nodes = append(nodes, n)
			}
		}
	}
	var coming sync.WaitGroup
	if len(others) > 0 {
		coming.Go(func() {
			t.cluster.Gather(ctx, others...)
			t.readNames(ctx, others)
		})
	}
	t.coming = coming.Wait
	if len(nodes) > 0 {
		t.cluster.Gather(ctx, nodes...)
		t.readAhead(ctx, ask, expected, nodes)
	}
	return coming.Wait
}

// readNames reads the names on open nodes side by side.
func (t *tracer) readNames(ctx context.Context, nodes []*cluster.Node) {
	var reading sync.WaitGroup
	for _, n := range nodes {
		if n.Vswitch() != nil {
			reading.Go(func() { _, _ = t.known.Names(ctx, n) }) // whoever needs it gets the error
		}
	}
	reading.Wait()
}

// readAhead reads side by side what nodes on the path will be asked for, and the workloads at both ends: one after the other that is
// most of a trace's time.
func (t *tracer) readAhead(ctx context.Context, ask *question, expected *journey.Walk, nodes []*cluster.Node) {
	g, err := t.graph.WithNodes(ctx, t.cluster)
	if err != nil {
		return
	}
	t.graph = g
	ends, sender := []string{ask.request.From.Port, ask.request.To.Port}, map[string]bool{}
	if port := g.PortByName(ask.request.From.Port); port != nil {
		for _, a := range port.Interfaces {
			sender[a.Node] = true
		}
	}
	for _, d := range expected.Directions() {
		ends = append(ends, d.Verdict.Port)
	}
	slices.Sort(ends)
	ends = slices.Compact(ends)
	var reading sync.WaitGroup
	reading.Go(func() { t.readNames(ctx, nodes) })
	for _, n := range nodes {
		if n.Vswitch() == nil {
			continue
		}
		for _, end := range ends {
			port := g.PortByName(end)
			if end == "" || port == nil {
				continue
			}
			if !sender[n.Name] && node.AskAhead(n.Host).Possible() {
				continue // what comes by a tunnel is foreseen
			}
			for _, link := range linksOn(port, n) {
				reading.Go(func() { _, _ = t.reads.pod(ctx, n, link) })
			}
		}
	}
	reading.Wait()
}

// notRead names the nodes that were not read.
func (t *tracer) notRead() string {
	return "by the logical flows alone: the OpenFlow flows of " + strings.Join(t.unasked, ", ") + " were not read"
}

// walkOf combines several rounds: the worst of them is the verdict.
func walkOf(branches []journey.Branch) *journey.Walk {
	w := &journey.Walk{Branches: []journey.Branch{}, Verdict: branches[0].Verdict}
	if len(branches) == 1 {
		w.Forward, w.Reply = branches[0].Forward, branches[0].Reply
		return w
	}
	w.Branches = branches
	var assumed [][]journey.Assumption
	works := 0
	for _, b := range branches {
		assumed = append(assumed, b.Verdict.Assumptions)
		if b.Verdict.Outcome == journey.Delivered {
			works++
		}
	}
	for _, b := range branches[1:] {
		if journey.Worst(w.Verdict.Outcome, b.Verdict.Outcome) != w.Verdict.Outcome {
			w.Verdict = b.Verdict
		}
	}
	w.Verdict.Sentence = overall(w.Verdict, branches)
	w.Verdict.Partial = works > 0 && works < len(branches)
	if works == len(branches) {
		w.Verdict.Assumptions = assuming(assumed...)
	}
	return w
}

// neverSent returns the branch for a packet that cannot be sent.
func neverSent(v journey.Verdict, p Packet, producer string) journey.Branch {
	say(&v, nil, "", "the packet")
	return journey.Branch{Verdict: v, Through: []string{}, Forward: &journey.Direction{
		Verdict: v, Producer: producer, State: "new", Packet: p.String(), Hops: []journey.Hop{},
	}}
}

// lostFirst notes that session affinity drops a client's first packet.
func lostFirst(t *journey.Trace) []string {
	w := journey.Walk{Forward: t.Forward, Reply: t.Reply, Branches: t.Branches}
	for _, d := range w.Directions() {
		l := d.Learned
		if l == nil {
			continue
		}
		next := "what the client sends again"
		if l.Userspace {
			next = "the client's next connection: the userspace datapath loses what it sends again, too"
		}
		return []string{fmt.Sprintf("session affinity: %s of %s drops the first packet of a new client, and learns its backend from it; shown is %s", l.Stage, l.Datapath, next)}
	}
	return nil
}

// differ reports where the actual outcome differs from the expected one, or why none is expected.
func differ(actual, expected *journey.Walk) []string {
	a, b := actual.Verdict, expected.Verdict
	if b.Because.Kind == journey.FlowUnread || b.Because.Kind == journey.ActionUnread {
		return []string{"what the logical flows say is unknown: " + cause.Words(b.Because)}
	}
	if a.Outcome == b.Outcome || a.Outcome == journey.Unknown || b.Outcome == journey.Unknown || a.Because.Kind == journey.TTLRanOut {
		return nil // logical flows are followed with a TTL that lasts
	}
	return []string{fmt.Sprintf("the logical flows say otherwise, %s: %s", b.Outcome, b.Sentence)}
}
