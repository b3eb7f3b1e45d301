package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/doctor/checks"
)

// How much of a group is shown as text; -o json has all.
const (
	mostGroupNodes = 10 // names in a line
	mostGroupFixes = 4  // commands that differ in the node alone
	mostNodeLines  = 20
)

// groups prints the faults of many nodes by cause, then by node.
func (p *doctorPrinter) groups(doc doctor.Document) {
	for _, g := range doc.Groups {
		if len(g.Nodes) < 2 {
			for _, f := range g.Findings {
				p.finding(f)
			}
			continue
		}
		p.group(g)
	}
	p.nodes(doc.Nodes)
}

// onNodes says how many of the nodes have a fault.
func onNodes(g doctor.Group) string {
	return fmt.Sprintf("on %d of %s", len(g.Nodes), count(g.Of, "node"))
}

// groupTitle names the fault without what differs from node to node.
func groupTitle(g doctor.Group) string {
	if c := checks.Find(g.Check); c != nil {
		return c.Title()
	}
	return g.Findings[0].Title
}

// group prints a fault of several nodes once, with what was seen on the first.
func (p *doctorPrinter) group(g doctor.Group) {
	first := g.Findings[0]
	if p.short {
		p.put(0, 2, Span{fmt.Sprintf("%-7s ", g.Result), resultLook(g.Result)}, Span{onNodes(g) + ": ", Title}, Span{Text: groupTitle(g)}, Span{"  " + g.Check, Faint})
		return
	}
	p.add()
	p.put(0, 2, Span{strings.ToUpper(string(g.Result)) + "  ", resultLook(g.Result)}, Span{onNodes(g) + ": ", Title}, Span{groupTitle(g), Title}, Span{"  " + g.Check, Faint})
	p.labelled("nodes", Span{Text: doctor.AtMost(g.Nodes, mostGroupNodes)})
	p.labelled("such as", Span{Text: first.Title}, Span{"  on " + g.Nodes[0], Faint})
	for _, e := range first.Evidence {
		p.labelled("seen", Span{e.Source.String() + ": ", Faint}, Span{Text: e.Says})
	}
	p.sentence("cause", first.Cause)
	p.sentence("breaks", first.Effect)
	shown := 0
	for _, f := range g.Findings {
		if f.Fix == nil {
			continue
		}
		if shown++; shown > mostGroupFixes {
			continue
		}
		p.command(10, p.view.fixWords(f.Fix), Span{"  fix     ", Faint}, Span{p.view.command(f.Fix), Name})
	}
	if more := shown - mostGroupFixes; more > 0 {
		p.labelled("", Span{fmt.Sprintf("%d more, with --node for each node: -o json has them", more), Faint})
	}
	p.sentence("next", first.Next)
	if len(first.Consequences) > 0 {
		p.put(2, 4, Span{"also caused by this, on " + g.Nodes[0], Faint})
	}
	for _, c := range first.Consequences {
		p.consequence(c, 4)
	}
}

// nodes prints the nodes that were not read, and those with faults, the worst first.
func (p *doctorPrinter) nodes(all []doctor.NodeResult) {
	unread, faulty := 0, 0
	for _, n := range all {
		switch {
		case n.Unread != "":
			unread++
		case len(n.Checks) > 0:
			faulty++
		}
	}
	p.add()
	p.put(0, 2, Span{fmt.Sprintf("%d of %s read, %d with faults", len(all)-unread, count(len(all), "node"), faulty), Title})
	if p.short {
		return
	}
	lines := 0
	for _, n := range all {
		if n.Unread != "" || len(n.Checks) == 0 {
			continue // the head names what was not read
		}
		if lines++; lines > mostNodeLines {
			continue
		}
		p.put(2, 4, Span{n.Name, Name}, Span{Text: "  " + nodeWords(n)}, Span{"  " + doctor.AtMost(n.Checks, mostNodes), Faint})
	}
	if more := lines - mostNodeLines; more > 0 {
		p.put(2, 4, Span{fmt.Sprintf("%d more: -o json lists them", more), Faint})
	}
}

func nodeWords(n doctor.NodeResult) string {
	return count(n.Errors, "error") + ", " + count(n.Warnings, "warning")
}

// groupsMarkdown writes the faults of many nodes by cause, then by node.
func groupsMarkdown(w io.Writer, doc doctor.Document, v DoctorView) {
	for _, g := range doc.Groups {
		if len(g.Nodes) < 2 {
			for _, f := range g.Findings {
				findingMarkdown(w, f, v)
			}
			continue
		}
		first := g.Findings[0]
		fmt.Fprintf(w, "\n### %s %s: %s\n\n%s\n\n", g.Result, onNodes(g), Markdown(groupTitle(g)), MarkdownCode(g.Check))
		fmt.Fprintf(w, "- nodes: %s\n- such as: %s (on %s)\n", Markdown(strings.Join(g.Nodes, ", ")), Markdown(first.Title), Markdown(g.Nodes[0]))
		detailsMarkdown(w, first)
		for _, f := range g.Findings {
			if f.Fix != nil {
				fmt.Fprintf(w, "- fix: %s (%s)\n", MarkdownCode(v.command(f.Fix)), Markdown(v.fixWords(f.Fix)))
			}
		}
		consequencesMarkdown(w, first, "")
	}
	fmt.Fprint(w, "\n| node | errors | warnings | checks |\n| --- | --- | --- | --- |\n")
	for _, n := range doc.Nodes {
		switch {
		case n.Unread != "":
			fmt.Fprintf(w, "| %s | | | not read |\n", Markdown(n.Name))
		case len(n.Checks) > 0:
			fmt.Fprintf(w, "| %s | %d | %d | %s |\n", Markdown(n.Name), n.Errors, n.Warnings, Markdown(strings.Join(n.Checks, ", ")))
		}
	}
}
