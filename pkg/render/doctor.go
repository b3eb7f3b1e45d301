package render

import (
	"fmt"
	"html"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/doctor/checks"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/page"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// DoctorFormats are the formats that [Doctor] knows, the default first.
var DoctorFormats = []string{"table", "short", "json", "yaml", "md", "svg", "html", "junit"}

// DoctorView is what the text formats show besides the report.
type DoctorView struct {
	About   string   // the objects named; empty for everything
	Unread  []string // the sources that were not read
	Sources []string // what was read
	Next    []string // commands to run next
	// Command is the command of a repair as it can be run where the report is read; nil: as the call has it.
	Command func(*fixes.Call) string
	Saved   bool // the report is of saved data, which no repair changes
	// Map is the deployment, of which a picture is drawn; only for that.
	Map  *topology.Topology
	Page page.Page // of HTML, its head
}

// Doctor writes the findings in one of [DoctorFormats].
func Doctor(w io.Writer, s Style, format string, doc doctor.Document, v DoctorView) error {
	switch format {
	case "json", "yaml":
		return Write(w, format, doc)
	case "junit":
		return doctorJUnit(w, doc.Report, v)
	case "md":
		return doctorMarkdown(w, doc, v)
	case "svg":
		return FindingsMap(doc, v).SVG(w)
	case "html":
		p := v.Page
		FindingsPage(&p, doc, v)
		return p.Write(w)
	}
	p := &doctorPrinter{tracePrinter: tracePrinter{style: s}, short: format == "short", view: v}
	p.head(doc.Report, v)
	if doc.Nodes != nil {
		p.groups(doc)
	} else {
		p.findings(doc.Findings)
	}
	p.mesh(doc.Tunnels)
	if len(doc.Commands) > 0 {
		p.add()
		p.add(Span{"the same by hand", Title})
		for _, c := range doc.Commands {
			p.add(Span{"  " + c, Name})
		}
	}
	if doc.Stats != nil {
		p.add()
		p.add(Span{fmt.Sprintf("%s in all, %s", doc.Stats.Took.Round(time.Microsecond), count(len(doc.Stats.Reads), "read")), Title})
		for _, r := range doc.Stats.Reads {
			p.put(0, 13, Span{fmt.Sprintf("%12s ", r.Took.Round(time.Microsecond)), Faint}, Span{Text: r.What})
		}
	}
	p.next(v.Next)
	return p.flush(w)
}

// mostGaps is how many lines about unknowns come before the findings: a capture may lack most sources.
const mostGaps = 8

type doctorPrinter struct {
	tracePrinter
	short bool
	view  DoctorView
}

// command returns the command of a repair.
func (v DoctorView) command(c *fixes.Call) string {
	if v.Command == nil {
		return c.Command()
	}
	return v.Command(c)
}

// fixWords says what else to know of a repair.
func (v DoctorView) fixWords(c *fixes.Call) string {
	undo := "can be undone"
	if c.OneWay != "" {
		undo = "cannot be undone; " + c.OneWay
	}
	words := fmt.Sprintf("%s risk, %s", c.Risk, undo)
	if v.Saved {
		words += "; live only"
	}
	return words
}

// mostNodes is how many nodes a line names.
const mostNodes = 4

// foundBy returns the check that found something, and on which nodes.
func foundBy(f doctor.Finding) string {
	if nodes := f.Nodes(); len(nodes) > 0 {
		return f.Check + " on " + doctor.AtMost(nodes, mostNodes)
	}
	return f.Check
}

// head prints what is unknown, then the result.
func (p *doctorPrinter) head(r doctor.Report, v DoctorView) {
	all := gaps(r, v.Unread)
	for i, g := range all {
		if i == mostGaps && len(all) > mostGaps+1 {
			p.put(0, 2, Span{fmt.Sprintf("%d more unknown: -o json lists them", len(all)-mostGaps), Warn})
			break
		}
		p.put(0, 2, Span{g.label + ": ", Warn}, Span{Text: g.words()})
	}
	passed := fmt.Sprintf("  %s passed", count(len(r.Passed), "check"))
	if n := needSample(r); n > 0 {
		passed += fmt.Sprintf(", %d more with --sample 15s", n)
	}
	words, look := resultWords(r, v, len(all) > 0)
	p.put(0, 2, Span{words, look}, Span{passed, Faint}, Span{"  " + strings.Join(v.Sources, ", "), Faint})
}

// resultWords returns the result in a few words. Without faults it is "healthy" only if everything was read.
func resultWords(r doctor.Report, v DoctorView, partly bool) (string, Look) {
	errors, warnings := tallyFindings(r.Findings)
	where := ""
	if v.About != "" {
		where = " on the path of " + v.About
	}
	switch {
	case errors > 0:
		return fmt.Sprintf("%s, %s", count(errors, "error"), count(warnings, "warning")), Bad
	case warnings > 0:
		return fmt.Sprintf("%s, %s", count(errors, "error"), count(warnings, "warning")), Warn
	case partly:
		return "no faults in what was read" + where, Plain
	case v.About != "":
		return "no faults" + where, Good
	}
	return "healthy", Good
}

// tallyFindings counts findings, each with its consequences as one, by the worst of them, as the exit code does.
func tallyFindings(findings []doctor.Finding) (errors, warnings int) {
	for i := range findings {
		switch findings[i].Worst() {
		case doctor.Error:
			errors++
		case doctor.Warning:
			warnings++
		}
	}
	return errors, warnings
}

// A missing thing is one that is unknown.
type missing struct {
	label  string // "not read" for a source, "unknown" for what checks needed
	text   string
	checks []string // that needed it
}

const notRead = "not read"

func (g missing) words() string {
	switch n := len(g.checks); {
	case n == 0:
		return g.text
	case n > 3:
		return fmt.Sprintf("%s (%s and %d more checks)", g.text, strings.Join(g.checks[:2], ", "), n-2)
	}
	return fmt.Sprintf("%s (%s)", g.text, strings.Join(g.checks, ", "))
}

// gaps returns the sources that were not read and what checks could not determine, each once. What needs two samples
// is excluded: needSample counts that. Many things that a capture lacks share one line.
func gaps(r doctor.Report, sources []string) []missing {
	var all []missing
	for _, s := range sources {
		all = append(all, missing{label: notRead, text: s})
	}
	objects := unknownObjects(r)
	lacks := 0
	for _, of := range objects {
		if of.lacking {
			lacks++
		}
	}
	for _, f := range r.Findings {
		if f.Result != doctor.Unknown || f.Reason == doctor.NeedsSample {
			continue
		}
		text := f.Title
		switch {
		case f.Reason == doctor.NotInCapture && lacks > mostLacking:
			text = fmt.Sprintf("%d files and replies of nodes are not in this capture: `ovnctl capture` on the nodes saves them, -o json names them", lacks)
		case f.Object.Name != "" && len(objects[f.Title].names) == 1 && !strings.Contains(text, f.Object.Name):
			text = f.Object.String() + ": " + text
		}
		i := slices.IndexFunc(all, func(g missing) bool {
			return g.text == text || g.label == notRead && strings.HasPrefix(g.text, f.Title)
		})
		if i < 0 {
			i, all = len(all), append(all, missing{label: "unknown", text: text})
		}
		if !slices.Contains(all[i].checks, f.Check) {
			all[i].checks = append(all[i].checks, f.Check)
		}
	}
	return all
}

// mostLacking is how many things that a capture lacks are listed individually.
const mostLacking = 2

// unknowns are the objects with something unknown for one reason.
type unknowns struct {
	names   map[string]bool
	lacking bool // the capture lacks it
}

// unknownObjects returns the objects with something unknown, by reason.
func unknownObjects(r doctor.Report) map[string]*unknowns {
	all := map[string]*unknowns{}
	for _, f := range r.Findings {
		if f.Result != doctor.Unknown {
			continue
		}
		if all[f.Title] == nil {
			all[f.Title] = &unknowns{names: map[string]bool{}}
		}
		all[f.Title].names[f.Object.String()] = true
		all[f.Title].lacking = all[f.Title].lacking || f.Reason == doctor.NotInCapture
	}
	return all
}

// needSample returns how many checks need a second sample.
func needSample(r doctor.Report) int {
	checks := map[string]bool{}
	for _, f := range r.Findings {
		if f.Result == doctor.Unknown && f.Reason == doctor.NeedsSample {
			checks[f.Check] = true
		}
	}
	return len(checks)
}

func resultLook(r doctor.Result) Look {
	switch r {
	case doctor.Error:
		return Bad
	case doctor.Warning:
		return Warn
	}
	return Faint
}

func (p *doctorPrinter) findings(all []doctor.Finding) {
	for _, f := range all {
		if f.Result.Fault() {
			p.finding(f)
		}
	}
}

func (p *doctorPrinter) finding(f doctor.Finding) {
	if p.short {
		p.put(0, 2, Span{fmt.Sprintf("%-7s ", f.Result), resultLook(f.Result)}, Span{Text: f.Title}, Span{"  " + foundBy(f), Faint})
		return
	}
	p.add()
	p.put(0, 2, Span{strings.ToUpper(string(f.Result)) + "  ", resultLook(f.Result)}, Span{f.Title, Title}, Span{"  " + foundBy(f), Faint})
	for _, e := range f.Evidence {
		p.labelled("seen", Span{e.Source.String() + ": ", Faint}, Span{Text: e.Says})
	}
	p.sentence("cause", f.Cause)
	p.sentence("breaks", f.Effect)
	if f.Fix != nil {
		p.command(10, p.view.fixWords(f.Fix), Span{"  fix     ", Faint}, Span{p.view.command(f.Fix), Name})
	}
	p.sentence("next", f.Next)
	if len(f.Consequences) > 0 {
		p.put(2, 4, Span{"also caused by this", Faint})
	}
	for _, c := range f.Consequences {
		p.consequence(c, 4)
	}
}

// consequence prints a finding below the one that explains it.
func (p *doctorPrinter) consequence(f doctor.Finding, indent int) {
	p.put(indent, indent+2, Span{string(f.Result) + "  ", resultLook(f.Result)}, Span{Text: f.Title}, Span{"  " + foundBy(f), Faint})
	for _, c := range f.Consequences {
		p.consequence(c, indent+2)
	}
}

func (p *doctorPrinter) sentence(label, text string) {
	if text != "" {
		p.labelled(label, Span{Text: text})
	}
}

// labelled prints a line below a finding's title.
func (p *doctorPrinter) labelled(label string, spans ...Span) {
	p.put(2, 10, slices.Insert(spans, 0, Span{fmt.Sprintf("%-8s", label), Faint})...)
}

func doctorMarkdown(w io.Writer, doc doctor.Document, v DoctorView) error {
	var b strings.Builder
	errors, warnings := tallyFindings(doc.Findings)
	fmt.Fprintf(&b, "## ovnctl doctor: %s, %s\n", count(errors, "error"), count(warnings, "warning"))
	if len(v.Sources) > 0 {
		fmt.Fprintf(&b, "\n%s\n", Markdown(strings.Join(v.Sources, ", ")))
	}
	if all := gaps(doc.Report, v.Unread); len(all) > 0 {
		b.WriteString("\n")
		for _, g := range all {
			fmt.Fprintf(&b, "- %s: %s\n", g.label, Markdown(g.words()))
		}
	}
	if doc.Nodes != nil {
		groupsMarkdown(&b, doc, v)
	} else {
		for _, f := range doc.Findings {
			if f.Result.Fault() {
				findingMarkdown(&b, f, v)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func findingMarkdown(w io.Writer, f doctor.Finding, v DoctorView) {
	fmt.Fprintf(w, "\n### %s: %s\n\n%s\n\n", f.Result, Markdown(f.Title), markdownFoundBy(f))
	detailsMarkdown(w, f)
	if f.Fix != nil {
		fmt.Fprintf(w, "- fix: %s (%s)\n", MarkdownCode(v.command(f.Fix)), Markdown(v.fixWords(f.Fix)))
	}
	consequencesMarkdown(w, f, "")
}

// detailsMarkdown writes what was seen and what it means.
func detailsMarkdown(w io.Writer, f doctor.Finding) {
	for _, e := range f.Evidence {
		fmt.Fprintf(w, "- seen: %s: %s\n", Markdown(e.Source.String()), MarkdownCode(e.Says))
	}
	for _, line := range [][2]string{{"cause", f.Cause}, {"breaks", f.Effect}, {"next", f.Next}} {
		if line[1] != "" {
			fmt.Fprintf(w, "- %s: %s\n", line[0], Markdown(line[1]))
		}
	}
}

// markdownFoundBy is foundBy as Markdown.
func markdownFoundBy(f doctor.Finding) string {
	if nodes := f.Nodes(); len(nodes) > 0 {
		return MarkdownCode(f.Check) + " on " + Markdown(doctor.AtMost(nodes, mostNodes))
	}
	return MarkdownCode(f.Check)
}

func consequencesMarkdown(w io.Writer, f doctor.Finding, indent string) {
	for _, c := range f.Consequences {
		fmt.Fprintf(w, "%s- also caused by this: %s: %s (%s)\n", indent, c.Result, Markdown(c.Title), markdownFoundBy(c))
		consequencesMarkdown(w, c, indent+"  ")
	}
}

// doctorJUnit writes each passed check and each finding as a test case: errors fail, warnings pass with output,
// unknown or not applicable ones are skipped.
func doctorJUnit(w io.Writer, r doctor.Report, v DoctorView) error {
	var cases strings.Builder
	tests, failures, skipped := 0, 0, 0
	begin := func(name, check string) {
		tests++
		fmt.Fprintf(&cases, "  <testcase name=\"%s\" classname=\"%s\">", html.EscapeString(Clean(name)), html.EscapeString(checkCategory(check)))
	}
	end := func() { cases.WriteString("</testcase>\n") }
	for _, name := range r.Passed {
		begin(name, name)
		end()
	}
	var add func(doctor.Finding)
	add = func(f doctor.Finding) {
		title := html.EscapeString(Clean(f.Title))
		begin(junitName(f), f.Check)
		switch f.Result {
		case doctor.Error:
			failures++
			fmt.Fprintf(&cases, "\n    <failure message=\"%s\">%s</failure>\n  ", title, html.EscapeString(v.findingText(f)))
		case doctor.Warning:
			fmt.Fprintf(&cases, "\n    <system-out>%s\n%s</system-out>\n  ", title, html.EscapeString(v.findingText(f)))
		default:
			skipped++
			fmt.Fprintf(&cases, "\n    <skipped message=\"%s\"></skipped>\n  ", title)
		}
		end()
		for _, under := range f.Consequences {
			add(under)
		}
	}
	for _, f := range r.Findings {
		add(f)
	}
	_, err := fmt.Fprintf(w, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"ovnctl doctor\" tests=\"%d\" failures=\"%d\" skipped=\"%d\">\n%s</testsuite>\n", tests, failures, skipped, cases.String())
	return err
}

// junitName names a finding: the same object may be on several nodes.
func junitName(f doctor.Finding) string {
	name := strings.TrimSpace(f.Check + " " + f.Object.Name)
	nodes := f.Nodes()
	if len(nodes) == 0 || f.Object.Kind == "node" {
		return name
	}
	return name + " on " + doctor.AtMost(nodes, mostNodes)
}

func checkCategory(name string) string {
	if c := checks.Find(name); c != nil {
		return c.Category
	}
	return ""
}

// findingText returns a finding without its title, in plain lines.
func (v DoctorView) findingText(f doctor.Finding) string {
	var b strings.Builder
	for _, e := range f.Evidence {
		fmt.Fprintf(&b, "seen: %s: %s\n", Clean(e.Source.String()), Clean(e.Says))
	}
	for _, line := range [][2]string{{"cause", f.Cause}, {"breaks", f.Effect}, {"next", f.Next}} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%s: %s\n", line[0], Clean(line[1]))
		}
	}
	if f.Fix != nil {
		fmt.Fprintf(&b, "fix: %s\n", Clean(v.command(f.Fix)))
	}
	return b.String()
}

// CheckTable lists checks, for `doctor --list-checks`.
func CheckTable(checks []*doctor.Check) *Table {
	t := &Table{Header: []string{"CHECK", "CATEGORY", "FINDS"}}
	for _, c := range checks {
		t.Row(Text(c.Name, Name), Text(c.Category), Text(c.Title()))
	}
	return t
}
