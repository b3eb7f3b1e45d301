package page

import (
	"io"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/picture"
)

// A Path is a packet that was followed.
type Path struct {
	Title    string // the packet
	Strip    string // the nodes on one line
	From, To string // logical ports, whose workloads lead to it
	Verdict  string // in a word
	Level    Level
	Sentence string
	Cause    string
	Facts    []Fact // what else is to be known first: what it rests on, where a node differs from the databases
	Rules    []Rule // why
	Picture  *picture.Picture
	Ways     []Way
	Next     []string // commands
}

// A Level is how bad a verdict or a finding is: it has a mark and a class of the style sheet.
type Level int

// Levels, from the best to the worst.
const (
	Fine Level = iota
	Doubtful
	Bad
)

func (l Level) class() string { return [...]string{"fine", "warning", "error"}[l] }
func (l Level) mark() string  { return [...]string{"✓ ", "? ", "✗ "}[l] }

// A Fact is a sentence with what it is about.
type Fact struct{ Term, Text string }

// A Rule is a logical flow that decided, or that comes near to.
type Rule struct {
	Title string // "it matched"
	Text  string // of the object behind it; may be empty
	Match Match
	Words []string // what was found in the packet
}

// A Match is a text in which parts decided.
type Match struct {
	Text  string
	Parts []Part
}

// A Part is one, from byte to byte; parts are in order and do not meet.
type Part struct{ Start, End int }

// A Way is one direction of a packet.
type Way struct {
	Title string
	Hops  []Hop
	End   string
	Level Level
}

// A Hop is what a packet crosses.
type Hop struct {
	Title string
	Open  bool // the packet ends here
	Steps []Step
}

// A Step is a table: the logical flow of it, and the flow of OpenFlow that was made of that.
type Step struct {
	Stage    string
	Object   string // of the Northbound, behind it
	Logical  Match
	Actions  string // of the logical flow
	Expected string // another logical flow that the packet would match if the node followed the databases
	Flow     string // of OpenFlow
	Where    string // what its numbers mean
	Notes    []string
	Decides  bool // it carries out configuration, or changes where the packet goes
	Stops    bool // the packet ends here
}

// Fragment writes the path as a part of a page that is shown.
func (p *Path) Fragment(w io.Writer) error {
	var b writer
	p.write(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (p *Path) write(b *writer) {
	b.raw(`<article class="path ` + p.Level.class() + `" tabindex="-1"`)
	b.attribute("data-from", p.From)
	b.attribute("data-to", p.To)
	b.raw(">\n")
	b.element("h3", p.Title)
	b.raw(`<p class="verdict"><strong>`)
	b.text(p.Level.mark() + p.Verdict)
	b.raw("</strong> ")
	b.text(p.Sentence)
	b.raw("</p>\n")
	b.element("p", p.Strip)
	b.raw("<dl>\n")
	b.row("cause", p.Cause)
	for _, f := range p.Facts {
		b.row(f.Term, f.Text)
	}
	for _, r := range p.Rules {
		r.write(b)
	}
	for _, n := range p.Next {
		b.code("next", n)
	}
	b.raw("</dl>\n")
	b.picture(p.Picture)
	for _, w := range p.Ways {
		w.write(b)
	}
	b.raw("</article>\n")
}

func (r *Rule) write(b *writer) {
	b.element("dt", r.Title)
	b.raw("<dd>")
	b.element("div", r.Text)
	b.raw("<code>")
	r.Match.write(b)
	b.raw("</code>\n")
	for _, w := range r.Words {
		b.element("div", w)
	}
	b.raw("</dd>\n")
}

// write writes the text with what decided underlined.
func (m Match) write(b *writer) {
	at := 0
	for _, p := range m.Parts {
		if p.Start < at || p.End <= p.Start || p.End > min(len(m.Text), mostText) {
			continue
		}
		b.text(m.Text[at:p.Start])
		b.raw("<mark>")
		b.text(m.Text[p.Start:p.End])
		b.raw("</mark>")
		at = p.End
	}
	b.text(m.Text[at:])
}

func (w *Way) write(b *writer) {
	b.element("h4", w.Title)
	for _, h := range w.Hops {
		h.write(b)
	}
	b.raw(`<p class="end ` + w.Level.class() + `">`)
	b.text(w.Level.mark() + w.End)
	b.raw("</p>\n")
}

func (h *Hop) write(b *writer) {
	if len(h.Steps) == 0 {
		b.raw("<p class=\"hop\">")
		b.text(h.Title)
		b.raw("</p>\n")
		return
	}
	b.raw("<details" + map[bool]string{true: " open"}[h.Open] + "><summary>")
	b.text(h.Title)
	b.raw("</summary>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"tables\"><table><thead><tr><th scope=\"col\">stage</th><th scope=\"col\">logical flow</th><th scope=\"col\">OpenFlow</th></tr></thead>\n<tbody>\n")
	for _, s := range h.Steps {
		s.write(b)
	}
	b.raw("</tbody></table></div></details>\n")
}

func (s *Step) write(b *writer) {
	class := "idle"
	switch {
	case s.Stops:
		class = "stops"
	case s.Decides:
		class = "decides"
	}
	b.raw(`<tr class="` + class + `"><th scope="row">`)
	b.text(s.Stage)
	b.raw("</th><td>")
	b.element("div", s.Object)
	if s.Logical.Text != "" || s.Actions != "" {
		b.raw("<code>")
		s.Logical.write(b)
		b.text(" → " + s.Actions)
		b.raw("</code>")
	}
	b.element("div", strings.Join(s.Notes, "; "))
	if s.Expected != "" {
		b.raw(`<div class="odd">by the databases: <code>`)
		b.text(s.Expected)
		b.raw("</code></div>")
	}
	b.raw("</td><td><code>")
	b.text(s.Flow)
	b.raw("</code>")
	if s.Where != "" {
		b.raw(`<div class="where">`)
		b.text(s.Where)
		b.raw("</div>")
	}
	b.raw("</td></tr>\n")
}
