package render

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
)

// Trace writes a trace as text: the verdict first, then each direction hop by hop, and the next command last. Verbose
// shows every table, otherwise only the steps that come from configuration.
func Trace(w io.Writer, s Style, t *journey.Trace, notes []string, verbose bool) error {
	p := &tracePrinter{style: s, verbose: verbose, names: t.Names}
	p.trace(t, notes)
	return p.flush(w)
}

// TraceMarkdown writes a trace to be pasted into a ticket: the verdict in words, and the path as in the text format.
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

// A tracePrinter collects lines prepared for their stream.
type tracePrinter struct {
	style   Style
	verbose bool
	names   map[string]string // journey.Trace.Names
	lines   []Line
}

// add adds a line that is not wrapped, such as a command.
func (p *tracePrinter) add(spans ...Span) { p.lines = append(p.lines, p.style.prepare(spans)) }

// put adds a line indented by indent blanks. It wraps, with hang blanks before the continuation.
func (p *tracePrinter) put(indent, hang int, spans ...Span) {
	line := p.style.prepare(spans)
	if p.style.Width == 0 {
		p.lines = append(p.lines, slices.Insert(line, 0, blanks(indent)))
		return
	}
	for i, piece := range wrap(line, max(p.style.Width-indent, narrowest), max(p.style.Width-hang, narrowest)) {
		if i > 0 {
			indent = hang
		}
		p.lines = append(p.lines, slices.Insert(piece, 0, blanks(indent)))
	}
}

func blanks(n int) Span { return Span{Text: strings.Repeat(" ", n)} }

// command adds a line that ends in a command. It does not wrap, so that the command can be copied; a remark that does not
// fit beside it follows on lines of its own, hang blanks in.
func (p *tracePrinter) command(hang int, remark string, line ...Span) {
	used := 0
	for _, s := range line {
		used += width(s.Text)
	}
	switch {
	case remark == "":
		p.add(line...)
	case p.style.Width == 0 || used+2+width(remark) <= p.style.Width:
		p.add(append(line, Span{"  " + remark, Faint})...)
	default:
		p.add(line...)
		p.text(hang, remark, Faint)
	}
}

// text adds a paragraph.
func (p *tracePrinter) text(indent int, text string, look Look) {
	p.put(indent, indent, Span{text, look})
}

// next lists the commands to run next.
func (p *tracePrinter) next(commands []string) {
	if len(commands) > 0 {
		p.add()
	}
	for _, c := range commands {
		p.command(0, "", Span{"next: ", Title}, Span{c, Name})
	}
}

// flush writes the lines.
func (p *tracePrinter) flush(w io.Writer) error {
	for _, line := range p.lines {
		if _, err := fmt.Fprintln(w, p.style.painted(line)); err != nil {
			return err
		}
	}
	p.lines = nil
	return nil
}

func (p *tracePrinter) trace(t *journey.Trace, notes []string) {
	p.put(0, 2, Span{headline(t.Verdict), outcomeLook(t.Verdict.Outcome)}, Span{assuming(t.Verdict), Faint},
		Span{Text: "  " + endpointName(t.Request.From) + " → " + endpointName(t.Request.To) + "  " + protocol(t.Request)})
	if strip := strip(t); strip != nil {
		p.put(2, 4, strip...)
	}
	p.text(2, t.Verdict.Sentence, Plain)
	if t.Verdict.Cause != "" {
		p.text(2, "cause: "+t.Verdict.Cause, Plain)
	}
	for _, n := range notes {
		p.text(2, "note: "+n, Faint)
	}
	for _, d := range t.Disagreements {
		p.disagreement(d)
	}
	if l := t.Logical; p.verbose && l != nil {
		p.text(2, fmt.Sprintf("by the logical flows: %s, %s", l.Verdict.Outcome, l.Verdict.Sentence), Faint)
	}
	p.observed(t.Observed)
	p.sent(t.Sent)
	p.why(t.Verdict)
	p.direction("forward", t.Forward)
	p.direction("reply", t.Reply)
	p.branches(t)
	if len(t.Commands) > 0 {
		p.add()
		p.add(Span{"the same with the classic commands:", Title})
		for _, c := range t.Commands {
			p.add(Span{Text: "  " + c})
		}
	}
	p.next(t.Next)
}

// headline returns a verdict in a word.
func headline(v journey.Verdict) string {
	if v.Partial && v.Outcome != journey.Unknown {
		return "PARTIAL"
	}
	return strings.ToUpper(string(v.Outcome))
}

// assuming returns what a verdict rests on: " (assuming: the physical network between node1 and node2)".
func assuming(v journey.Verdict) string {
	var texts []string
	for _, a := range v.Assumptions {
		texts = append(texts, a.Sentence)
	}
	if len(texts) == 0 {
		return ""
	}
	return " (assuming: " + strings.Join(texts, "; ") + ")"
}

// disagreement prints where a node differs from the databases.
func (p *tracePrinter) disagreement(d journey.Disagreement) {
	what := phrase(" ", strings.ReplaceAll(string(d.Kind), "-", " "), behind("in", d.Stage), behind("of", d.Datapath), behind("on", d.Node))
	p.put(2, 4, Span{what, Bad}, Span{Text: ": " + d.Sentence})
	if d.Flow != "" {
		p.text(4, d.Flow, Faint)
	}
	p.command(6, "", Span{Text: "    fix: "}, Span{d.Repair, Name})
}

// observed prints what real packets did.
func (p *tracePrinter) observed(o *journey.Observation) {
	if o == nil {
		return
	}
	look := map[journey.Observed]Look{journey.Confirmed: Good, journey.Refuted: Bad}[o.Result]
	if o.Result == journey.Idle || o.Result == journey.Unwatched {
		look = Warn
	}
	p.put(2, 4, Span{Text: fmt.Sprintf("observed for %.3g s: ", o.Seconds)}, Span{string(o.Result), look}, Span{Text: ", " + o.Sentence})
}

// branches lists the outcome for each backend, and shows the path through the one that the verdict is
// about; verbose, through all of them.
func (p *tracePrinter) branches(t *journey.Trace) {
	if len(t.Branches) == 0 {
		return
	}
	p.add()
	title, column := "paths", 0
	for _, b := range t.Branches {
		column = max(column, width(branchName(b)))
		if b.Backend != "" {
			title = "backends"
		}
	}
	p.add(Span{title, Title})
	for _, b := range t.Branches {
		text := b.Verdict.Sentence
		if b.Verdict.Cause != "" {
			text = b.Verdict.Cause
		}
		hang := 2 + column + 2 + len(journey.Delivered) + 2
		if p.style.Width > 0 && p.style.Width < 2*hang {
			hang = 4
		}
		p.put(2, hang, Span{fmt.Sprintf("%-*s  ", column, branchName(b)), Name},
			Span{fmt.Sprintf("%-*s  ", len(journey.Delivered), b.Verdict.Outcome), outcomeLook(b.Verdict.Outcome)}, Span{Text: text})
	}
	for _, b := range t.Branches {
		if !p.verbose && b.Verdict.Outcome != t.Verdict.Outcome {
			continue
		}
		p.add()
		through := "through "
		if b.Backend != "" {
			through += "backend "
		}
		p.put(0, 2, Span{through + branchName(b), Title})
		p.direction("forward", b.Forward)
		p.direction("reply", b.Reply)
		if !p.verbose {
			return
		}
	}
}

// branchName returns what a branch goes through.
func branchName(b journey.Branch) string {
	names := slices.Clone(b.Through)
	if b.Backend != "" {
		names = slices.Insert(names, 0, b.Backend)
	}
	return strings.Join(names, ", ")
}

func (p *tracePrinter) direction(name string, d *journey.Direction) {
	if d == nil {
		return
	}
	p.add()
	p.put(0, 2, Span{fmt.Sprintf("%-7s", name), Title}, Span{Text: "  " + d.Packet + "  "}, Span{producer(d), Faint})
	node := ""
	for _, h := range d.Hops {
		if h.Node != node && h.Node != "" {
			node = h.Node
			p.put(2, 4, Span{node, Name})
		}
		p.hop(h)
	}
	end := "  ✗ " + string(d.Verdict.Outcome)
	if d.Verdict.Outcome == journey.Delivered {
		end = "  ✓ " + string(d.Verdict.Outcome)
	}
	p.put(0, 4, Span{end, outcomeLook(d.Verdict.Outcome)}, Span{Text: p.where(d.Verdict)})
}

// called returns what users call a port or a datapath; verbose, with its name in OVN.
func (p *tracePrinter) called(name string) string {
	called := p.names[name]
	switch {
	case called == "":
		return name
	case p.verbose && !strings.HasPrefix(name, called+" ("):
		return called + " (" + name + ")"
	case p.verbose:
		return name
	}
	return called
}

// producer returns how a direction was followed.
func producer(d *journey.Direction) string {
	if d.Producer == journey.LogicalFlows {
		return state(d.State) + ", by the logical flows"
	}
	return state(d.State)
}

// where returns where a direction ended, within the hop above it.
func (p *tracePrinter) where(v journey.Verdict) string {
	text := ""
	switch {
	case v.Because.Place == journey.Outside:
		text = " by the network outside"
	case v.Because.Place == journey.InWorkload:
		text = " in the " + string(v.Because.Workload)
	case v.Stage != "":
		text = " in " + v.Stage
	}
	if v.Port != "" {
		text += " at " + p.called(v.Port)
	}
	return text
}

func (p *tracePrinter) hop(h journey.Hop) {
	line := Line{{h.Kind + " ", Faint}, {p.called(h.Datapath), Title}}
	if t := h.Tunnel; t != nil {
		line = Line{{"tunnel ", Faint}, {t.Type, Title}, {Text: fmt.Sprintf("  %s → %s", t.Source, t.Remote)}, {p.tunnelMeaning(t), Faint}}
	}
	switch {
	case h.From != "" && h.To != "":
		line = append(line, Span{Text: "  " + p.called(h.From) + " → " + p.called(h.To)})
	case h.From != "":
		line = append(line, Span{Text: "  from " + p.called(h.From)})
	case h.To != "":
		line = append(line, Span{Text: "  to " + p.called(h.To)})
	}
	p.put(4, 8, append(line, passed(h)...)...)
	for i, s := range h.Steps {
		if p.verbose || lost(s) || decides(s) && !repeated(s, h.Steps[i+1:]) {
			p.step(s)
		}
	}
}

// passed shows the counter of a hop's last flow that all packets match.
func passed(h journey.Hop) []Span {
	for _, s := range slices.Backward(h.Steps) {
		if c := s.Counter; c != nil && !c.First {
			return []Span{{Text: "  "}, counter(c)}
		}
	}
	return nil
}

// counter shows what a flow counted while it was watched.
func counter(c *journey.Counter) Span {
	text := fmt.Sprintf("+%d", c.Packets)
	switch {
	case c.Lost:
		return Span{text + ": lost here", Bad}
	case c.Packets > 0:
		return Span{text, Good}
	}
	return Span{text, Faint}
}

func lost(s journey.Step) bool { return s.Counter != nil && s.Counter.Lost }

// decides reports whether a step is shown by default: it carries out configuration, or changes where the packet goes.
// The ports it crosses are on the hop's line.
func decides(s journey.Step) bool {
	return len(s.Notes) > 0 || s.Object != nil && !strings.HasSuffix(s.Object.Kind, "port")
}

// repeated reports whether a later step shows the same object.
func repeated(s journey.Step, later []journey.Step) bool {
	return len(s.Notes) == 0 && slices.ContainsFunc(later, func(l journey.Step) bool {
		return l.Object != nil && l.Object.UUID == s.Object.UUID
	})
}

func (p *tracePrinter) tunnelMeaning(t *journey.Encapsulation) string {
	text := fmt.Sprintf("  key %#x", t.Key)
	if t.Datapath != "" {
		text += " " + p.called(t.Datapath)
	}
	if t.Inport != "" {
		text += ", inport " + p.called(t.Inport)
	}
	if t.Outport != "" {
		text += ", outport " + p.called(t.Outport)
	}
	return text
}

// stageColumn is where a step's words begin.
const stageColumn = 28

func (p *tracePrinter) step(s journey.Step) {
	const indent = 6
	title := s.Stage
	if title == "" {
		title = "table " + strconv.Itoa(s.Table)
	}
	words := p.words(s)
	// The first words go beside the stage, the rest below them; if that is too narrow, all go below the stage.
	column := stageColumn
	if p.style.Width > 0 && p.style.Width < 2*stageColumn+narrowest {
		column = indent + 2
	}
	lead := Line{{Text: fmt.Sprintf("%-*s ", max(column-indent-1, 0), title)}}
	if s.Counter != nil {
		lead = append(lead, counter(s.Counter), Span{Text: "  "})
	}
	if len(words) == 0 {
		p.put(indent, column, lead...)
	}
	for i, w := range words {
		if i == 0 {
			p.put(indent, column, append(lead, w)...)
			continue
		}
		p.put(column, column+2, w)
	}
	if p.verbose && s.Logical != nil && len(s.Decided) > 0 {
		p.decided(column, s.Logical.Match, s.Decided)
	}
}

// words returns the words of a step: the object that it carries out, verbose the flow and what it wrote, and what it
// did.
func (p *tracePrinter) words(s journey.Step) []Span {
	var words []Span
	if s.Object != nil {
		words = append(words, Span{Text: s.Object.Text})
	}
	if p.verbose {
		if s.Table >= 0 || s.Logical != nil {
			words = append(words, Span{stepMatch(s), Faint})
		}
		switch {
		case s.Logical == nil:
		case len(s.Decided) > 0: // the match follows below, with what decided
			words = append(words, Span{"→ " + s.Logical.Actions, Faint})
		default:
			words = append(words, Span{s.Logical.Match + " → " + s.Logical.Actions, Faint})
		}
		if len(s.Actions) > 0 {
			words = append(words, Span{"actions " + strings.Join(s.Actions, ", "), Faint})
		}
		if len(s.Decoded) > 0 {
			words = append(words, Span{Text: "where " + strings.Join(s.Decoded, "; ")})
		}
		if len(s.Changes) > 0 {
			words = append(words, Span{strings.Join(s.Changes, "; "), Faint})
		}
	}
	for _, n := range s.Notes {
		words = append(words, Span{Text: n})
	}
	return words
}

func stepMatch(s journey.Step) string {
	if s.Table < 0 {
		return fmt.Sprintf("table %d priority %d", s.Logical.TableID, s.Priority)
	}
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
