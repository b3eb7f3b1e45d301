package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
)

// FixFormats are the formats of fix, the default first.
var FixFormats = []string{"table", "json", "yaml"}

// FixDocument is the JSON and YAML form of repairs: each with its plan and what
// came of it.
type FixDocument struct {
	Envelope
	Fixes []Fix `json:"fixes"`
}

// A Fix is one repair and what came of it.
type Fix struct {
	Call    *fixes.Call `json:"call,omitzero"`
	Plan    *FixPlan    `json:"plan,omitzero"`
	Outcome FixOutcome  `json:"outcome"`
}

// FixPlan is a plan as it is shown.
type FixPlan struct {
	Title    string    `json:"title"`
	Host     string    `json:"host,omitempty"` // that is changed; absent: databases alone
	Touches  string    `json:"touches,omitempty"`
	Warnings []string  `json:"warnings"`
	Cuts     bool      `json:"cuts"` // it can cut the operator off, and runs under the watchdog
	Steps    []FixStep `json:"steps"`
	NoUndo   string    `json:"noUndo,omitempty"` // why it is not to be undone, though its steps could
}

// FixStep is a step of a plan.
type FixStep struct {
	What     string   `json:"what"`
	Diff     []string `json:"diff"`     // lines that begin with "-" or "+", or a blank for what is around them
	Commands []string `json:"commands"` // the classic commands that do the same
	OneWay   string   `json:"oneWay,omitempty"`
}

// FixOutcome is what came of a repair.
type FixOutcome struct {
	// State is "planned" (--dry-run), "declined", "refused", "fixed", "undone", "rolled back" or
	// "failed".
	State  string   `json:"state"`
	Run    int      `json:"run,omitempty"`    // in the journal, for fix undo
	OneWay string   `json:"oneWay,omitempty"` // why fix undo does not take it back
	Why    string   `json:"why,omitempty"`    // it was refused, rolled back, or failed
	Before []string `json:"before,omitempty"` // what the check found before
	After  []string `json:"after,omitempty"`  // and after
}

// PlanOf is a plan as it is shown.
func PlanOf(p *fixes.Plan) *FixPlan {
	out := &FixPlan{Title: p.Title, Host: p.Host, Touches: p.Touches, Warnings: append([]string{}, p.Warnings...), Cuts: p.Cuts, NoUndo: p.NoUndo}
	for _, s := range p.Steps {
		out.Steps = append(out.Steps, FixStep{s.String(), append([]string{}, s.Diff()...), append([]string{}, s.Commands()...), s.OneWay()})
	}
	return out
}

// What of a step's changes is shown as text: a database file has lines of a megabyte.
const (
	longestDiff = 100
	widestDiff  = 400
)

// Plan writes a plan as text.
func Plan(w io.Writer, s Style, c *fixes.Call, p *FixPlan) error {
	out := &doctorPrinter{tracePrinter: tracePrinter{style: s}}
	where := ""
	if p.Host != "" {
		where = "  on " + p.Host
	}
	out.put(0, 2, Span{"PLAN  ", Title}, Span{p.Title, Title}, Span{where, Faint})
	for i, step := range p.Steps {
		out.put(2, 5, Span{fmt.Sprintf("%d. ", i+1), Faint}, Span{Text: step.What})
		for j, line := range step.Diff {
			if j == longestDiff && len(step.Diff) > longestDiff+1 {
				out.put(5, 7, Span{fmt.Sprintf("… and %d more lines; -o json has them all", len(step.Diff)-longestDiff), Faint})
				break
			}
			if r := []rune(line); len(r) > widestDiff {
				line = string(r[:widestDiff]) + "…"
			}
			look := Faint
			switch {
			case strings.HasPrefix(line, "+"):
				look = Good
			case strings.HasPrefix(line, "-"):
				look = Bad
			}
			out.put(5, 7, Span{line, look})
		}
		for _, command := range step.Commands {
			out.put(5, 9, Span{"$ ", Faint}, Span{command, Name})
		}
		if step.OneWay != "" {
			out.put(5, 7, Span{"one way: ", Warn}, Span{Text: step.OneWay})
		}
	}
	out.labelled("risk", Span{string(c.Risk), riskLook(c.Risk)}, Span{Text: undoWords(p)})
	out.sentence("touches", p.Touches)
	for _, text := range p.Warnings {
		out.labelled("note", Span{text, Warn})
	}
	if p.Cuts {
		out.labelled("watch", Span{Text: "this can cut the host off: a watchdog takes it back unless it is confirmed"})
	}
	for _, line := range out.lines {
		if _, err := fmt.Fprintln(w, s.painted(line)); err != nil {
			return err
		}
	}
	return nil
}

func riskLook(r fixes.Risk) Look {
	switch r {
	case fixes.High:
		return Bad
	case fixes.Medium:
		return Warn
	}
	return Good
}

func undoWords(p *FixPlan) string {
	if p.NoUndo != "" {
		return ", not undone: " + p.NoUndo
	}
	for _, step := range p.Steps {
		if step.OneWay != "" {
			return ", cannot be undone"
		}
	}
	return ", can be undone: ovnctl fix undo"
}

// Outcome writes what came of a repair as text.
func Outcome(w io.Writer, s Style, o FixOutcome) error {
	out := &doctorPrinter{tracePrinter: tracePrinter{style: s}}
	look := Good
	switch o.State {
	case "fixed", "undone":
	case "planned", "declined":
		look = Faint
	default:
		look = Bad
	}
	words := []Span{{strings.ToUpper(o.State), look}}
	if o.Why != "" {
		first, rest, _ := strings.Cut(o.Why, "\n")
		words = append(words, Span{Text: "  " + first})
		out.put(0, 2, words...)
		for line := range strings.SplitSeq(rest, "\n") {
			if line != "" {
				out.put(2, 4, Span{Text: line})
			}
		}
	} else {
		out.put(0, 2, words...)
	}
	for _, text := range o.Before {
		out.labelled("before", Span{Text: text})
	}
	for _, text := range o.After {
		out.labelled("after", Span{Text: text})
	}
	switch {
	case o.State != "fixed" || o.Run == 0:
	case o.OneWay != "":
		out.labelled("undo", Span{Text: "no: " + o.OneWay})
	default:
		out.labelled("undo", Span{fmt.Sprintf("ovnctl fix undo %d", o.Run), Name})
	}
	for _, line := range out.lines {
		if _, err := fmt.Fprintln(w, s.painted(line)); err != nil {
			return err
		}
	}
	return nil
}

// RepairTable lists repairs.
func RepairTable(all []*fixes.Repair) *Table {
	t := &Table{Header: []string{"NAME", "ARGUMENTS", "WHAT IT DOES", "CLASS", "RISK", "UNDO"}}
	for _, r := range all {
		undo := "yes"
		if r.OneWay != "" {
			undo = "no: " + r.OneWay
		}
		t.Row(Text(r.Name, Name), Text(Usage(r)), Text(r.Title()), Text(string(r.Class)), Text(string(r.Risk), riskLook(r.Risk)), Text(undo))
	}
	return t
}

// Usage is the arguments of a repair as its help names them.
func Usage(r *fixes.Repair) string {
	var words []string
	for _, p := range r.Params {
		word := p.Name
		if p.Optional {
			word = "[" + word + "]"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// RunTable lists what the journal has.
func RunTable(runs []*fixes.Run) *Table {
	t := &Table{Header: []string{"RUN", "WHEN", "REPAIR", "WHAT", "STATE", "WHY"}}
	for _, r := range runs {
		state := Text(string(r.State()), Good)
		switch {
		case r.Open():
			state = Text("cut off", Bad)
		case r.State() == fixes.Stuck:
			state = Text("stuck", Bad)
		case r.State() == fixes.Undone:
			state = Text("undone", Faint)
		}
		t.Row(
			Text(fmt.Sprint(r.ID)), Text(r.When()[:19]+"Z"), Text(strings.Join(append([]string{r.Repair}, r.Args...), " "), Name), Text(r.Title), state, Text(r.Why()),
		)
	}
	return t
}

// RepairsDocument is the JSON and YAML form of the list of repairs.
type RepairsDocument struct {
	Envelope
	Repairs []Repair `json:"repairs"`
}

// Repair is a repair of the list.
type Repair struct {
	Name      string        `json:"name"`
	Title     string        `json:"title"`
	Arguments []RepairParam `json:"arguments"`
	Class     fixes.Class   `json:"class"`
	Risk      fixes.Risk    `json:"risk"`
	Checks    []string      `json:"checks"` // whose findings it mends
	OneWay    string        `json:"oneWay,omitempty"`
}

// RepairParam is an argument of a repair.
type RepairParam struct {
	Name     string `json:"name"`
	Doc      string `json:"doc"`
	Optional bool   `json:"optional"`
}

// NewRepairsDocument lists repairs.
func NewRepairsDocument(all []*fixes.Repair) RepairsDocument {
	doc := RepairsDocument{Envelope: NewEnvelope("Repairs", nil, nil), Repairs: []Repair{}}
	for _, r := range all {
		out := Repair{Name: r.Name, Title: r.Title(), Arguments: []RepairParam{}, Class: r.Class, Risk: r.Risk, Checks: append([]string{r.Check}, r.Also...), OneWay: r.OneWay}
		for _, p := range r.Params {
			out.Arguments = append(out.Arguments, RepairParam(p))
		}
		doc.Repairs = append(doc.Repairs, out)
	}
	return doc
}

// JournalDocument is the JSON and YAML form of the journal.
type JournalDocument struct {
	Envelope
	Runs []JournalRun `json:"runs"`
}

// JournalRun is a run of the journal.
type JournalRun struct {
	ID     int      `json:"id"`
	Time   string   `json:"time"` // of its last event, RFC 3339
	Repair string   `json:"repair"`
	Args   []string `json:"args"`
	Title  string   `json:"title"`
	State  string   `json:"state"` // the last one
	Open   bool     `json:"open"`  // it was cut off: the next run finishes it or takes it back
	Why    string   `json:"why,omitempty"`
	Steps  []string `json:"steps"`
}

// NewJournalDocument lists runs.
func NewJournalDocument(runs []*fixes.Run) JournalDocument {
	doc := JournalDocument{Envelope: NewEnvelope("Journal", nil, nil), Runs: []JournalRun{}}
	for _, r := range runs {
		doc.Runs = append(doc.Runs, JournalRun{
			ID: r.ID, Time: r.When(), Repair: r.Repair, Args: append([]string{}, r.Args...), Title: r.Title,
			State: string(r.State()), Open: r.Open(), Why: r.Why(), Steps: append([]string{}, r.Describe()...),
		})
	}
	return doc
}

// UndoOf is a run as the plan of taking it back.
func UndoOf(r *fixes.Run) *FixPlan {
	p := &FixPlan{Title: "take back: " + r.Title, Host: r.Host, Warnings: []string{}, Steps: []FixStep{}}
	steps := r.Describe()
	for i := range steps {
		p.Steps = append(p.Steps, FixStep{What: "take back: " + steps[len(steps)-1-i], Diff: []string{}, Commands: []string{}})
	}
	return p
}

// Undo writes as text what taking back a run means.
func Undo(w io.Writer, s Style, r *fixes.Run) error {
	out := &doctorPrinter{tracePrinter: tracePrinter{style: s}}
	out.put(0, 2, Span{"UNDO  ", Title}, Span{fmt.Sprintf("run %d: %s", r.ID, r.Title), Title}, Span{"  of " + r.When()[:19] + "Z", Faint})
	steps := r.Describe()
	for i := range steps {
		out.put(2, 5, Span{fmt.Sprintf("%d. take back: ", i+1), Faint}, Span{Text: steps[len(steps)-1-i]})
	}
	for _, line := range out.lines {
		if _, err := fmt.Fprintln(w, s.painted(line)); err != nil {
			return err
		}
	}
	return nil
}
