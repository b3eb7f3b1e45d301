package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/compare"
	"github.com/ovnctl/ovnctl/pkg/journey"
)

// PathsFormats are the formats that [Paths] knows, the default first.
var PathsFormats = []string{"tree", "json", "yaml", "md"}

// Paths writes where two paths diverge, in one of [PathsFormats].
func Paths(w io.Writer, s Style, format string, doc compare.PathsDocument) error {
	switch format {
	case "json", "yaml":
		return Write(w, format, doc)
	case "md":
		title := fmt.Sprintf("**%s to %s**: %s and %s\n\n```\n", Markdown(doc.From), Markdown(doc.To), doc.TraceA.Verdict.Outcome, doc.TraceB.Verdict.Outcome)
		if _, err := io.WriteString(w, title); err != nil {
			return err
		}
		if err := Paths(w, Style{}, "tree", doc); err != nil {
			return err
		}
		_, err := io.WriteString(w, "```\n")
		return err
	}
	p := comparePrinter{style: s}
	for _, side := range []struct {
		name string
		compare.Side
		trace *journey.Trace
	}{{"A", doc.A, doc.TraceA}, {"B", doc.B, doc.TraceB}} {
		v := side.trace.Verdict
		p.line(0, Span{side.name + "  ", Title}, Span{strings.ToUpper(string(v.Outcome)), outcomeLook(v.Outcome)},
			Span{"  " + side.Path + "  " + side.Time, Faint})
		p.line(3, Span{v.Sentence, Plain})
		if v.Cause != "" {
			p.line(3, Span{"cause: " + v.Cause, Plain})
		}
	}
	p.parting(doc)
	if len(doc.Behind) > 0 {
		p.heading("changes there")
		for _, c := range doc.Behind {
			p.change(c)
		}
	}
	for i, n := range doc.Notes {
		if i == 0 {
			p.out.WriteByte('\n')
		}
		p.line(0, Span{"note: " + n, Faint})
	}
	if doc.Others > 0 {
		p.out.WriteByte('\n')
		p.line(0, Span{count(doc.Others, "other change") + ": ", Plain}, Span{fmt.Sprintf("ovnctl compare %s %s", doc.A.Path, doc.B.Path), Name})
	}
	_, err := io.WriteString(w, p.out.String())
	return err
}

func (p *comparePrinter) parting(doc compare.PathsDocument) {
	switch {
	case doc.Same:
		p.out.WriteByte('\n')
		p.line(0, Span{"the same path, step by step", Good})
		return
	case doc.Divergence == nil:
		p.out.WriteByte('\n')
		p.line(0, Span{"the steps are the same, the verdicts differ", Warn})
		return
	}
	text := "the " + doc.Divergence.Direction + " paths diverge"
	if doc.Divergence.Backend != "" {
		text += " through " + doc.Divergence.Backend
	}
	p.heading(text)
	p.wayStep("A", doc.Divergence.A)
	p.wayStep("B", doc.Divergence.B)
}

// wayStep prints one side's step.
func (p *comparePrinter) wayStep(name string, s *compare.PathStep) {
	if s == nil {
		p.line(2, Span{name + "  ", Title}, Span{"has no such step", Plain})
		return
	}
	l := Line{{name + "  ", Title}, {s.Node + "  " + s.Kind + " " + s.Datapath, Name}}
	if s.Step == nil {
		p.line(2, l...)
		return
	}
	p.line(2, append(l, Span{fmt.Sprintf("  %s  priority %d", s.Step.Stage, s.Step.Priority), Plain})...)
	match, actions := s.Step.Match, strings.Join(s.Step.Actions, ",")
	if s.Step.Logical != nil {
		match, actions = s.Step.Logical.Match, s.Step.Logical.Actions
	}
	p.line(5, Span{strings.TrimSpace(match + " → " + actions), Plain})
	if s.Step.Object != nil {
		p.line(5, Span{s.Step.Object.Text, Faint})
	}
}
