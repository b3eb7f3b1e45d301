package probe

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
)

// at reports whether a packet was seen at a place.
func at(p journey.Watchpoint, s sighting) bool {
	if s.node != p.Node || s.frame.Out != p.Leave || (s.sight.what != itself) != p.Reply || s.frame.Delivered != (p.Kind == journey.AtKernel) {
		return false
	}
	switch p.Kind {
	case journey.AtKernel:
		return s.frame.Pod == (p.Port != "") && s.frame.Link == p.Link
	case journey.AtTunnel:
		return s.sight.tunnel && !s.frame.Pod
	case journey.AtWorkload:
		return s.frame.Pod && s.frame.Link == p.Link
	}
	return !s.sight.tunnel && !s.frame.Pod && s.frame.Link == p.Link
}

// answer says what became of the packets, on the branch where most was seen of them.
func (r *run) answer(out outgoing) *journey.Sent {
	sent := &journey.Sent{Count: out.count, Size: r.packet.Size, Mark: fmt.Sprintf("%#06x", r.packet.Mark>>8), Packet: r.packet.String()}
	var verdict journey.Verdict
	most := -1
	for _, p := range r.paths {
		places, total := r.count(p.watchpoints), 0
		for _, w := range places {
			total += w.Seen
		}
		if total > most {
			most, sent.Places, verdict = total, places, p.verdict
		}
	}
	if !arrived(sent.Places, true) {
		sent.Places = r.strayed(sent.Places)
	}
	r.judge(sent, verdict, out)
	sent.Injected = r.injected
	r.found.describe(sent, verdict)
	return sent
}

// count fills in what was seen at each place.
func (r *run) count(watchpoints []journey.Watchpoint) []journey.Watchpoint {
	all := []journey.Watchpoint{}
	for _, p := range watchpoints {
		indexes := map[int]bool{}
		for _, s := range r.seen {
			if !at(p, s) {
				continue
			}
			indexes[s.sight.index] = true
			if p.Kind == journey.AtTunnel && (p.Leave || p.Link == "") {
				p.Link = s.frame.Link // nearest to the wire
			}
		}
		p.Seen, p.Unwatched = len(indexes), r.unwatched(p)
		all = append(all, p)
	}
	return all
}

// strayed adds where else on a node the packet was seen, after it was seen for the last time at a place that it should
// come to. One socket sees all links of a node, so sightings are in order.
func (r *run) strayed(places []journey.Watchpoint) []journey.Watchpoint {
	planned := places
	known := func(s sighting) bool {
		return slices.ContainsFunc(planned, func(p journey.Watchpoint) bool { return at(p, s) })
	}
	begins := map[string]int{} // index of the last sighting at a place that it should come to
	for i, s := range r.seen {
		if s.sight.what == itself && known(s) {
			begins[s.node] = i
		}
	}
	for i, s := range r.seen {
		// Frames in pods: those of other backends that a service might have chosen.
		if s.sight.what != itself || s.frame.Pod || s.frame.Delivered || i < begins[s.node] || known(s) {
			continue
		}
		p := journey.Watchpoint{Node: s.node, Kind: journey.AtHost, Link: s.frame.Link, Leave: s.frame.Out, Seen: 1}
		if s.sight.tunnel {
			p.Kind = journey.AtTunnel
			if p.Leave {
				p.Remote = s.sight.remote.String()
			}
		}
		if !slices.ContainsFunc(places, func(x journey.Watchpoint) bool { return at(x, s) }) {
			places = slices.Insert(places, behind(places, s.node), p)
		}
	}
	return places
}

// behind returns where in the path a stray packet on a node belongs: behind the last place there where it was seen, else
// before those where it was not.
func behind(places []journey.Watchpoint, node string) int {
	last, first, end := -1, -1, 0
	for i, p := range places {
		if p.Reply {
			break
		}
		end = i + 1
		switch {
		case p.Node != node:
		case p.Seen > 0:
			last = i
		case first < 0:
			first = i
		}
	}
	switch {
	case last >= 0:
		return last + 1
	case first >= 0:
		return first
	}
	return end
}

// unwatched is why nothing could be seen at a place.
func (r *run) unwatched(p journey.Watchpoint) string {
	w := r.nodes[p.Node]
	switch {
	case r.injected && !p.Reply && p.Port == r.trace.Request.From.Port && p.Port != "":
		return "the bridge put it out, behind this place"
	case w == nil:
		return "no node is known"
	case w.why != "":
		return w.why
	case p.Port != "" && p.Link == "":
		return "no interface on " + p.Node + " has iface-id " + p.Port
	case p.Kind == journey.AtWorkload:
		return w.listening.Unread[p.Link]
	case p.Kind == journey.AtKernel:
		return cmp.Or(w.listening.Undelivered, w.listening.Unread[p.Link])
	}
	return ""
}

func (r *run) judge(sent *journey.Sent, verdict journey.Verdict, out outgoing) {
	sent.Last, sent.Missing = -1, -1
	for i, p := range sent.Places {
		if p.Seen > 0 {
			sent.Last = i
		}
	}
	for i := sent.Last + 1; i < len(sent.Places) && sent.Missing < 0; i++ {
		if sent.Places[i].Unwatched == "" {
			sent.Missing = i
		}
	}
	there, back := arrived(sent.Places, false), arrived(sent.Places, true)
	refused := r.errorCame(sent.Places, refusal, failure, expiry)
	// The path of a packet that trace sees dropped ends before who it is for.
	there = there && verdict.Outcome != journey.Dropped && !r.errorCame(sent.Places, expiry)
	from, to := name(r.trace.Request.From), name(r.trace.Request.To)
	switch {
	case errors.Is(out.err, node.ErrNotSent):
		sent.Result, sent.Sentence = journey.NotSent, from+" cannot send it: "+reason(out.err)
	case out.err != nil:
		sent.Result, sent.Sentence = journey.Unsent, "nothing was sent: "+out.err.Error()
	case refused && !there:
		sent.Result, sent.Sentence = journey.Refused, "an error came back instead of a reply"
		sent.Last, sent.Missing = furthest(sent.Places)
	case back && refused:
		sent.Result, sent.Sentence = journey.Answered, to+" received it and refused the connection"
	case back && there:
		sent.Result, sent.Sentence = journey.Answered, to+" received it, and its reply came back"
	case back:
		sent.Result, sent.Sentence = journey.Answered, "a reply came back"
	case sent.Missing < 0:
		sent.Result, sent.Sentence = journey.Unsent, "no reply was seen, and not all places could be watched"
	default:
		sent.Result = journey.Lost
		lost(sent)
	}
	if sent.Result != journey.Lost && sent.Result != journey.Refused {
		sent.Missing = -1
	}
	sent.Agrees = (verdict.Outcome == journey.Delivered) == (sent.Result == journey.Answered)
	if verdict.Outcome == journey.Rejected {
		sent.Agrees = refused
	}
}

// errorCame reports whether an error of some kinds came back to the sender.
func (r *run) errorCame(places []journey.Watchpoint, kinds ...sightKind) bool {
	for _, p := range places[max(0, len(places)-3):] { // its port, its own interface and its kernel
		if p.Reply && slices.ContainsFunc(r.seen, func(s sighting) bool {
			return slices.Contains(kinds, s.sight.what) && at(p, s)
		}) {
			return true
		}
	}
	return false
}

// furthest returns how far the packet itself came, and the first place behind that.
func furthest(places []journey.Watchpoint) (last, missing int) {
	last, missing = -1, -1
	for i, p := range places {
		if !p.Reply && p.Seen > 0 {
			last, missing = i, -1
		}
		if !p.Reply && p.Seen == 0 && p.Unwatched == "" && missing < 0 {
			missing = i
		}
	}
	return last, missing
}

// reason is why a kernel refuses to send.
func reason(err error) string {
	if _, why, ok := strings.Cut(err.Error(), node.ErrNotSent.Error()+": "); ok {
		return why
	}
	return err.Error()
}

// arrived reports whether the packet, or its reply, was seen at the last place of its path that was watched.
func arrived(places []journey.Watchpoint, reply bool) bool {
	for _, p := range slices.Backward(places) {
		if p.Reply == reply && p.Unwatched == "" {
			return p.Seen > 0
		}
	}
	return false
}

// lost words where packets were lost.
func lost(sent *journey.Sent) {
	missing := sent.Places[sent.Missing]
	if sent.Last < 0 {
		sent.Sentence = "it was not seen at all: not even " + Where(missing)
		sent.Between = "the sender's own kernel: its routes, its neighbours and its packet filter"
		return
	}
	last := sent.Places[sent.Last]
	what := "it"
	if last.Reply || missing.Reply {
		what = "its reply"
	}
	if missing.Reply && !last.Reply {
		sent.Sentence = "it was last seen " + Where(last) + ", and no reply was seen " + Where(missing)
	} else {
		sent.Sentence = what + " was last seen " + Where(last) + ", and not " + Where(missing)
	}
	sent.Between = between(last, missing)
}

// between says what lies between two places that follow each other.
func between(a, b journey.Watchpoint) string {
	inside := a.Kind == journey.AtWorkload || a.Kind == journey.AtHost && !a.Leave || a.Kind == journey.AtPort && a.Leave
	switch {
	case inside && b.Reply && !a.Reply:
		return "whoever replies on " + a.Node + ": its packet filter, its routes and neighbours, or nothing that answers"
	case b.Kind == journey.AtKernel:
		return "the kernel of " + cmp.Or(b.Port, b.Node) + ": its packet filter, its routes back (rp_filter) or its IPsec policies"
	case a.Kind == journey.AtUplink && a.Leave && b.Reply && !a.Reply:
		return "the network outside"
	case a.Node != b.Node:
		return "the underlay between " + a.Node + " and " + b.Node
	case a.Kind == journey.AtWorkload || b.Kind == journey.AtWorkload:
		return "the link of the port on " + a.Node
	}
	return "the bridges of Open vSwitch on " + a.Node
}

// Where words a place: "leaving node1 in the tunnel to node2".
func Where(p journey.Watchpoint) string {
	link := ""
	if p.Link != "" {
		link = " (" + p.Link + ")"
	}
	switch p.Kind {
	case journey.AtTunnel:
		switch {
		case p.Leave && p.Remote != "":
			return "leaving " + p.Node + " in the tunnel to " + p.Remote + link
		case p.Leave:
			return "leaving " + p.Node + " in a tunnel" + link
		case p.Remote != "":
			return "entering " + p.Node + " in the tunnel from " + p.Remote + link
		}
		return "entering " + p.Node + " in a tunnel" + link
	case journey.AtWorkload:
		if p.Leave {
			return "leaving the interface of " + p.Port
		}
		return "at the interface of " + p.Port
	case journey.AtKernel:
		return "past the packet filter of " + cmp.Or(p.Port, p.Node)
	case journey.AtPort:
		if p.Leave {
			return "leaving port " + p.Port + " on " + p.Node + link
		}
		return "entering port " + p.Port + " on " + p.Node + link
	}
	if p.Leave {
		return "leaving by " + p.Link + " of " + p.Node
	}
	return "entering by " + p.Link + " of " + p.Node
}

func name(e journey.Endpoint) string {
	if e.Name != "" {
		return e.Name
	}
	return e.Text
}

// String describes the packet.
func (p *Packet) String() string {
	what := p.Protocol
	if p.Port != 0 {
		what += fmt.Sprintf(" %d", p.Port)
	}
	return fmt.Sprintf("%s %s → %s, %d bytes", what, p.Src, p.Dst, p.Size)
}
