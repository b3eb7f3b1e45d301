package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/compare"
	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/page"
	"github.com/ovnctl/ovnctl/pkg/picture"
)

// FindingsPage puts the faults of a report into a page, in the order that they have on its map.
func FindingsPage(p *page.Page, doc doctor.Document, v DoctorView) {
	p.Map, p.Topology = FindingsMap(doc, v), v.Map
	p.Findings = &page.Findings{Result: FindingsResult(doc, v)}
	for _, f := range doc.Findings {
		if !f.Result.Fault() {
			continue
		}
		shown := page.Finding{Level: page.Bad, Title: f.Title, Check: foundBy(f), Cause: f.Cause, Effect: f.Effect, Next: f.Next}
		if f.Result == doctor.Warning {
			shown.Level = page.Doubtful
		}
		for _, e := range f.Evidence {
			shown.Evidence = append(shown.Evidence, e.Source.String()+": "+e.Says)
		}
		if f.Fix != nil {
			shown.Fix = v.command(f.Fix)
		}
		for _, c := range f.Consequences {
			shown.Under = append(shown.Under, c.Title+"  "+foundBy(c))
		}
		p.Findings.Faults = append(p.Findings.Faults, shown)
	}
}

// comparePage writes the two states, each with what differs from the other, and the differences.
func comparePage(w io.Writer, doc compare.Document, v CompareView) error {
	p := v.Page
	p.Topology = v.After
	p.Changes = &page.Changes{
		Before: changesMap(doc, v.Before, doc.Changes), After: changesMap(doc, v.After, doc.Changes),
		BeforeIs: doc.A.Path + " " + doc.A.Time, NowIs: doc.B.Path + " " + doc.B.Time,
	}
	var text strings.Builder
	if err := Compare(&text, Style{}, "table", doc, CompareView{}); err != nil {
		return err
	}
	p.Changes.Lines = strings.Split(strings.TrimSpace(text.String()), "\n")
	return p.Write(w)
}

// PagePath returns a trace for a page. The trace must hold its evidence.
func PagePath(t *journey.Trace, notes []string) page.Path {
	v := t.Verdict
	p := page.Path{
		Title: endpointName(t.Request.From) + " → " + endpointName(t.Request.To) + "  " + protocol(t.Request),
		From:  t.Request.From.Port, To: t.Request.To.Port, Verdict: headline(v) + assuming(v), Level: pageLevel(v),
		Sentence: v.Sentence, Cause: v.Cause, Picture: picture.Trace(t, notes), Next: t.Next,
	}
	if s := strip(t); s != nil {
		p.Strip = s.String()
	}
	for _, d := range t.Disagreements {
		where := phrase(" ", strings.ReplaceAll(string(d.Kind), "-", " "), behind("in", d.Stage), behind("of", d.Datapath), behind("on", d.Node))
		p.Facts = append(p.Facts, page.Fact{Term: where, Text: phrase("; fix: ", d.Sentence, d.Repair)})
	}
	if t.Logical != nil && t.Logical.Verdict.Outcome != v.Outcome {
		p.Facts = append(p.Facts, page.Fact{Term: "by the databases", Text: string(t.Logical.Verdict.Outcome) + ", " + t.Logical.Verdict.Sentence})
	}
	if v.Rule != nil {
		p.Rules = append(p.Rules, pageRule("it matched", *v.Rule))
	}
	for i, r := range v.Near {
		p.Rules = append(p.Rules, pageRule(map[bool]string{true: "nearest to allowing it"}[i == 0], r))
	}
	for _, o := range v.Allowed {
		p.Rules = append(p.Rules, page.Rule{Title: "allowed by", Text: o.Text})
	}
	w := wayPrinter{tracePrinter{verbose: true, names: t.Names}, v.Rule}
	expected := journey.Walk{}
	if t.Logical != nil {
		expected = *t.Logical
	}
	w.add(&p, "forward", t.Forward, expected.Forward)
	w.add(&p, "reply", t.Reply, expected.Reply)
	for i, b := range t.Branches {
		var also journey.Branch
		if i < len(expected.Branches) && branchName(expected.Branches[i]) == branchName(b) {
			also = expected.Branches[i]
		}
		w.add(&p, "forward through "+branchName(b), b.Forward, also.Forward)
		w.add(&p, "reply through "+branchName(b), b.Reply, also.Reply)
	}
	return p
}

func pageLevel(v journey.Verdict) page.Level {
	switch outcomeLook(v.Outcome) {
	case Good:
		if v.Partial {
			return page.Bad
		}
		return page.Fine
	case Warn:
		return page.Doubtful
	}
	return page.Bad
}

func pageRule(title string, r journey.Rule) page.Rule {
	rule := page.Rule{Title: title, Match: pageMatch(r.Match, r.Decided)}
	if r.Object != nil {
		rule.Text = r.Object.Text
	}
	for _, d := range r.Decided {
		if d.Words != "" {
			rule.Words = append(rule.Words, d.Words)
		}
	}
	return rule
}

// pageMatch marks the parts of a match that say something to people.
func pageMatch(match string, decided []journey.Decided) page.Match {
	m := page.Match{Text: match}
	for _, d := range decided {
		if d.Words != "" && d.Start >= 0 && d.End <= len(match) && d.Start < d.End {
			m.Parts = append(m.Parts, page.Part{Start: d.Start, End: d.End})
		}
	}
	return m
}

// A wayPrinter tells the directions of a trace, table by table.
type wayPrinter struct {
	tracePrinter
	rule *journey.Rule // that stopped the packet
}

// add adds a direction, if there is one, beside what the databases expect of it.
func (w *wayPrinter) add(p *page.Path, name string, d, expected *journey.Direction) {
	if d == nil {
		return
	}
	lost := d.Verdict.Outcome != journey.Delivered
	way := page.Way{Title: name + ": " + d.Packet + ", " + producer(d), End: string(d.Verdict.Outcome) + w.where(d.Verdict), Level: pageLevel(d.Verdict)}
	for i, h := range d.Hops {
		hop := page.Hop{Title: w.title(h), Open: lost && i == len(d.Hops)-1}
		then := stages(expected, h)
		for k, s := range h.Steps {
			step := w.shown(s)
			step.Stops = hop.Open && k == len(h.Steps)-1
			if r := w.rule; step.Stops && r != nil && s.Logical != nil && r.Match == s.Logical.Match {
				step.Logical = pageMatch(r.Match, r.Decided)
			}
			if e, ok := then[s.Stage]; ok && s.Logical != nil && e.UUID != s.Logical.UUID {
				step.Expected = "priority " + strconv.Itoa(e.Priority) + "  " + e.Match + " → " + e.Actions
			}
			hop.Steps = append(hop.Steps, step)
		}
		way.Hops = append(way.Hops, hop)
	}
	p.Ways = append(p.Ways, way)
}

// stages returns the logical flows that the databases expect of a hop, by stage.
func stages(expected *journey.Direction, of journey.Hop) map[string]*decode.LogicalFlow {
	all := map[string]*decode.LogicalFlow{}
	if expected == nil {
		return all
	}
	for _, h := range expected.Hops {
		if h.Kind != of.Kind || h.Place() != of.Place() {
			continue
		}
		for _, s := range h.Steps {
			if s.Logical != nil {
				all[s.Stage] = s.Logical
			}
		}
	}
	return all
}

// title names a hop, with what it enters and leaves by.
func (w *wayPrinter) title(h journey.Hop) string {
	what := h.Kind + " " + w.called(h.Datapath)
	if t := h.Tunnel; t != nil {
		what = fmt.Sprintf("tunnel %s  %s → %s%s", t.Type, t.Source, t.Remote, w.tunnelMeaning(t))
	}
	ports := phrase(" → ", w.called(h.From), w.called(h.To))
	if h.From == "" && h.To != "" {
		ports = "to " + ports
	}
	return phrase("  ", h.Node, what, ports)
}

func (w *wayPrinter) shown(s journey.Step) page.Step {
	step := page.Step{Stage: cmp.Or(s.Stage, "table "+strconv.Itoa(s.Table)), Where: strings.Join(s.Decoded, "; "), Notes: slices.Concat(s.Changes, s.Notes), Decides: decides(s)}
	if s.Object != nil {
		step.Object = s.Object.Text
	}
	if s.Logical != nil {
		step.Logical, step.Actions = pageMatch(s.Logical.Match, s.Decided), s.Logical.Actions
	}
	if s.Table >= 0 {
		step.Flow = stepMatch(s)
		if len(s.Actions) > 0 {
			step.Flow += " → " + strings.Join(s.Actions, ", ")
		}
	}
	return step
}
