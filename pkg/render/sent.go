package render

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/probe"
)

// sent prints what became of real packets, beside what the trace says of them.
func (p *tracePrinter) sent(s *journey.Sent) {
	if s == nil {
		return
	}
	look := map[journey.SentResult]Look{journey.Answered: Good, journey.Unsent: Warn}[s.Result]
	if look == Plain {
		look = Bad
	}
	p.put(2, 4, Span{Text: packets(s) + ": "}, Span{string(s.Result), look}, Span{Text: ", " + s.Sentence})
	if s.Between != "" {
		p.text(4, "in between: "+s.Between, Plain)
	}
	if !s.Agrees && s.Result != journey.Unsent {
		p.text(4, "the verdict above is not what happened to it", Warn)
	}
	for i, watchpoint := range s.Places {
		if s.Missing >= 0 && i > s.Missing && watchpoint.Seen == 0 || s.Result == journey.NotSent {
			continue // what is behind the place where it was lost
		}
		p.watchpoint(s, i, watchpoint)
	}
}

func packets(s *journey.Sent) string {
	switch {
	case s.PathMTU > 0:
		return fmt.Sprintf("tried %d sizes up to %s", s.Count, s.Packet)
	case s.Count < 2:
		return "sent " + s.Packet
	}
	return fmt.Sprintf("sent %d times %s", s.Count, s.Packet)
}

// watchpoint prints a place.
func (p *tracePrinter) watchpoint(s *journey.Sent, i int, watchpoint journey.Watchpoint) {
	mark, look, seen := "·", Faint, "not watched: "+watchpoint.Unwatched
	switch {
	case watchpoint.Seen > 0:
		mark, look, seen = "+", Good, fmt.Sprintf("%d", watchpoint.Seen)
	case watchpoint.Unwatched == "" && i == s.Missing:
		mark, look, seen = "-", Bad, "lost before here"
	case watchpoint.Unwatched == "":
		mark, seen = "-", "0"
	}
	if !watchpoint.Expected && watchpoint.Seen > 0 {
		seen += ", not expected"
	}
	direction := ""
	if watchpoint.Reply {
		direction = "reply "
	}
	p.put(4, 6, Span{mark + " ", look}, Span{Text: direction + probe.Where(watchpoint) + "  "}, Span{seen, look})
}
