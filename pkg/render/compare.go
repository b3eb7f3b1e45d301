package render

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/compare"
	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/page"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// CompareFormats are the formats that [Compare] knows, the default first.
var CompareFormats = []string{"table", "wide", "json", "yaml", "md", "svg", "html"}

// A CompareView is what pictures and pages show besides the differences; other formats do without.
type CompareView struct {
	Before, After *topology.Topology
	Page          page.Page // its head
}

// Compare writes the differences in one of [CompareFormats].
func Compare(w io.Writer, s Style, format string, doc compare.Document, v CompareView) error {
	switch format {
	case "json", "yaml":
		return Write(w, format, doc)
	case "md":
		return compareMarkdown(w, doc)
	case "svg":
		return changesMap(doc, v.After, doc.Changes).SVG(w)
	case "html":
		return comparePage(w, doc, v)
	}
	p := comparePrinter{style: s, wide: format == "wide"}
	p.line(0, Span{fmt.Sprintf("A  %s  %s", doc.A.Path, doc.A.Time), Title})
	p.line(0, Span{fmt.Sprintf("B  %s  %s", doc.B.Path, doc.B.Time), Title})
	if doc.Equal {
		p.line(0, Span{"no difference", Good})
	}
	p.changes(doc.Changes)
	p.flows(doc.Flows)
	p.gaps(doc.NotCompared)
	if len(doc.Notes) > 0 {
		p.out.WriteByte('\n')
	}
	for _, n := range doc.Notes {
		p.line(0, Span{"note: " + n, Faint})
	}
	_, err := io.WriteString(w, p.out.String())
	return err
}

// comparePrinter writes a comparison as text.
type comparePrinter struct {
	style Style
	wide  bool
	out   strings.Builder
}

func (p *comparePrinter) line(indent int, l ...Span) {
	lines := []Line{p.style.prepare(l)}
	if p.style.Width > 0 {
		lines = wrap(lines[0], max(p.style.Width-indent, narrowest), max(p.style.Width-indent-4, narrowest))
	}
	for i, line := range lines {
		if i == 1 {
			indent += 4
		}
		p.out.WriteString(strings.TrimRight(strings.Repeat(" ", indent)+p.style.painted(line), " ") + "\n")
	}
}

// heading starts a section.
func (p *comparePrinter) heading(text string) {
	p.out.WriteByte('\n')
	p.line(0, Span{text, Title})
}

// differs maps each kind of difference to its sign.
var differs = lazy.Value[map[compare.Sign]Span]{Make: func() map[compare.Sign]Span {
	return map[compare.Sign]Span{
		compare.Added:   {"+ ", Good},
		compare.Removed: {"- ", Bad},
		compare.Changed: {"~ ", Warn},
	}
}}

// mostOnLine is how many columns of a change are shown on its line.
const mostOnLine = 2

func (p *comparePrinter) changes(changes []compare.Change) {
	for len(changes) > 0 {
		group := changes[0].Group
		end := slices.IndexFunc(changes, func(c compare.Change) bool { return c.Group != group })
		if end < 0 {
			end = len(changes)
		}
		p.heading(string(group))
		if group == compare.Derived && !p.wide {
			p.line(2, Span{derivedText(changes[:end]), Plain}, Span{"  (-o wide lists them)", Faint})
		} else {
			p.group(changes[:end])
		}
		changes = changes[end:]
	}
}

// group writes changes. Rows that came or went with one object of the CMS take one line, unless rows are asked for.
func (p *comparePrinter) group(changes []compare.Change) {
	type object struct {
		owner, zone string
		sign        compare.Sign
	}
	rows := map[object][]compare.Change{}
	of := func(c compare.Change) object { return object{c.Owner, c.Zone, c.Change} }
	if !p.wide {
		for _, c := range changes {
			if c.Owner != "" && c.Change != compare.Changed {
				rows[of(c)] = append(rows[of(c)], c)
			}
		}
	}
	for _, c := range changes {
		all := rows[of(c)]
		switch {
		case len(all) < 2:
			p.change(c)
		case c.UUIDA+c.UUIDB == all[0].UUIDA+all[0].UUIDB:
			p.line(2, differs.Get()[c.Change], Span{when(c.Zone != "", "zone "+c.Zone+"  "), Plain}, Span{c.Owner, Name}, Span{": " + kindsText(all), Plain})
		}
	}
}

// kindsText counts changes by kind: "port group, 2 × ACL".
func kindsText(changes []compare.Change) string {
	return countText(changes, func(n int) string { return when(n > 1, fmt.Sprintf("%d × ", n)) }, func(c compare.Change) string { return c.Kind })
}

// derivedText counts changes by kind and sign: "3 × datapath added".
func derivedText(changes []compare.Change) string {
	return countText(changes, func(n int) string { return fmt.Sprintf("%d × ", n) }, func(c compare.Change) string { return c.Kind + " " + string(c.Change) })
}

// countText counts changes by what they are called, in their order.
func countText(changes []compare.Change, count func(int) string, called func(compare.Change) string) string {
	var order []string
	n := map[string]int{}
	for _, c := range changes {
		name := called(c)
		if n[name]++; n[name] == 1 {
			order = append(order, name)
		}
	}
	for i, name := range order {
		order[i] = count(n[name]) + name
	}
	return strings.Join(order, ", ")
}

func (p *comparePrinter) change(c compare.Change) {
	l := Line{differs.Get()[c.Change], {when(c.Node != "", c.Node+"  ") + when(c.Zone != "", "zone "+c.Zone+"  "), Plain}}
	l = append(l, p.subject(c)...)
	columns := c.Columns
	if c.Change != compare.Changed && !p.wide {
		columns = nil
	}
	if len(columns) <= mostOnLine && !p.wide {
		for i, column := range columns {
			l = append(l, Span{":,"[i:i+1] + " " + p.columnText(column), Plain})
		}
		columns = nil
	}
	p.line(2, l...)
	for _, column := range columns {
		text := p.columnText(column)
		if c.Change != compare.Changed {
			text = column.Name + " " + cmp.Or(column.A, column.B, strings.Join(slices.Concat(column.Added, column.Removed), ", "))
		}
		p.line(6, Span{text, Plain})
	}
}

// subject names what differs: a row of the databases in the CMS's words, unless rows are asked for.
func (p *comparePrinter) subject(c compare.Change) Line {
	if c.Owner == "" || p.wide {
		l := Line{{c.Kind, Plain}}
		if c.Name != "" {
			l = append(l, Span{" " + c.Name, Name})
		}
		return append(l, Span{when(c.On != "", " on "+c.On) + when(c.Owner != "", " ("+c.Owner+")"), Plain})
	}
	l := Line{{c.Owner, Name}}
	if c.Change == compare.Changed {
		return append(l, Span{when(c.Kind != "ACL", ", "+c.Kind), Plain})
	}
	return append(l, Span{", " + strings.TrimSpace(c.Kind+" "+c.Name), Plain})
}

// mostValues is how many elements of a set are listed.
const mostValues = 8

// someOf returns the first values, each after a sign.
func someOf(sign string, values []string) string {
	var b strings.Builder
	for _, v := range values[:min(len(values), mostValues)] {
		b.WriteString(sign + v)
	}
	if more := len(values) - mostValues; more > 0 {
		fmt.Fprintf(&b, "%sanother %d", sign, more)
	}
	return b.String()
}

// columnText formats the difference in a column; of a match, unless rows are asked for, only the conditions that differ.
func (p *comparePrinter) columnText(c compare.Column) string {
	text := c.Name
	switch {
	case len(c.Terms) > 0 && !p.wide:
		var all []string
		for _, t := range c.Terms {
			switch {
			case t.Name != "":
				all = append(all, t.Name+" "+t.A+" → "+t.B)
			default:
				all = append(all, when(t.A != "", "-"+t.A)+when(t.B != "", "+"+t.B))
			}
		}
		text = strings.Join(all, ", ")
	case len(c.Added)+len(c.Removed) > 0:
		text += someOf(" -", c.Removed) + someOf(" +", c.Added)
	default:
		text += " " + cmp.Or(c.A, "none") + " → " + cmp.Or(c.B, "none")
	}
	return text
}

// mostFlowGroups is how many objects with differing flows are shown.
const mostFlowGroups = 30

func (p *comparePrinter) flows(flows []compare.FlowChange) {
	if len(flows) == 0 {
		return
	}
	p.heading("flows")
	var order []string
	groups := map[string][]compare.FlowChange{}
	for _, f := range flows {
		name := f.For
		if !p.wide {
			name = cmp.Or(f.Owner, f.For)
		}
		if len(groups[name]) == 0 {
			order = append(order, name)
		}
		groups[name] = append(groups[name], f)
	}
	for i, name := range order {
		if i == mostFlowGroups && !p.wide {
			p.line(2, Span{fmt.Sprintf("and those of %d others: -o wide lists them", len(order)-i), Faint})
			break
		}
		p.line(2, Span{cmp.Or(name, "of unknown purpose"), Name})
		for _, f := range p.together(groups[name]) {
			p.line(4, Span{flowWhere(f) + "  ", Plain}, Span{flowCounts(f) + "  ", Plain}, Span{stagesText(f.Stages), Faint})
			for _, c := range f.Flows {
				p.changedFlow(c)
			}
		}
	}
}

// together adds up the flows made for the rows of one object, unless rows are asked for.
func (p *comparePrinter) together(flows []compare.FlowChange) []compare.FlowChange {
	if p.wide {
		return flows
	}
	var out []compare.FlowChange
	for _, f := range flows {
		i := slices.IndexFunc(out, func(o compare.FlowChange) bool { return flowWhere(o) == flowWhere(f) })
		if i < 0 {
			f.Stages = slices.Clone(f.Stages)
			out = append(out, f)
			continue
		}
		o := &out[i]
		o.Added, o.Removed, o.Changed = o.Added+f.Added, o.Removed+f.Removed, o.Changed+f.Changed
		for _, stage := range f.Stages {
			if !slices.Contains(o.Stages, stage) {
				o.Stages = append(o.Stages, stage)
			}
		}
	}
	return out
}

func (p *comparePrinter) changedFlow(c compare.ChangedFlow) {
	if !p.wide {
		return
	}
	p.line(6, differs.Get()[c.Change], Span{strings.TrimSpace(fmt.Sprintf("%s priority %d  %s", c.Stage, c.Priority, c.Match)), Plain})
	switch c.Change {
	case compare.Changed:
		p.line(10, Span{"- " + c.A, Plain})
		p.line(10, Span{"+ " + c.B, Plain})
	default:
		p.line(10, Span{c.A + c.B, Plain})
	}
	if c.Datapath != "" {
		p.line(10, Span{"on " + c.Datapath, Faint})
	}
}

func flowWhere(f compare.FlowChange) string {
	switch {
	case f.Node != "":
		return f.Node + " " + f.Bridge
	case f.Zone != "":
		return "logical, zone " + f.Zone
	}
	return "logical"
}

func flowCounts(f compare.FlowChange) string {
	return phrase(" ", when(f.Added > 0, fmt.Sprintf("+%d", f.Added)), when(f.Removed > 0, fmt.Sprintf("-%d", f.Removed)),
		when(f.Changed > 0, fmt.Sprintf("~%d", f.Changed)))
}

// mostStages is how many stages are listed on a line.
const mostStages = 4

func stagesText(stages []string) string {
	more := len(stages) - mostStages
	return strings.Join(stages[:min(len(stages), mostStages)], ", ") + when(more > 0, fmt.Sprintf(" and %d more", more))
}

func (p *comparePrinter) gaps(gaps []compare.Gap) {
	if len(gaps) == 0 {
		return
	}
	p.heading("not compared")
	for _, g := range gaps {
		p.line(2, Span{g.What + ": " + g.Why, Plain})
	}
}

// compareMarkdown writes tables to be pasted into a ticket.
func compareMarkdown(w io.Writer, doc compare.Document) error {
	text := "differences"
	if doc.Equal {
		text = "no difference"
	}
	if _, err := fmt.Fprintf(w, "**%s and %s**: %s\n", Markdown(doc.A.Path), Markdown(doc.B.Path), text); err != nil {
		return err
	}
	changes := &Table{Title: "changes", Header: []string{"", "node", "what", "differs"}}
	for _, c := range doc.Changes {
		what := strings.TrimSpace(c.Kind + " " + c.Name)
		if c.On != "" {
			what += " on " + c.On
		}
		var columns []string
		if c.Change == compare.Changed {
			for _, column := range c.Columns {
				columns = append(columns, new(comparePrinter).columnText(column))
			}
		}
		changes.Row(Text(strings.TrimSpace(differs.Get()[c.Change].Text)), Text(c.Node), Text(what), Text(strings.Join(columns, "; ")))
	}
	flows := &Table{Title: "flows", Header: []string{"for", "where", "flows", "stages"}}
	for _, f := range doc.Flows {
		flows.Row(Text(f.For), Text(flowWhere(f)), Text(flowCounts(f)), Text(stagesText(f.Stages)))
	}
	gaps := &Table{Title: "not compared", Header: []string{"what", "why"}}
	for _, g := range doc.NotCompared {
		gaps.Row(Text(g.What), Text(g.Why))
	}
	return WriteMarkdownTables(w, changes, flows, gaps)
}
