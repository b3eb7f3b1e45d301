package render

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
)

// TraceDocument is the JSON and YAML form of a trace.
type TraceDocument struct {
	Envelope
	*journey.Trace
}

// Trace writes a trace for people: the verdict first, then each direction hop by hop, and the next
// command last. Verbose shows every table; without it only the steps that a person decided about are shown.
func Trace(w io.Writer, s Style, t *journey.Trace, notes []string, verbose bool) error {
	p := &tracePrinter{style: s, verbose: verbose}
	p.trace(t, notes)
	for _, line := range p.lines {
		if _, err := fmt.Fprintln(w, s.painted(s.prepare(line))); err != nil {
			return err
		}
	}
	return nil
}

// TraceMarkdown writes a trace to be pasted into a ticket: the verdict in words, and the way as it is
// printed for people.
func TraceMarkdown(w io.Writer, t *journey.Trace, notes []string, verbose bool) error {
	title := fmt.Sprintf("**%s** %s to %s, %s: %s\n\n```\n", t.Verdict.Outcome, Markdown(endpointName(t.Request.From)),
		Markdown(endpointName(t.Request.To)), protocol(t.Request), Markdown(t.Verdict.Sentence))
	if _, err := io.WriteString(w, title); err != nil {
		return err
	}
	if err := Trace(w, Style{}, t, notes, verbose); err != nil {
		return err
	}
	_, err := io.WriteString(w, "```\n")
	return err
}

type tracePrinter struct {
	style   Style
	verbose bool
	lines   []Line
}

func (p *tracePrinter) add(spans ...Span) { p.lines = append(p.lines, spans) }

// wrapped adds text in lines that fit, each after indent blanks.
func (p *tracePrinter) wrapped(indent int, text string, look Look) {
	limit := p.style.Width - indent
	if p.style.Width == 0 || limit < 20 {
		limit = 1 << 20
	}
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && width(line)+1+width(word) > limit {
			p.add(Span{Text: strings.Repeat(" ", indent)}, Span{line, look})
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		p.add(Span{Text: strings.Repeat(" ", indent)}, Span{line, look})
	}
}

func (p *tracePrinter) trace(t *journey.Trace, notes []string) {
	p.add(Span{strings.ToUpper(string(t.Verdict.Outcome)), outcomeLook(t.Verdict.Outcome)},
		Span{Text: "  " + endpointName(t.Request.From) + " → " + endpointName(t.Request.To) + "  " + protocol(t.Request)})
	p.wrapped(2, t.Verdict.Sentence, Plain)
	if t.Verdict.Cause != "" {
		p.wrapped(2, "cause: "+t.Verdict.Cause, Plain)
	}
	for _, n := range notes {
		p.wrapped(2, "note: "+n, Faint)
	}
	p.direction("forward", t.Forward)
	p.direction("reply", t.Reply)
	for _, b := range t.Branches {
		p.add()
		p.add(Span{"backend " + b.Backend + "  ", Title}, Span{strings.ToUpper(string(b.Verdict.Outcome)), outcomeLook(b.Verdict.Outcome)})
		p.wrapped(2, b.Verdict.Sentence, Plain)
		p.direction("forward", b.Forward)
		p.direction("reply", b.Reply)
	}
	if len(t.Commands) > 0 {
		p.add()
		p.add(Span{"the same with the classic commands:", Title})
		for _, c := range t.Commands {
			p.add(Span{Text: "  " + c})
		}
	}
	if len(t.Next) > 0 {
		p.add()
		for _, n := range t.Next {
			p.add(Span{"next: ", Title}, Span{n, Name})
		}
	}
}

func (p *tracePrinter) direction(name string, d *journey.Direction) {
	if d == nil {
		return
	}
	p.add()
	p.add(Span{fmt.Sprintf("%-8s", name), Title}, Span{Text: " " + d.Packet + "  "}, Span{state(d.State), Faint})
	node := ""
	for _, h := range d.Hops {
		if h.Node != node && h.Node != "" {
			node = h.Node
			p.add(Span{Text: "  "}, Span{node, Name})
		}
		p.hop(h)
	}
	mark := "✗ "
	if d.Verdict.Outcome == journey.Delivered {
		mark = "✓ "
	}
	p.add(Span{"  " + mark + string(d.Verdict.Outcome), outcomeLook(d.Verdict.Outcome)}, Span{Text: where(d.Verdict)})
}

// where says in which place a direction ended.
func where(v journey.Verdict) string {
	var parts []string
	if v.Port != "" {
		parts = append(parts, "at "+v.Port)
	}
	if v.Stage != "" {
		parts = append(parts, "in "+v.Stage)
	}
	if v.Datapath != "" {
		parts = append(parts, "of "+v.Datapath)
	}
	if v.Node != "" {
		parts = append(parts, "on "+v.Node)
	}
	if len(parts) == 0 {
		return ""
	}
	return " " + strings.Join(parts, " ")
}

func (p *tracePrinter) hop(h journey.Hop) {
	line := Line{{Text: "    "}, {h.Kind + " ", Faint}, {h.Datapath, Title}}
	if t := h.Tunnel; t != nil {
		line = Line{{Text: "    "}, {"tunnel ", Faint}, {t.Type, Title},
			{Text: fmt.Sprintf(" %s → %s", t.Source, t.Remote)}, {tunnelMeaning(t), Faint}}
	}
	if h.From != "" {
		line = append(line, Span{Text: "  from " + h.From})
	}
	if h.To != "" {
		line = append(line, Span{Text: "  to " + h.To})
	}
	p.lines = append(p.lines, line)
	for _, s := range h.Steps {
		if p.verbose || decides(s) {
			p.step(s)
		}
	}
}

// decides says whether a step is one that a person would ask about: it carries out something that somebody
// configured, or changes where the packet goes. The ports on its way are in the line of the hop.
func decides(s journey.Step) bool {
	return len(s.Notes) > 0 || s.Object != nil && !strings.HasSuffix(s.Object.Kind, "port")
}

func tunnelMeaning(t *journey.Tunnel) string {
	text := fmt.Sprintf("  key %#x", t.Key)
	if t.Datapath != "" {
		text += " " + t.Datapath
	}
	if t.Inport != "" {
		text += ", inport " + t.Inport
	}
	if t.Outport != "" {
		text += ", outport " + t.Outport
	}
	return text
}

func (p *tracePrinter) step(s journey.Step) {
	const indent = "      "
	title := s.Stage
	if title == "" {
		title = "table " + strconv.Itoa(s.Table)
	}
	line := Line{{Text: indent}, {Text: fmt.Sprintf("%-22s", title)}}
	switch {
	case s.Object != nil:
		line = append(line, Span{Text: " " + s.Object.Text})
	case p.verbose && s.Table >= 0:
		line = append(line, Span{" " + stepMatch(s), Faint})
	}
	p.lines = append(p.lines, line)
	if p.verbose {
		if s.Object != nil && s.Table >= 0 {
			p.wrapped(len(indent)+2, stepMatch(s), Faint)
		}
		if s.Logical != nil {
			p.wrapped(len(indent)+2, s.Logical.Match+" → "+s.Logical.Actions, Faint)
		}
		if len(s.Actions) > 0 {
			p.wrapped(len(indent)+2, "actions "+strings.Join(s.Actions, ", "), Faint)
		}
		if len(s.Decoded) > 0 {
			p.wrapped(len(indent)+2, "where "+strings.Join(s.Decoded, "; "), Plain)
		}
	}
	for _, n := range s.Notes {
		p.wrapped(len(indent)+2, n, Plain)
	}
}

func stepMatch(s journey.Step) string {
	text := fmt.Sprintf("table %d priority %d", s.Table, s.Priority)
	if s.Match != "" {
		text += " " + s.Match
	}
	if s.Cookie != "" {
		text += " cookie " + s.Cookie
	}
	return text
}

func outcomeLook(o journey.Outcome) Look {
	switch o {
	case journey.Delivered:
		return Good
	case journey.Unknown, journey.Consumed:
		return Warn
	}
	return Bad
}

func endpointName(e journey.Endpoint) string {
	if e.Name != "" {
		return e.Name
	}
	return e.Text
}

func protocol(r journey.Request) string {
	if r.Port == 0 {
		return r.Protocol
	}
	return r.Protocol + " " + strconv.Itoa(r.Port)
}

func state(s string) string {
	switch s {
	case "new":
		return "new connection"
	case "est,rpl":
		return "established, reply"
	}
	return s
}
