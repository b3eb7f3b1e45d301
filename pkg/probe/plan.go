package probe

import (
	"slices"

	"github.com/ovnctl/ovnctl/pkg/journey"
)

// watchpoints returns the places where the packets of a branch, and their replies, can be seen.
func watchpoints(request journey.Request, forward, back *journey.Direction) []journey.Watchpoint {
	var all []journey.Watchpoint
	if forward != nil {
		all = along(forward, false)
	}
	all = toEnd(request, all)
	there := len(all)
	if back != nil && back.Verdict.Outcome != journey.Unknown {
		all = append(all, along(back, true)...)
	}
	delivered := back != nil && back.Verdict.Outcome == journey.Delivered
	if !delivered { // what the trace does not say of the reply comes by the path of the packet
		for _, s := range slices.Backward(all[:there]) {
			s.Leave, s.Reply, s.Expected = !s.Leave, true, false
			if !slices.ContainsFunc(all[there:], func(x journey.Watchpoint) bool { return same(x, s) }) {
				all = append(all, s)
			}
		}
	}
	if from := request.From; from.Node != "" && (from.Kind == "node" || from.Port != "") {
		p := journey.Watchpoint{Node: from.Node, Kind: journey.AtKernel, Port: from.Port, Reply: true, Expected: delivered}
		if from.Kind == "node" {
			p.Port = ""
		}
		all = append(all, p)
	}
	return all
}

// same reports whether two places are one, expected or not.
func same(a, b journey.Watchpoint) bool {
	a.Expected, b.Expected = false, false
	return a == b
}

// along returns the places on a direction's path.
func along(d *journey.Direction, reply bool) []journey.Watchpoint {
	var all []journey.Watchpoint
	put := func(s journey.Watchpoint) {
		s.Reply, s.Expected = reply, true
		all = append(all, s)
	}
	for i := 0; i < len(d.Hops); i++ {
		h, last := d.Hops[i], i == len(d.Hops)-1
		switch h.Kind {
		case "switch":
			if i == 0 && h.From != "" {
				put(journey.Watchpoint{Node: h.Node, Kind: journey.AtWorkload, Port: h.From, Leave: true})
				put(journey.Watchpoint{Node: h.Node, Kind: journey.AtPort, Port: h.From})
			}
			if last && h.To != "" && d.Verdict.Outcome == journey.Delivered {
				put(journey.Watchpoint{Node: h.Node, Kind: journey.AtPort, Port: h.To, Leave: true})
				put(journey.Watchpoint{Node: h.Node, Kind: journey.AtWorkload, Port: h.To})
			}
		case "tunnel":
			remote, carrying := through(d.Hops[i:])
			if remote != "" {
				put(journey.Watchpoint{Node: h.Node, Kind: journey.AtTunnel, Remote: remote, Leave: true})
				put(journey.Watchpoint{Node: remote, Kind: journey.AtTunnel, Remote: h.Node})
			}
			i += carrying
		case "host":
			if h.From != "" {
				put(journey.Watchpoint{Node: h.Node, Kind: journey.AtHost, Link: h.From})
			}
			if h.To != "" && d.Hops[min(i+1, len(d.Hops)-1)].Kind != "tunnel" {
				put(journey.Watchpoint{Node: h.Node, Kind: journey.AtHost, Link: h.To, Leave: true})
			}
		case "bridge":
			if h.From != "" && h.From != h.Datapath {
				put(journey.Watchpoint{Node: h.Node, Kind: journey.AtUplink, Link: h.From})
			}
			if h.To != "" && h.To != h.Datapath {
				put(journey.Watchpoint{Node: h.Node, Kind: journey.AtUplink, Link: h.To, Leave: true})
			}
		}
	}
	return all
}

// through returns the node at the other end of the tunnel that hops begin with, empty if the packet does not get there, and how many
// of the next hops carry the outer packet: the bridges and hosts of both ends.
func through(hops []journey.Hop) (remote string, carrying int) {
	for _, h := range hops[1:] {
		if h.Node != hops[0].Node {
			remote = h.Node
		}
		if h.Kind != "bridge" && h.Kind != "host" {
			break
		}
		carrying++
	}
	return remote, carrying
}

// toEnd adds the places up to the destination that a trace does not reach.
func toEnd(r journey.Request, all []journey.Watchpoint) []journey.Watchpoint {
	end := journey.Watchpoint{Node: r.To.Node, Kind: journey.AtPort, Port: r.To.Port, Leave: true}
	if end.Node == "" || end.Port == "" || slices.ContainsFunc(all, func(s journey.Watchpoint) bool { return same(s, end) }) {
		return all
	}
	tunnelled := slices.ContainsFunc(all, func(s journey.Watchpoint) bool { return s.Kind == journey.AtTunnel && s.Node == end.Node })
	if from := r.From.Node; from != "" && from != end.Node && !tunnelled && !slices.ContainsFunc(all, func(s journey.Watchpoint) bool { return s.Kind == journey.AtUplink }) {
		all = append(all, journey.Watchpoint{Node: from, Kind: journey.AtTunnel, Remote: end.Node, Leave: true},
			journey.Watchpoint{Node: end.Node, Kind: journey.AtTunnel, Remote: from})
	}
	inside := end
	inside.Kind, inside.Leave = journey.AtWorkload, false
	return append(all, end, inside)
}
