package render

import (
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/doctor/checks"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// DoctorFormats are the formats that [Doctor] knows, the default first.
var DoctorFormats = []string{"table", "short", "json", "yaml", "md", "junit"}

// DoctorDocument is the JSON and YAML form of what the checks found.
type DoctorDocument struct {
	Envelope
	doctor.Report
	// Commands are the classic commands that show the same; only when asked for.
	Commands []string `json:"commands,omitempty"`
	Fixes    []Fix    `json:"fixes,omitempty"` // what --fix did before this report
	// Stats is what was read, only when asked for.
	Stats *DoctorStats `json:"stats,omitzero"`
}

// DoctorStats tell what a report took.
type DoctorStats struct {
	Took  time.Duration   `json:"took"`  // from the first read to the last check, in nanoseconds
	Reads []snapshot.Read `json:"reads"` // the slowest first
}

// DoctorView is what the formats for people show beside the report.
type DoctorView struct {
	About   string   // the objects that were asked about; empty: everything
	Unread  []string // what could not be read
	Sources []string // what was read
	Next    []string // commands to run next
}

// Doctor writes what the checks found in one of [DoctorFormats].
func Doctor(w io.Writer, s Style, format string, doc DoctorDocument, v DoctorView) error {
	switch format {
	case "json", "yaml":
		return Write(w, format, doc)
	case "junit":
		return doctorJUnit(w, doc.Report)
	case "md":
		return doctorMarkdown(w, doc.Report, v)
	}
	p := &doctorPrinter{tracePrinter: tracePrinter{style: s}, short: format == "short"}
	p.head(doc.Report, v)
	for _, f := range doc.Findings {
		if f.Result.Fault() {
			p.finding(f)
		}
	}
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
	if len(v.Next) > 0 {
		p.add()
		for _, n := range v.Next {
			p.add(Span{"next: ", Title}, Span{n, Name})
		}
	}
	for _, line := range p.lines {
		if _, err := fmt.Fprintln(w, s.painted(line)); err != nil {
			return err
		}
	}
	return nil
}

// mostUnread is how many lines about what could not be told stand before the
// findings: saved data may lack most of what there is.
const mostUnread = 8

type doctorPrinter struct {
	tracePrinter
	short bool
}

// head says first what is not known, then what came of it.
func (p *doctorPrinter) head(r doctor.Report, v DoctorView) {
	lines := unread(r, v.Unread)
	for i, u := range lines {
		if i == mostUnread && len(lines) > mostUnread+1 {
			p.put(0, 2, Span{fmt.Sprintf("could not tell %d things more: -o json has them all", len(lines)-mostUnread), Warn})
			break
		}
		p.put(0, 2, Span{"could not tell: ", Warn}, Span{Text: u})
	}
	errors, warnings := tallyFindings(r.Findings)
	words, look := "healthy", Good
	switch {
	case len(lines) > 0 && v.About != "":
		words, look = "nothing that was read is wrong on the way of "+v.About, Plain
	case len(lines) > 0:
		words, look = "nothing that was read is wrong", Plain
	case v.About != "":
		words = "nothing is wrong on the way of " + v.About
	}
	if errors+warnings > 0 {
		words, look = fmt.Sprintf("%s, %s", count(errors, "error"), count(warnings, "warning")), Warn
		if errors > 0 {
			look = Bad
		}
	}
	passed := fmt.Sprintf("  %s passed", count(len(r.Passed), "check"))
	if n := takeTwo(r); n > 0 {
		passed += fmt.Sprintf(", %d more with --sample 15s", n)
	}
	p.put(0, 2, Span{words, look}, Span{passed, Faint},
		Span{"  " + strings.Join(v.Sources, ", "), Faint})
}

// tallyFindings counts those at the top: a consequence is not a fault of its own.
func tallyFindings(findings []doctor.Finding) (errors, warnings int) {
	for _, f := range findings {
		switch f.Result {
		case doctor.Error:
			errors++
		case doctor.Warning:
			warnings++
		}
	}
	return errors, warnings
}

// unread is what could not be read and what could not be told for that or another
// reason, each once, with the checks that wanted it. What takes two looks is not
// among it: takeTwo counts that. A source that lacks many things is one line.
func unread(r doctor.Report, lines []string) []string {
	var order []string
	checks := map[string][]string{}
	lacks, objects := lacking(r), unknownObjects(r)
	for _, f := range r.Findings {
		if f.Result != doctor.Unknown || f.Title == snapshot.ErrNoSample.Error() {
			continue
		}
		text := f.Title
		if isLacking(f) && len(lacks) > mostLacking {
			text = fmt.Sprintf("%d files and answers of nodes that checks look at are not in this source: `ovnctl capture` on the nodes saves them all, -o json names them", len(lacks))
			f.Object = doctor.Object{}
		}
		if i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, text) }); i >= 0 {
			text = lines[i] // said once for all
		} else if f.Object.Name != "" && len(objects[f.Title]) == 1 && !strings.Contains(text, f.Object.Name) {
			text = f.Object.String() + ": " + text
		}
		if checks[text] == nil {
			order = append(order, text)
		}
		if !slices.Contains(checks[text], f.Check) {
			checks[text] = append(checks[text], f.Check)
		}
	}
	out := slices.Clone(lines)
	for _, text := range order {
		who := strings.Join(checks[text], ", ")
		if len(checks[text]) > 3 {
			who = fmt.Sprintf("%s and %d more checks", strings.Join(checks[text][:2], ", "), len(checks[text])-2)
		}
		with := fmt.Sprintf("%s (%s)", text, who)
		if i := slices.Index(out, text); i >= 0 {
			out[i] = with
			continue
		}
		out = append(out, with)
	}
	return out
}

// unknownObjects are the objects of which nothing could be told, by the reason.
func unknownObjects(r doctor.Report) map[string]map[string]bool {
	objects := map[string]map[string]bool{}
	for _, f := range r.Findings {
		if f.Result != doctor.Unknown {
			continue
		}
		if objects[f.Title] == nil {
			objects[f.Title] = map[string]bool{}
		}
		objects[f.Title][f.Object.String()] = true
	}
	return objects
}

// mostLacking is how many things that a source does not hold are named one by one.
const mostLacking = 2

// lacking are the things that checks wanted and the source does not hold.
func lacking(r doctor.Report) map[string]bool {
	titles := map[string]bool{}
	for _, f := range r.Findings {
		if isLacking(f) {
			titles[f.Title] = true
		}
	}
	return titles
}

func isLacking(f doctor.Finding) bool {
	return f.Result == doctor.Unknown && strings.HasSuffix(f.Title, snapshot.ErrUnavailable.Error())
}

// takeTwo are the checks that need a second look.
func takeTwo(r doctor.Report) int {
	checks := map[string]bool{}
	for _, f := range r.Findings {
		if f.Result == doctor.Unknown && f.Title == snapshot.ErrNoSample.Error() {
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

func (p *doctorPrinter) finding(f doctor.Finding) {
	if p.short {
		p.put(0, 2, Span{fmt.Sprintf("%-7s ", f.Result), resultLook(f.Result)}, Span{Text: f.Title}, Span{"  " + f.Check, Faint})
		return
	}
	p.add()
	p.put(0, 2, Span{strings.ToUpper(string(f.Result)) + "  ", resultLook(f.Result)}, Span{f.Title, Title}, Span{"  " + f.Check, Faint})
	for _, e := range f.Evidence {
		p.labelled("seen", Span{e.Source.String() + ": ", Faint}, Span{Text: e.Says})
	}
	p.sentence("cause", f.Cause)
	p.sentence("breaks", f.Effect)
	if f.Fix != nil {
		p.labelled("fix", Span{FixCommand(f.Fix), Name}, Span{"  " + fixWords(f.Fix), Faint})
	}
	p.sentence("next", f.Next)
	for i, c := range f.Consequences {
		label := ""
		if i == 0 {
			label = "so also"
		}
		p.consequence(label, c, 0)
	}
}

// consequence is a finding under the one that explains it.
func (p *doctorPrinter) consequence(label string, f doctor.Finding, depth int) {
	p.labelled(label, Span{Text: strings.Repeat("  ", depth)}, Span{string(f.Result) + "  ", resultLook(f.Result)}, Span{Text: f.Title}, Span{"  " + f.Check, Faint})
	for _, c := range f.Consequences {
		p.consequence("", c, depth+1)
	}
}

func (p *doctorPrinter) sentence(label, text string) {
	if text != "" {
		p.labelled(label, Span{Text: text})
	}
}

// labelled is a line below a finding's title.
func (p *doctorPrinter) labelled(label string, spans ...Span) {
	p.put(2, 10, slices.Insert(spans, 0, Span{fmt.Sprintf("%-8s", label), Faint})...)
}

// FixCommand is the command that carries a call out, as a shell takes it.
func FixCommand(c *fixes.Call) string {
	words := []string{"ovnctl", "fix", c.Repair}
	for _, a := range c.Args {
		words = append(words, fixes.Word(a))
	}
	if c.Risk == fixes.High { // more than is done without being asked for
		words = append(words, "--max-risk", string(c.Risk))
	}
	return strings.Join(words, " ")
}

func fixWords(c *fixes.Call) string {
	undo := "can be undone"
	if c.OneWay != "" {
		undo = "one way: " + c.OneWay
	}
	return fmt.Sprintf("%s risk, %s", c.Risk, undo)
}

func doctorMarkdown(w io.Writer, r doctor.Report, v DoctorView) error {
	var b strings.Builder
	errors, warnings := tallyFindings(r.Findings)
	fmt.Fprintf(&b, "## ovnctl doctor: %s, %s\n", count(errors, "error"), count(warnings, "warning"))
	if len(v.Sources) > 0 {
		fmt.Fprintf(&b, "\n%s\n", Markdown(strings.Join(v.Sources, ", ")))
	}
	if lines := unread(r, v.Unread); len(lines) > 0 {
		b.WriteString("\n")
		for _, u := range lines {
			fmt.Fprintf(&b, "- could not tell: %s\n", Markdown(u))
		}
	}
	for _, f := range r.Findings {
		if !f.Result.Fault() {
			continue
		}
		fmt.Fprintf(&b, "\n### %s: %s\n\n%s\n\n", f.Result, Markdown(f.Title), MarkdownCode(f.Check))
		for _, e := range f.Evidence {
			fmt.Fprintf(&b, "- seen: %s: %s\n", Markdown(e.Source.String()), MarkdownCode(e.Says))
		}
		for _, line := range [][2]string{{"cause", f.Cause}, {"breaks", f.Effect}, {"next", f.Next}} {
			if line[1] != "" {
				fmt.Fprintf(&b, "- %s: %s\n", line[0], Markdown(line[1]))
			}
		}
		if f.Fix != nil {
			fmt.Fprintf(&b, "- fix: %s (%s)\n", MarkdownCode(FixCommand(f.Fix)), Markdown(fixWords(f.Fix)))
		}
		consequencesMarkdown(&b, f, "")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func consequencesMarkdown(b *strings.Builder, f doctor.Finding, indent string) {
	for _, c := range f.Consequences {
		fmt.Fprintf(b, "%s- so also: %s: %s (%s)\n", indent, c.Result, Markdown(c.Title), MarkdownCode(c.Check))
		consequencesMarkdown(b, c, indent+"  ")
	}
}

// The elements of a JUnit report, as CI servers read it.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Failure *junitMessage `xml:"failure"`
	Skipped *junitMessage `xml:"skipped"`
	Output  string        `xml:"system-out,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// doctorJUnit writes each check that passed and each finding as a test case: errors
// fail, warnings pass with output, what is unknown or cannot apply is skipped.
func doctorJUnit(w io.Writer, r doctor.Report) error {
	suite := junitSuite{Name: "ovnctl doctor"}
	for _, name := range r.Passed {
		suite.Cases = append(suite.Cases, junitCase{Name: Clean(name), Class: checkCategory(name)})
	}
	var add func(doctor.Finding)
	add = func(f doctor.Finding) {
		c := junitCase{Name: Clean(strings.TrimSpace(f.Check + " " + f.Object.Name)), Class: checkCategory(f.Check)}
		switch f.Result {
		case doctor.Error:
			suite.Failures++
			c.Failure = &junitMessage{Message: Clean(f.Title), Text: findingText(f)}
		case doctor.Warning:
			c.Output = Clean(f.Title) + "\n" + findingText(f)
		default:
			suite.Skipped++
			c.Skipped = &junitMessage{Message: Clean(f.Title)}
		}
		suite.Cases = append(suite.Cases, c)
		for _, under := range f.Consequences {
			add(under)
		}
	}
	for _, f := range r.Findings {
		add(f)
	}
	suite.Tests = len(suite.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func checkCategory(name string) string {
	if c := checks.Find(name); c != nil {
		return c.Category
	}
	return ""
}

// findingText is a finding below its title, in plain lines.
func findingText(f doctor.Finding) string {
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
		fmt.Fprintf(&b, "fix: %s\n", Clean(FixCommand(f.Fix)))
	}
	return b.String()
}

// CheckTable lists checks: what `doctor --list-checks` prints.
func CheckTable(checks []*doctor.Check) *Table {
	t := &Table{Header: []string{"CHECK", "CATEGORY", "FINDS"}}
	for _, c := range checks {
		t.Row(Text(c.Name, Name), Text(c.Category), Text(c.Title()))
	}
	return t
}
