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
func at(p journey.Spot, s sighting) bool {
	if s.node != p.Node || s.frame.Out != p.Leave || (s.sight.what != itself) != p.Reply {
		return false
	}
	switch p.Kind {
	case journey.SpotTunnel:
		return s.sight.tunnel && !s.frame.Pod
	case journey.SpotWorkload:
		return s.frame.Pod && s.frame.Link == p.Link
	}
	return !s.sight.tunnel && !s.frame.Pod && s.frame.Link == p.Link
}

// answer says what became of the packets, on the branch where most was seen of them.
func (r *run) answer(out outgoing) *journey.Sent {
	var best *journey.Sent
	most := -1
	for _, p := range r.paths {
		sent := &journey.Sent{Count: out.count, Size: r.packet.Size, Mark: fmt.Sprintf("%#x", r.packet.Mark>>8), Packet: r.packet.String(), Places: r.count(p.spots)}
		total := 0
		for _, s := range sent.Places {
			total += s.Seen
		}
		if total > most {
			best, most = sent, total
			r.judge(best, p.verdict, out)
		}
	}
	return best
}

// count fills in what was seen at each place.
func (r *run) count(spots []journey.Spot) []journey.Spot {
	all := []journey.Spot{}
	for _, p := range spots {
		indexes := map[int]bool{}
		for _, s := range r.seen {
			if !at(p, s) {
				continue
			}
			indexes[s.sight.index] = true
			if p.Kind == journey.SpotTunnel && (p.Leave || p.Link == "") {
				p.Link = s.frame.Link // nearest to the wire
			}
		}
		p.Seen, p.Unwatched = len(indexes), r.unwatched(p)
		all = append(all, p)
	}
	return r.strayed(all)
}

// strayed adds where the packet was seen although nothing says that it comes there, on nodes where it was not seen at
// all places that it should come to. These are behind the last that it was seen at there.
func (r *run) strayed(places []journey.Spot) []journey.Spot {
	for _, s := range r.seen {
		if s.sight.what != itself || slices.ContainsFunc(places, func(p journey.Spot) bool { return at(p, s) }) {
			continue
		}
		after, complete := -1, true
		for i, p := range places {
			if p.Reply || p.Node != s.node || p.Kind == journey.SpotWorkload {
				continue
			}
			if p.Seen > 0 {
				after = i
			}
			complete = complete && p.Seen > 0
		}
		if after < 0 || complete {
			continue
		}
		p := journey.Spot{Node: s.node, Kind: journey.SpotHost, Link: s.frame.Link, Leave: s.frame.Out, Seen: 1}
		switch {
		case s.frame.Pod:
			continue // it is another pod's, that a service might have chosen
		case s.sight.tunnel:
			p.Kind = journey.SpotTunnel
		}
		places = slices.Insert(places, after+1, p)
	}
	return places
}

// unwatched is why nothing could be seen at a place.
func (r *run) unwatched(p journey.Spot) string {
	w := r.nodes[p.Node]
	switch {
	case w == nil:
		return "no node is known"
	case w.why != "":
		return w.why
	case p.Port != "" && p.Link == "":
		return "no interface on " + p.Node + " has iface-id " + p.Port
	case p.Kind == journey.SpotWorkload:
		return w.listening.Unread[p.Link]
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
	refused := r.refused(sent.Places)
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
}

// refused reports whether an error came back to the sender.
func (r *run) refused(places []journey.Spot) bool {
	for _, p := range places[max(0, len(places)-2):] { // its port and its own interface
		if p.Reply && slices.ContainsFunc(r.seen, func(s sighting) bool {
			return (s.sight.what == refusal || s.sight.what == failure) && at(p, s)
		}) {
			return true
		}
	}
	return false
}

// furthest returns how far the packet itself came, and the first place behind that.
func furthest(places []journey.Spot) (last, missing int) {
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
func arrived(places []journey.Spot, reply bool) bool {
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
		sent.Sentence = "it was not seen at all: not even " + Place(missing)
		sent.Between = "the sender's own kernel: its routes, its neighbours and its packet filter"
		return
	}
	last := sent.Places[sent.Last]
	what := "it"
	if last.Reply || missing.Reply {
		what = "its reply"
	}
	if missing.Reply && !last.Reply {
		sent.Sentence = "it was last seen " + Place(last) + ", and no reply was seen " + Place(missing)
	} else {
		sent.Sentence = what + " was last seen " + Place(last) + ", and not " + Place(missing)
	}
	sent.Between = between(last, missing)
}

// between says what lies between two places that follow each other.
func between(a, b journey.Spot) string {
	inside := a.Kind == journey.SpotWorkload || a.Kind == journey.SpotHost && !a.Leave || a.Kind == journey.SpotPort && a.Leave
	switch {
	case inside && b.Reply && !a.Reply:
		return "whoever replies on " + a.Node + ": its packet filter, its routes and neighbours, or nothing that answers"
	case a.Kind == journey.SpotUplink && a.Leave && b.Reply && !a.Reply:
		return "the network outside"
	case a.Node != b.Node:
		return "the underlay between " + a.Node + " and " + b.Node
	case a.Kind == journey.SpotWorkload || b.Kind == journey.SpotWorkload:
		return "the link of the port on " + a.Node
	}
	return "the bridges of Open vSwitch on " + a.Node
}

// Place words a place: "leaving node1 in the tunnel to node2".
func Place(p journey.Spot) string {
	link := ""
	if p.Link != "" {
		link = " (" + p.Link + ")"
	}
	switch p.Kind {
	case journey.SpotTunnel:
		remote := cmp.Or(p.Remote, "an unexpected node")
		if p.Leave {
			return "leaving " + p.Node + " in the tunnel to " + remote + link
		}
		return "entering " + p.Node + " in the tunnel from " + remote + link
	case journey.SpotWorkload:
		if p.Leave {
			return "leaving the interface of " + p.Port
		}
		return "at the interface of " + p.Port
	case journey.SpotPort:
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
