package render

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/page"
	"github.com/ovnctl/ovnctl/pkg/reach"
)

// ReachFormats are the formats that [Reach] knows, the default first.
var ReachFormats = []string{"table", "wide", "list", "expect", "json", "yaml", "csv", "md", "svg", "html"}

// ReachView is what the text formats show besides the result.
type ReachView struct {
	Notes []string
	Next  []string  // commands to run next
	Page  page.Page // of HTML, its head
}

// Reach writes who can talk to whom in one of [ReachFormats].
func Reach(w io.Writer, s Style, format string, doc reach.Document, v ReachView) error {
	switch format {
	case "json", "yaml":
		return reachDocument(w, format, doc)
	case "csv":
		return reachCSV(w, doc.Result)
	case "expect":
		return reachList(w, doc.Result)
	case "md":
		return reachMarkdown(w, doc.Result, v)
	case "svg":
		return ReachPicture(doc, v).SVG(w)
	case "html":
		p := v.Page
		p.Notes, p.Reach = v.Notes, ReachPicture(doc, ReachView{})
		return p.Write(w)
	}
	p := &reachPrinter{tracePrinter: tracePrinter{style: s}, w: w, result: doc.Result}
	p.head(v.Notes)
	switch {
	case format == "list":
		p.refusals(math.MaxInt, math.MaxInt)
	case doc.Expect != nil:
		p.differences()
	default:
		p.matrix(format == "wide")
		p.refusals(policiesShown, bundlesShown)
	}
	p.next(v.Next)
	p.flush()
	return p.err
}

// A reachPrinter collects lines like a tracePrinter, and writes tables between them.
type reachPrinter struct {
	tracePrinter
	w      io.Writer
	result *reach.Result
	err    error // first write error
}

func (p *reachPrinter) flush() {
	if p.err == nil {
		p.err = p.tracePrinter.flush(p.w)
	}
}

// table writes a table after an empty line.
func (p *reachPrinter) table(t *Table) {
	if t.Len() == 0 {
		return
	}
	p.add()
	p.flush()
	if p.err == nil {
		p.err = WriteTables(p.w, p.style, true, t)
	}
}

// head prints the question and its result.
func (p *reachPrinter) head(notes []string) {
	r := p.result
	p.put(0, 2, Span{asked(r), Title}, Span{Text: fmt.Sprintf("  %s → %s, %s: %s",
		count(len(r.From), "sender"), count(len(r.To), "receiver"), count(r.Summary.Pairs, "pair"), tally(r.Summary))})
	for _, n := range notes {
		p.text(2, "note: "+n, Faint)
	}
}

// asked returns the question, or the list that the pairs were compared with.
func asked(r *reach.Result) string {
	switch {
	case r.Expect != nil:
		return r.Expect.File
	case r.Question.Protocol != "":
		return r.Question.String()
	}
	services := 0
	for _, p := range r.To {
		if p.Protocol != "" {
			services++
		}
	}
	switch services {
	case 0:
		return "icmp"
	case len(r.To):
		return "services"
	}
	return "icmp and services"
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}

// An outcomeCount is the number of pairs with an outcome.
type outcomeCount struct {
	outcome journey.Outcome
	n       int
	words   string
}

// outcomes returns the outcomes that occur, best first.
func outcomes(t reach.Tally) []outcomeCount {
	all := []outcomeCount{
		{journey.Delivered, t.Delivered, "delivered"}, {journey.Rejected, t.Rejected, "rejected"}, {journey.Consumed, t.Consumed, "consumed"},
		{journey.Dropped, t.Dropped, "dropped"}, {journey.Unknown, t.Unknown, "unknown"},
	}
	return slices.DeleteFunc(all, func(c outcomeCount) bool { return c.n == 0 })
}

func tally(t reach.Tally) string {
	var parts []string
	for _, c := range outcomes(t) {
		parts = append(parts, fmt.Sprintf("%d %s", c.n, c.words))
	}
	return cmp.Or(strings.Join(parts, ", "), "none to ask")
}

// signs are one-character outcomes, in UTF-8 and ASCII.
var signs = lazy.Value[map[journey.Outcome][2]string]{Make: func() map[journey.Outcome][2]string {
	return map[journey.Outcome][2]string{
		journey.Delivered: {"✓", "+"}, journey.Rejected: {"r", "r"}, journey.Consumed: {"c", "c"},
		journey.Dropped: {"✗", "x"}, journey.Unknown: {"?", "?"}, "": {"·", "."},
	}
}}

func (s Style) sign(o journey.Outcome) Span {
	text, look := signs.Get()[o][0], outcomeLook(o)
	if s.ASCII {
		text = signs.Get()[o][1]
	}
	if o == "" {
		look = Faint
	}
	return Span{text, look}
}

// legend explains the signs used in a matrix.
func (p *reachPrinter) legend() {
	shown := outcomes(p.result.Summary)
	if p.result.Summary.Pairs < len(p.result.From)*len(p.result.To) {
		shown = append(shown, outcomeCount{words: "not asked"})
	}
	var spans []Span
	for _, c := range shown {
		spans = append(spans, p.style.sign(c.outcome), Span{" " + c.words + "  ", Faint})
	}
	p.put(0, 0, spans...)
}

// fewest is how many senders and receivers always get rows and columns of their own.
const fewest = 12

// matrix prints each group of senders as a row and each group of receivers as a column, in as many blocks of columns
// as the width requires.
func (p *reachPrinter) matrix(wide bool) {
	m := p.result.Matrix(!wide && max(len(p.result.From), len(p.result.To)) > fewest)
	if m == nil || p.result.Summary.Pairs == 0 {
		return
	}
	p.add()
	p.legend()
	rows, columns := p.names(m.From), p.names(m.To)
	numbered := !p.fits(rows, columns)
	if same := slices.Equal(rows, columns); numbered && same {
		for i, name := range rows {
			rows[i] = fmt.Sprintf("%*d %s", len(strconv.Itoa(len(rows))), i+1, name)
		}
	} else if numbered {
		p.receivers(columns)
	}
	if numbered {
		for i := range columns {
			columns[i] = strconv.Itoa(i + 1)
		}
	}
	for first := 0; first < len(columns); {
		last := p.block(rows, columns, first)
		p.table(p.grid(m, rows, columns, first, last))
		first = last
	}
	p.members(m)
}

// names returns the groups' names for the edge of the matrix. Receivers with a protocol of their own include it.
func (p *reachPrinter) names(groups []reach.Group) []string {
	var out []string
	for _, g := range groups {
		name := g.Name
		if m := g.Members[0]; len(g.Members) == 1 && m.Protocol != "" && p.result.Question.Protocol == "" {
			name += " " + m.Protocol
		}
		out = append(out, p.style.clean(name))
	}
	return out
}

// maxHeading is the maximum width of a row before numbers replace the columns' names, if the stream has no width.
const maxHeading = 160

// fits reports whether a row has room for all columns' names.
func (p *reachPrinter) fits(rows, columns []string) bool {
	total := widest(rows)
	for _, c := range columns {
		total += len(gap) + width(c)
	}
	return total <= cmp.Or(p.style.Width, maxHeading)
}

func widest(names []string) int {
	n := 0
	for _, name := range names {
		n = max(n, width(name))
	}
	return n
}

// receivers lists the receivers that the column numbers stand for.
func (p *reachPrinter) receivers(columns []string) {
	var spans []Span
	for i, c := range columns {
		spans = append(spans, Span{fmt.Sprintf("%d ", i+1), Faint}, Span{c + "  ", Name})
	}
	p.add()
	p.put(0, 2, append([]Span{{"receivers  ", Title}}, spans...)...)
}

// block returns the end of the columns that fit beside the row names.
func (p *reachPrinter) block(rows, columns []string, first int) int {
	if p.style.Width == 0 {
		return len(columns)
	}
	room := p.style.Width - widest(rows)
	last := first
	for ; last < len(columns); last++ {
		room -= len(gap) + width(columns[last])
		if room < 0 && last > first {
			break
		}
	}
	return last
}

// grid returns the columns from first up to last of a matrix.
func (p *reachPrinter) grid(m *reach.Matrix, rows, columns []string, first, last int) *Table {
	t := &Table{Header: append([]string{"FROM / TO"}, columns[first:last]...)}
	for i, name := range rows {
		cells := []Line{Text(name, Name)}
		for j := first; j < last; j++ {
			cells = append(cells, Line{p.style.sign(m.At(i, j))})
		}
		t.Row(cells...)
	}
	return t
}

// members lists the members of groups whose names do not show them.
func (p *reachPrinter) members(m *reach.Matrix) {
	named := map[string]bool{}
	for _, g := range slices.Concat(m.From, m.To) {
		if g.Whole() || named[g.Name] {
			continue
		}
		if len(named) == 0 {
			p.add()
		}
		named[g.Name] = true
		var names []string
		for _, party := range g.Members {
			names = append(names, party.Name)
		}
		p.put(0, 2, Span{g.Name, Name}, Span{Text: ": " + strings.Join(names, ", ")})
	}
}

// reasons lists why pairs are not delivered, by the policy that stops most of them.
func reasons(r *reach.Result) *Table {
	t := &Table{Title: "Not delivered", Header: []string{"POLICY", "CAUSE", "OUTCOME", "PAIRS"}}
	for _, refusal := range r.Refusals() {
		for i, c := range refusal.Causes {
			policy := refusal.Policy
			if i > 0 {
				policy = ""
			}
			t.Row(Text(policy, Name), Text(causeText(c.Cause)), Text(string(c.Outcome), outcomeLook(c.Outcome)), Text(strconv.Itoa(c.Pairs)))
		}
	}
	return t
}

// causeText describes a cause.
func causeText(c *reach.Cause) string {
	text := c.Text
	if c.Stage != "" {
		text += " in " + c.Stage
	}
	if c.Reply {
		text = "the reply: " + text
	}
	return text
}

// Limits of what is shown below a matrix; the list has everything.
const (
	policiesShown = 20
	bundlesShown  = 5 // per cause
)

// refusals prints the pairs that are not delivered, by policy and cause.
func (p *reachPrinter) refusals(policies, bundles int) {
	all := p.result.Refusals()
	for _, refusal := range all[:min(len(all), policies)] {
		p.add()
		p.put(0, 2, Span{refusal.Policy, Title}, Span{Text: "  " + count(refusal.Pairs, "pair")})
		for _, c := range refusal.Causes {
			text := Span{causeText(c.Cause), outcomeLook(c.Outcome)}
			switch {
			case c.Object == nil && c.Stage == "" && !c.Reply: // already in the title
				text.Text = string(c.Outcome)
			case c.Reply || !c.Kind.SaysOutcome():
				text.Text = string(c.Outcome) + ": " + text.Text
			}
			p.put(2, 4, text)
			for _, b := range c.Bundles[:min(len(c.Bundles), bundles)] {
				p.put(4, 6, Span{b.From, Name}, Span{Text: " → "}, Span{b.To, Name})
			}
			if n := len(c.Bundles) - bundles; n > 0 {
				p.put(4, 6, Span{fmt.Sprintf("and %d more lines, which -o list shows", n), Faint})
			}
		}
	}
	if n := len(all) - policies; n > 0 {
		p.add()
		p.put(0, 2, Span{fmt.Sprintf("and %d more reasons, which -o list shows", n), Faint})
	}
}

// differences prints the pairs that are not as expected.
func (p *reachPrinter) differences() {
	e := p.result.Expect
	p.add()
	if len(e.Differences) == 0 {
		p.put(0, 2, Span{"as expected", Good}, Span{Text: ": " + count(e.Pairs, "pair")})
		return
	}
	p.put(0, 2, Span{count(len(e.Differences), "difference"), Bad}, Span{Text: " in " + count(e.Pairs, "pair")})
	p.table(differences(p.result))
}

func differences(r *reach.Result) *Table {
	t := &Table{Header: []string{"LINE", "FROM", "TO", "ASKED", "CAUSE", "EXPECTED", "IS"}}
	for _, d := range r.Expect.Differences {
		why := ""
		if d.Cause != nil {
			why = causeText(r.Causes[*d.Cause])
		}
		t.Row(Text(strconv.Itoa(d.Line), Faint), Text(d.From, Name), Text(d.To, Name), Text(pairQuestion(d.Pair)), Text(why),
			Text(d.Expected), Text(string(d.Outcome), outcomeLook(d.Outcome)))
	}
	return t
}

func pairQuestion(p reach.Pair) string {
	return reach.Question{Protocol: p.Protocol, Port: p.Port}.String()
}

// reachMarkdown writes tables to be pasted into a ticket.
func reachMarkdown(w io.Writer, r *reach.Result, v ReachView) error {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** %s to %s, %s: %s\n", Markdown(asked(r)), count(len(r.From), "sender"), count(len(r.To), "receiver"),
		count(r.Summary.Pairs, "pair"), tally(r.Summary))
	for _, n := range v.Notes {
		fmt.Fprintf(&b, "\nnote: %s\n", Markdown(n))
	}
	for _, n := range v.Next {
		fmt.Fprintf(&b, "\nnext: %s\n", MarkdownCode(n))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	var tables []*Table
	if r.Expect != nil {
		t := differences(r)
		t.Title = "Differences"
		tables = append(tables, t)
	} else if m := r.Matrix(max(len(r.From), len(r.To)) > fewest); m != nil {
		p := &reachPrinter{result: r}
		t := p.grid(m, p.names(m.From), p.names(m.To), 0, len(m.To))
		t.Title = "Who can talk to whom"
		tables = append(tables, t)
	}
	return WriteMarkdownTables(w, append(tables, reasons(r))...)
}

// reachCSV writes one record per pair.
func reachCSV(w io.Writer, r *reach.Result) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"from", "to", "protocol", "port", "outcome", "policy", "cause"}) // Flush returns the error
	for p := range r.Pairs() {
		record := []string{Clean(p.From), Clean(p.To), p.Protocol, strconv.Itoa(p.Port), string(p.Outcome), "", ""}
		if p.Cause != nil {
			c := r.Causes[*p.Cause]
			record[5], record[6] = Clean(c.Policy), Clean(causeText(c))
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// reachList writes the pairs as a list for --expect.
func reachList(w io.Writer, r *reach.Result) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# FROM -> TO PROTOCOL/PORT allow|deny\n")
	for p := range r.Pairs() {
		verdict := reach.Deny
		switch p.Outcome {
		case journey.Delivered:
			verdict = reach.Allow
		case journey.Unknown:
			fmt.Fprintf(out, "# unknown: ")
		}
		fmt.Fprintf(out, "%s -> %s %s %s\n", Clean(p.From), Clean(p.To), pairQuestion(p), verdict)
	}
	return out.Flush()
}

// reachDocument writes a document and then its pairs, one per line: there may be too many to hold at once.
func reachDocument(w io.Writer, format string, doc reach.Document) error {
	var head bytes.Buffer
	doc.Pairs = []reach.Pair{}
	if err := Write(&head, format, doc); err != nil {
		return err
	}
	const none = "[]"
	end := map[string]string{"json": none + "\n}\n", "yaml": none + "\n"}[format]
	before, ok := bytes.CutSuffix(head.Bytes(), []byte(end))
	if !ok {
		return fmt.Errorf("the document does not end in its pairs")
	}
	out := bufio.NewWriter(w)
	out.Write(bytes.TrimRight(before, " "))
	lead, separator, last := "\n  - ", "", "\n"
	if format == "json" {
		out.WriteString(" [")
		lead, separator, last = "\n    ", ",", "\n  ]\n}\n"
	}
	n := 0
	for p := range doc.Result.Pairs() {
		line, err := compact(p)
		if err != nil {
			return err
		}
		if n++; n > 1 {
			out.WriteString(separator)
		}
		out.WriteString(lead)
		out.Write(escaped(bytes.TrimRight(line, "\n"), map[string]func(*bytes.Buffer, rune){"json": escapeJSON, "yaml": escapeYAML}[format]))
	}
	if n == 0 {
		_, err := w.Write(head.Bytes())
		return err
	}
	out.WriteString(last)
	return out.Flush()
}
