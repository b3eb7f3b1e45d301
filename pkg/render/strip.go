package render

import (
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
)

// strip returns the path of a packet in a line, from node to node: client ─ node1 ═geneve═ node2 ─✗ web-2. It is that of the reply if
// the packet arrives and its reply does not, and that through the backend which the verdict is about; nil if none was followed.
func strip(t *journey.Trace) Line {
	forward, reply := t.Forward, t.Reply
	to := endpointName(t.Request.To)
	for _, b := range t.Branches {
		if b.Verdict.Outcome == t.Verdict.Outcome {
			forward, reply = b.Forward, b.Reply
			if b.Backend != "" {
				to = b.Backend
			}
			break
		}
	}
	from := endpointName(t.Request.From)
	switch {
	case forward == nil:
		return nil
	case reply != nil && forward.Verdict.Outcome == journey.Delivered && reply.Verdict.Outcome != journey.Delivered:
		return append(Line{{"reply  ", Faint}}, way(reply, to, from)...)
	}
	return way(forward, from, to)
}

// way is a direction in a line.
func way(d *journey.Direction, from, to string) Line {
	line := Line{{from, Name}}
	node, between := "", "─"
	for _, h := range d.Hops {
		if h.Tunnel != nil {
			between = "═" + h.Tunnel.Type + "═"
			continue
		}
		if h.Node == "" || h.Node == node {
			continue
		}
		node = h.Node
		if node == from && len(line) == 1 { // a host sends
			continue
		}
		line = append(line, Span{Text: " " + between + " "}, Span{node, Title})
		between = "─"
	}
	v := d.Verdict
	end, look := "", Plain
	switch v.Outcome {
	case journey.Delivered:
	case journey.Unknown:
		end, look = "?", Warn
	default:
		end, look = "✗", Bad
	}
	if v.Outcome != journey.Delivered && v.Node != "" && v.Node != node && node != "" {
		line = append(line, Span{Text: " " + between}, Span{end + " ", look}, Span{v.Node, Title})
		return append(line, Span{Text: " ─ "}, Span{to, Name})
	}
	if out := leaves(d); out != "" && v.Outcome == journey.Delivered {
		line = append(line, Span{Text: " ─ "}, Span{Text: out})
	}
	line = append(line, Span{Text: " " + between}, Span{end, look}, Span{Text: " "})
	if node == to && v.Outcome == journey.Delivered { // a host receives
		return slices.Delete(line, len(line)-3, len(line))
	}
	return append(line, Span{to, Name})
}

// leaves returns the uplink by which a packet leaves for the network outside; empty if it does not.
func leaves(d *journey.Direction) string {
	if len(d.Hops) == 0 {
		return ""
	}
	if last := d.Hops[len(d.Hops)-1]; last.Kind == "bridge" && !strings.HasPrefix(last.To, last.Datapath) {
		return last.To
	}
	return ""
}
