package trace

import (
	"context"
	"fmt"
	"math/bits"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/cause"
	"github.com/ovnctl/ovnctl/pkg/trace/ovs"
)

// overall returns the sentence for a connection that may take any of several branches. Worst is the worst of their
// verdicts.
func overall(worst journey.Verdict, branches []journey.Branch) string {
	count, through, balanced := 0, "", false
	for _, b := range slices.Backward(branches) {
		if b.Verdict.Outcome == journey.Delivered {
			count++
		}
		if b.Backend != "" {
			balanced = true
		}
		if b.Verdict.Outcome == worst.Outcome {
			through = strings.TrimPrefix(strings.Join(append([]string{b.Backend}, b.Through...), ", "), ", ")
		}
	}
	switch {
	case count < len(branches) && !balanced:
		return fmt.Sprintf("%d of %d paths work; by %s, %s", count, len(branches), through, worst.Sentence)
	case count < len(branches):
		return fmt.Sprintf("%d of %d backends reply; through %s, %s", count, len(branches), through, worst.Sentence)
	case !balanced:
		return fmt.Sprintf("the packet arrives on all %d paths, and its reply comes back", count)
	}
	return fmt.Sprintf("all %d backends receive the packet, and their replies come back", count)
}

// maxHashes is how many dp_hash values are tried to see every backend: ofproto/trace chooses a bucket by it, from at
// most 256 slots.
const maxHashes = 256

// hashesFor returns how many of them see every one of some paths. Buckets that weigh the same, as OVN's do, have a slot each among
// the next power of two, at least 16; four times as many are tried.
func hashesFor(paths int) uint32 {
	if paths <= 1 {
		return maxHashes // nobody knows how many there are
	}
	return min(maxHashes, max(16, uint32(1)<<bits.Len(uint(paths-1)))*4)
}

// openflow follows the packet through the nodes' OpenFlow flows on as many paths as there are: through every backend of
// a load balancer and over every next hop of a router.
func (t *tracer) openflow(ctx context.Context, ask *question, paths int) []journey.Branch {
	start, failure := t.origin(ctx, ask.from, ask.packet)
	if failure != nil {
		return []journey.Branch{neverSent(*failure, ask.packet, journey.OpenFlow)}
	}
	t.ingress, t.firstTTL = start.ingress(), int(start.packet.Uint("nw_ttl"))
	var branches []journey.Branch
	seen := map[string]bool{}
	paths = max(paths, len(ask.backends))
	for hash := uint32(1); hash <= hashesFor(paths); hash++ {
		r := &run{tracer: t, ct: &ovs.Conntrack{Full: func(z ovs.Zone) bool { return t.zoneFull(ctx, z) }}, dpHash: hash, length: ask.request.Length, fromOutside: ask.from.Kind == topology.KindExternal}
		b := r.connection(ctx, start, func(path string) bool {
			known := seen[path]
			seen[path] = true
			return known || !ask.wants(r.backend)
		})
		if b != nil {
			branches = append(branches, *b)
			if ask.Observe > 0 {
				r.later(ctx, start, b)
			}
		}
		if len(seen) >= paths || paths <= 1 && !r.backend.IsValid() || len(branches) == 1 && ask.Backend.IsValid() || ctx.Err() != nil {
			break
		}
	}
	if len(branches) == 0 {
		v := unknown(journey.Cause{Kind: journey.NoSuchBackend, Detail: ask.Backend.String()})
		return []journey.Branch{neverSent(*v, ask.packet, journey.OpenFlow)}
	}
	slices.SortFunc(branches, byChoice)
	nameChoices(branches)
	return branches
}

// wants reports whether paths through a backend were requested.
func (q *question) wants(backend netip.AddrPort) bool {
	return !q.Backend.IsValid() || !backend.IsValid() ||
		backend.Addr() == q.Backend.Addr() && (q.Backend.Port() == 0 || q.Backend.Port() == backend.Port())
}

// nameChoices clears the choices of branches where they do not tell the branches apart.
func nameChoices(branches []journey.Branch) {
	several := map[string]int{}
	for _, b := range branches {
		several[b.Backend]++
	}
	for i := range branches {
		if several[branches[i].Backend] == 1 {
			branches[i].Through = []string{}
		}
	}
}

// over returns where the last router on the path sent a packet: the port and the next hop's MAC address.
func over(e *ending) string {
	for _, h := range slices.Backward(e.hops) {
		if h.Kind == "router" && h.To != "" {
			return fmt.Sprintf("next hop %s by %s", macText(e.at.packet, "eth_dst"), h.To)
		}
	}
	return ""
}

// connection follows the first packet and its reply. It returns nil for a path that skip already knows.
func (r *run) connection(ctx context.Context, start location, skip func(path string) bool) *journey.Branch {
	if start.bridge == "" && start.link == "" {
		r.beganAt = start.node
	}
	r.ttl = start.began
	r.unsummed = start.unsummed
	forward, err := r.follow(ctx, start)
	r.blameZone(&forward)
	r.blameChecksum(&forward)
	learned := forward.learned
	if err == nil && learned != nil {
		r.ct.Forget() // the client's next packet starts another connection, or one that conntrack shows as new
		forward, err = r.follow(ctx, start)
	}
	through := over(&forward)
	if skip(r.backend.String() + through) {
		return nil
	}
	b := &journey.Branch{Through: []string{through}}
	if r.backend.IsValid() {
		b.Backend = r.backend.String()
	}
	b.Forward = r.direction(start.packet, "new", &forward, err)
	b.Forward.Learned = learned
	say(&b.Forward.Verdict, forward.hops, forward.reached, "the packet")
	b.Verdict = b.Forward.Verdict
	if b.Verdict.Outcome != journey.Delivered {
		return b
	}
	b.Verdict.Assumptions = b.Forward.Verdict.Assumptions
	if returned(&start.packet, &forward.at.packet) {
		b.Verdict.Sentence = ovnReplies
		return b
	}
	reply, ok := ovs.Reply(forward.at.packet)
	if !ok {
		return b
	}
	back, err := r.reply(ctx, forward, reply)
	r.blameZone(&back)
	b.Reply = r.direction(reply, "est,rpl", &back, err)
	r.checkReturn(start.packet, b.Reply, back)
	b.Reply.Verdict.Outcome = ofReply(b.Reply.Verdict.Outcome)
	say(&b.Reply.Verdict, back.hops, back.reached, "the reply")
	if b.Reply.Verdict.Outcome != journey.Delivered {
		b.Verdict = b.Reply.Verdict
		return b
	}
	b.Verdict.Assumptions = assuming(forward.assumed, back.assumed)
	b.Verdict.Sentence = roundTrip(forward.reached, forward.outside, sourceOf(&forward.at.packet))
	return b
}

// reply follows the reply from where the packet arrived, if one is sent at all.
func (r *run) reply(ctx context.Context, forward ending, packet packet.Flow) (ending, error) {
	start := forward.at
	start.packet, start.began, r.replying = packet, "", true
	t, _ := packet.Tuple()
	var stopped *journey.Verdict
	switch {
	case forward.outside:
		if stopped = r.unanswered(&forward, t.Dst, t.Src); stopped != nil {
			stopped.Node, stopped.Datapath = start.node.Name, lastRouter(forward.hops)
		}
	case forward.link != "":
		if stopped = r.sends(ctx, start.node, forward.link, t, true); stopped != nil {
			stopped.Port = forward.verdict.Port
		}
		r.byGateway(r.graph.PortByName(forward.verdict.Port), &start.packet)
	}
	if stopped != nil {
		return ending{verdict: *stopped}, nil
	}
	if !forward.outside {
		r.begins(ctx, &start, forward.link)
	}
	if forward.link != "" {
		start.assumed = append(start.assumed, r.unsureFilter(ctx, start.node, forward.link, t, "", true, false)...)
	}
	r.ttl = start.began
	r.unsummed, r.ct.Judged = nil, false
	if forward.link != "" {
		r.unsummed = r.leavesChecksum(ctx, start.node, forward.link, r.graph.PortByName(forward.verdict.Port), t)
	}
	e, err := r.follow(ctx, start)
	r.blameChecksum(&e)
	return e, err
}

// later follows another packet of a followed connection: it hits other flows, which count most of the traffic.
func (r *run) later(ctx context.Context, start location, b *journey.Branch) {
	if b.Forward.Verdict.Outcome == journey.Unknown {
		return
	}
	r.ct.Later()
	asked := len(r.commands)
	e, err := r.follow(ctx, start)
	r.commands = r.commands[:asked]
	if err != nil || e.verdict.Outcome == journey.Unknown {
		return
	}
	if r.laterHops == nil {
		r.laterHops = map[*journey.Direction][]journey.Hop{}
	}
	r.laterHops[b.Forward] = e.hops
}

// lastRouter returns the last router that a packet left through; empty if a host's own network routed it last.
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

// direction converts a path to its JSON contract.
func (r *run) direction(packet packet.Flow, state string, e *ending, err error) *journey.Direction {
	d := &journey.Direction{Producer: journey.OpenFlow, State: state, Packet: describe(packet), Hops: e.hops}
	if d.Hops == nil {
		d.Hops = []journey.Hop{}
	}
	if err != nil {
		d.Verdict = *unknown(causeOf(err))
		return d
	}
	d.Verdict = e.verdict
	if d.Verdict.Outcome == journey.Delivered {
		d.Verdict.Assumptions = assuming(e.assumed)
	}
	return d
}

// assuming returns the assumptions of several parts of a path as one list, in words.
func assuming(parts ...[]journey.Assumption) []journey.Assumption {
	list := journey.Assume(nil, slices.Concat(parts...)...)
	for i := range list {
		list[i].Sentence = cause.Assumed(list[i])
	}
	return list
}

// checkReturn checks that the reply arrives where the packet was sent from, and comes from the address it was sent to.
func (r *run) checkReturn(packet packet.Flow, d *journey.Direction, e ending) {
	if d.Verdict.Outcome != journey.Delivered {
		return
	}
	if e.outside && !r.fromOutside {
		t, _ := packet.Tuple()
		d.Verdict.Outcome, d.Verdict.Because = journey.Dropped, journey.Cause{Kind: journey.ReplyStrays, Place: journey.Outside, Address: t.Src, Link: d.Verdict.Port}
		return
	}
	got, ok := e.at.packet.Tuple()
	sent, _ := packet.Tuple()
	if !ok || got == sent.Reverse() {
		return
	}
	d.Verdict.Outcome, d.Verdict.Because = journey.Dropped, notTaken(got.Src, sent.Dst).Because
}
