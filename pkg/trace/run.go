package trace

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/flow"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/ofproto"
)

// Run answers a query. The error is a *topology.NameError for a name that means nothing or several
// things; what cannot be read on the way is no error but an unknown verdict.
func Run(ctx context.Context, c *cluster.Cluster, g *topology.Graph, q Query) (*journey.Trace, error) {
	t := &tracer{cluster: c, graph: g}
	ask, err := t.ask(ctx, q)
	if err != nil {
		return nil, err
	}
	answer := &journey.Trace{Request: ask.request, Branches: []journey.Branch{}, Next: []string{}}
	branches := t.branches(ctx, ask)
	if len(branches) == 1 {
		b := branches[0]
		answer.Forward, answer.Reply, answer.Verdict = b.Forward, b.Reply, b.Verdict
	} else {
		answer.Branches = branches
		answer.Verdict = branches[0].Verdict
		for _, b := range branches[1:] {
			if journey.Worst(answer.Verdict.Outcome, b.Verdict.Outcome) != answer.Verdict.Outcome {
				answer.Verdict = b.Verdict
			}
		}
		answer.Verdict.Sentence = overall(answer.Verdict, branches)
	}
	answer.Next = t.next(ask, answer.Verdict)
	answer.Commands = t.commands
	return answer, nil
}

// overall is the sentence of a connection that may go to any of several backends. Worst is the verdict of the
// worst of them.
func overall(worst journey.Verdict, branches []journey.Branch) string {
	count, through := 0, ""
	for _, b := range slices.Backward(branches) {
		if b.Verdict.Outcome == journey.Delivered {
			count++
		}
		if b.Verdict.Outcome == worst.Outcome {
			through = b.Backend
		}
	}
	if count == len(branches) {
		return fmt.Sprintf("all %d backends receive the packet, and their answers come back", count)
	}
	return fmt.Sprintf("%d of %d backends answer; through %s, %s", count, len(branches), through, worst.Sentence)
}

// A question is a query whose names are understood.
type question struct {
	request  journey.Request
	from, to topology.Match
	packet   packet
	start    place // where the packet starts; with no node, why not is in failure
	failure  *journey.Verdict
	backends []topology.Backend // of a virtual address
}

// maxHashes is how many values of dp_hash are tried to see every backend: ofproto/trace chooses a bucket
// by it, out of at most 256 slots.
const maxHashes = 256

// branches follows the packet, through every backend if there are several.
func (t *tracer) branches(ctx context.Context, ask *question) []journey.Branch {
	if ask.failure != nil {
		v := *ask.failure
		v.Sentence = sentence(v, nil, "", "the packet")
		return []journey.Branch{{Verdict: v, Forward: &journey.Direction{Verdict: v, State: "new", Packet: ask.packet.String(), Hops: []journey.Hop{}}}}
	}
	var branches []journey.Branch
	seen := map[netip.AddrPort]bool{}
	for hash := uint32(1); hash <= maxHashes; hash++ {
		r := &run{tracer: t, ct: &ofproto.Conntrack{}, dpHash: hash}
		b := r.connection(ctx, ask, func(backend netip.AddrPort) bool { return seen[backend] })
		if b != nil {
			branches = append(branches, *b)
			seen[r.backend] = true
		}
		if len(seen) >= max(1, len(ask.backends)) || !r.backend.IsValid() {
			break
		}
	}
	slices.SortFunc(branches, func(a, b journey.Branch) int { return strings.Compare(a.Backend, b.Backend) })
	return branches
}

// connection follows the first packet and its answer. It returns nil if the packet goes to a backend that
// skip knows already.
func (r *run) connection(ctx context.Context, ask *question, skip func(netip.AddrPort) bool) *journey.Branch {
	forward, err := r.follow(ctx, ask.start)
	if r.backend.IsValid() && skip(r.backend) {
		return nil
	}
	b := &journey.Branch{}
	if r.backend.IsValid() {
		b.Backend = r.backend.String()
	}
	b.Forward = r.direction(ask.start.packet, "new", &forward, err)
	b.Forward.Verdict.Sentence = sentence(b.Forward.Verdict, forward.hops, forward.reached, "the packet")
	b.Verdict = b.Forward.Verdict
	if b.Verdict.Outcome != journey.Delivered {
		return b
	}
	answer, ok := ofproto.Answer(forward.at.packet)
	if !ok {
		return b
	}
	back, err := r.answer(ctx, forward, answer)
	b.Reply = r.direction(answer, "est,rpl", &back, err)
	r.checkReturn(ask, b.Reply, back)
	b.Reply.Verdict.Sentence = sentence(b.Reply.Verdict, back.hops, back.reached, "the answer")
	if b.Reply.Verdict.Outcome != journey.Delivered {
		b.Verdict = b.Reply.Verdict
		return b
	}
	b.Verdict.Sentence = roundTrip(b, forward)
	return b
}

// answer follows the answer from where the packet arrived, if it is sent at all.
func (r *run) answer(ctx context.Context, forward ending, packet flow.Flow) (ending, error) {
	start := forward.at
	start.packet = packet
	t, _ := ofproto.TupleOf(&packet)
	var stopped *journey.Verdict
	switch {
	case forward.outside:
		if stopped = r.unanswered(t.Dst, t.Src); stopped != nil {
			stopped.Node, stopped.Datapath = start.node.Name, lastRouter(forward.hops)
		}
	case forward.link != "":
		if stopped = start.node.sends(ctx, forward.link, t.Src, t.Dst); stopped != nil {
			stopped.Port = forward.verdict.Port
		}
	}
	if stopped != nil {
		return ending{verdict: *stopped}, nil
	}
	return r.follow(ctx, start)
}

// lastRouter is the router that a packet went out by; empty if a host's own network was the last to route it.
func lastRouter(hops []journey.Hop) string {
	for _, h := range slices.Backward(hops) {
		switch h.Kind {
		case "router":
			return h.Datapath
		case "host":
			return ""
		}
	}
	return ""
}

// direction is a way as the contract has it.
func (r *run) direction(packet flow.Flow, state string, e *ending, err error) *journey.Direction {
	d := &journey.Direction{State: state, Packet: describe(packet), Hops: e.hops}
	if d.Hops == nil {
		d.Hops = []journey.Hop{}
	}
	if err != nil {
		d.Verdict = journey.Verdict{Outcome: journey.Unknown, Cause: err.Error()}
		return d
	}
	d.Verdict = e.verdict
	return d
}

// checkReturn makes sure that the answer comes out where the packet was sent from, and as an answer to it:
// from the address that was asked.
func (r *run) checkReturn(ask *question, d *journey.Direction, e ending) {
	if d.Verdict.Outcome != journey.Delivered {
		return
	}
	got, ok := ofproto.TupleOf(&e.at.packet)
	sent, _ := ofproto.TupleOf(&ask.start.packet)
	if !ok || got == sent.Reverse() {
		return
	}
	d.Verdict.Outcome = journey.Dropped
	d.Verdict.Cause = fmt.Sprintf("the answer comes from %s, but %s was asked: the sender does not take it", got.Src, sent.Dst)
}

// ask understands the names of a query and builds its packet.
func (t *tracer) ask(ctx context.Context, q Query) (*question, error) {
	from, err := t.graph.ResolveOne(q.From, topology.Endpoints...)
	if err != nil {
		return nil, err
	}
	to, err := t.graph.ResolveOne(q.To, topology.Endpoints...)
	if err != nil {
		return nil, err
	}
	ask := &question{from: from, to: to}
	if err := t.fillService(&q, to); err != nil {
		return nil, err
	}
	if q.Protocol == "" {
		q.Protocol = "icmp"
	}
	src, dst, err := t.addresses(ctx, q, from, to)
	if err != nil {
		return nil, err
	}
	family := 4
	if dst.Is6() {
		family = 6
	}
	ask.request = journey.Request{
		From: t.endpoint(q.From, from, src), To: t.endpoint(q.To, to, dst),
		Protocol: q.Protocol, Port: q.Port, SourcePort: q.SourcePort, Family: family, State: "new",
	}
	if q.Protocol == "icmp" {
		ask.request.SourcePort = 0
	}
	if backends, ok := t.graph.Backends(dst, q.Port, q.Protocol); ok {
		ask.backends = backends
	}
	p := packet{src: src, dst: dst, protocol: q.Protocol, sport: q.SourcePort, dport: q.Port}
	ask.packet = p
	ask.start, ask.failure, err = t.origin(ctx, from, p)
	return ask, err
}

// fillService takes port and protocol from the service where the query has none.
func (t *tracer) fillService(q *Query, to topology.Match) error {
	if to.Kind != topology.KindService {
		return nil
	}
	if q.Port == 0 {
		q.Port = to.L4Port
	}
	var offers []string
	for _, lb := range to.Balancers {
		for _, v := range lb.VIPs {
			offer := fmt.Sprintf("--%s %d", lb.Protocol, v.Port)
			if v.Port == 0 || !slices.ContainsFunc(to.Addresses, func(a netip.Addr) bool { return a.String() == v.Address }) || slices.Contains(offers, offer) {
				continue
			}
			if (q.Port == 0 || q.Port == v.Port) && (q.Protocol == "" || q.Protocol == lb.Protocol) {
				offers = append(offers, offer)
			}
		}
	}
	switch {
	case q.Protocol != "" && (q.Protocol == "icmp" || q.Port != 0):
		return nil
	case len(offers) == 1:
		_, err := fmt.Sscanf(offers[0], "--%s %d", &q.Protocol, &q.Port)
		return err
	case len(offers) > 1:
		return &topology.NameError{Text: q.To, Reason: "the service has several ports\nhint: say which: " + strings.Join(offers, ", ")}
	}
	return nil
}

// addresses chooses source and destination of one family.
func (t *tracer) addresses(ctx context.Context, q Query, from, to topology.Match) (src, dst netip.Addr, err error) {
	sources, err := t.addressesOf(ctx, from)
	if err != nil {
		return src, dst, err
	}
	targets, err := t.addressesOf(ctx, to)
	if err != nil {
		return src, dst, err
	}
	for _, v6 := range []bool{false, true} {
		if q.Family == 4 && v6 || q.Family == 6 && !v6 {
			continue
		}
		ofFamily := func(a netip.Addr) bool { return a.Is6() == v6 }
		s, d := slices.IndexFunc(sources, ofFamily), slices.IndexFunc(targets, ofFamily)
		if s >= 0 && d >= 0 {
			src, dst = sources[s], targets[d]
			if from.Kind == topology.KindNode {
				src = t.nodeSource(ctx, from, dst, src)
			}
			return src, dst, nil
		}
	}
	family := ""
	if q.Family != 0 {
		family = fmt.Sprintf(" IPv%d", q.Family)
	}
	text := q.From
	if len(sources) > 0 {
		text = q.To
	}
	return src, dst, &topology.NameError{Text: text, Reason: fmt.Sprintf("no%s address that both ends have a family of\nhint: %s has %v, %s has %v", family, q.From, sources, q.To, targets)}
}

// addressesOf lists the addresses of an end. A node is spoken to by its address on the underlay.
func (t *tracer) addressesOf(ctx context.Context, m topology.Match) ([]netip.Addr, error) {
	if m.Kind != topology.KindNode {
		return m.Addresses, nil
	}
	var addrs []netip.Addr
	if m.Chassis != nil {
		for _, e := range m.Chassis.Encaps {
			if a, err := netip.ParseAddr(e.IP); err == nil && !slices.Contains(addrs, a) {
				addrs = append(addrs, a)
			}
		}
	}
	n := t.nodeOf(m)
	if n == nil {
		return addrs, nil
	}
	v, err := t.view(ctx, n)
	if err != nil {
		return addrs, nil
	}
	net, err := v.net(ctx)
	if err != nil {
		return addrs, nil
	}
	// The other addresses of the link that holds the tunnel address: the other family.
	for _, known := range slices.Clone(addrs) {
		i := slices.IndexFunc(net.Addresses, func(a node.Address) bool { return a.Prefix.Addr() == known })
		if i < 0 {
			continue
		}
		for _, a := range net.Addresses {
			if a.Link == net.Addresses[i].Link && a.Scope == "global" && !slices.Contains(addrs, a.Prefix.Addr()) {
				addrs = append(addrs, a.Prefix.Addr())
			}
		}
	}
	return addrs, nil
}

// nodeSource is the address that the node's kernel would send from.
func (t *tracer) nodeSource(ctx context.Context, m topology.Match, dst, otherwise netip.Addr) netip.Addr {
	n := t.nodeOf(m)
	if n == nil {
		return otherwise
	}
	route, err := n.Host.Route(ctx, node.RouteQuery{Dst: dst})
	if err != nil || !route.Src.IsValid() {
		return otherwise
	}
	return route.Src
}

// nodeOf is the node of a match, nil if it is none.
func (t *tracer) nodeOf(m topology.Match) *cluster.Node {
	switch {
	case m.Chassis != nil:
		return t.cluster.Node(m.Chassis.Name)
	case m.Node != nil:
		return t.cluster.Node(m.Node.Name)
	}
	return nil
}

func (t *tracer) endpoint(text string, m topology.Match, a netip.Addr) journey.Endpoint {
	e := journey.Endpoint{Text: text, Name: text, Address: a.String()}
	kinds := map[topology.Kind]string{
		topology.KindPod: "pod", topology.KindPort: "port", topology.KindRPort: "router port", topology.KindVM: "vm",
		topology.KindNode: "node", topology.KindService: "service", topology.KindExternal: "external",
	}
	e.Kind = kinds[m.Kind]
	_, e.Name, _ = strings.Cut(m.Name, ":")
	if m.Kind == topology.KindNode {
		if n := t.nodeOf(m); n != nil {
			e.Node = n.Name
		}
		return e
	}
	if m.Port != nil {
		e.Port = m.Port.Name
		if len(m.Port.MACs) > 0 {
			e.MAC = m.Port.MACs[0]
		}
		if m.Port.Switch != nil {
			e.Datapath = m.Port.Switch.Name
		}
		if n := t.cluster.Node(m.Port.Chassis); n != nil && m.Port.Chassis != "" {
			e.Node = n.Name
		}
	}
	return e
}
