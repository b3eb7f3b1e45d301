package render

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
)

// why explains a verdict: the rule that stopped the packet, what comes closest to letting it pass and which change
// would; or what let it pass. Without verbose only the closest rule is shown.
func (p *tracePrinter) why(v journey.Verdict) {
	if r := v.Rule; r != nil && slices.ContainsFunc(r.Decided, func(d journey.Decided) bool { return d.Words != "" }) {
		p.text(2, "it matched:", Plain)
		p.rule(4, *r)
	}
	near := v.Near
	if !p.verbose && len(near) > 1 {
		near = near[:1]
	}
	if len(near) > 0 {
		p.text(2, "nearest to allowing it:", Plain)
	}
	for _, r := range near {
		if r.Object != nil {
			p.put(4, 6, Span{Text: r.Object.Text})
		}
		p.rule(4, r)
	}
	if len(v.Allowed) > 0 {
		p.text(2, "allowed by:", Plain)
	}
	for _, o := range v.Allowed {
		p.put(4, 6, Span{Text: o.Text})
	}
	if len(v.WhyNot) > 0 {
		p.text(2, "what would let it pass:", Plain)
	}
	for i, r := range v.WhyNot {
		p.remedy(i+1, r)
	}
}

// rule prints the match of a flow with what decided, and the value found there.
func (p *tracePrinter) rule(indent int, r journey.Rule) {
	p.decided(indent, r.Match, r.Decided)
	for _, d := range r.Decided {
		if d.Words != "" {
			p.put(indent, indent+2, Span{d.Words, Faint})
		}
	}
}

func (p *tracePrinter) remedy(n int, r journey.Remedy) {
	line := Line{{Text: fmt.Sprintf("%d. %s", n, r.Text)}}
	if r.Verified {
		line = append(line, Span{"  (verified: with this it gets through)", Good})
	}
	p.put(4, 7, line...)
	if r.Command != "" {
		p.command(7, "", Span{Text: "       "}, Span{r.Command, Name})
	}
}

// decided prints a match with the deciding parts underlined: by the terminal if it has colors, else on a line below.
// Parts that mean nothing to people have no words, and are not underlined.
func (p *tracePrinter) decided(indent int, match string, decided []journey.Decided) {
	var line Line
	at := 0
	for _, d := range decided {
		if d.Words == "" || d.Start < at || d.End > len(match) || d.End <= d.Start {
			continue
		}
		line = append(line, Span{Text: match[at:d.Start]}, Span{match[d.Start:d.End], Deciding})
		at = d.End
	}
	line = p.style.prepare(append(line, Span{Text: match[at:]}))
	rows := []Line{line}
	if p.style.Width > 0 {
		room := max(p.style.Width-indent, narrowest)
		rows = wrap(line, room, room)
	}
	for _, row := range rows {
		p.lines = append(p.lines, append(Line{blanks(indent)}, row...))
		if marks := underline(row); marks != "" && !p.style.Color {
			p.lines = append(p.lines, Line{blanks(indent), {Text: marks}})
		}
	}
}

// underline returns the line below a row that marks what decided; empty if nothing in it did.
func underline(row Line) string {
	var marks strings.Builder
	inside := false
	for _, span := range row {
		n := width(span.Text)
		switch {
		case span.Look != Deciding:
			marks.WriteString(strings.Repeat(" ", n))
		case inside:
			marks.WriteString(strings.Repeat("~", n))
		case n > 0:
			marks.WriteString("^" + strings.Repeat("~", n-1))
		}
		inside = span.Look == Deciding
	}
	return strings.TrimRight(marks.String(), " ")
}
