package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/fixes"
)

// FixFormats are the formats of fix, the default first.
var FixFormats = []string{"table", "json", "yaml"}

// How much of a step's diff is shown as text: a database file has lines of a megabyte.
const (
	longestDiff = 100
	widestDiff  = 400
)

// Plan writes a plan as text. undo is the command that undoes it.
func Plan(w io.Writer, s Style, c *fixes.Call, p *fixes.PlanSummary, undo string) error {
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
			out.command(9, "", Span{"     $ ", Faint}, Span{command, Name})
		}
		if step.OneWay != "" {
			out.put(5, 7, Span{"cannot be undone: ", Warn}, Span{Text: step.OneWay})
		}
	}
	out.labelled("risk", Span{string(c.Risk), riskLook(c.Risk)}, Span{Text: undoWords(p, undo)})
	out.sentence("touches", p.Touches)
	for _, text := range p.Warnings {
		out.labelled("note", Span{text, Warn})
	}
	if p.Cuts {
		out.labelled("watch", Span{Text: "this can cut the host off: a watchdog rolls it back unless it is confirmed"})
	}
	return out.flush(w)
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

func undoWords(p *fixes.PlanSummary, undo string) string {
	if p.NoUndo != "" {
		return ", cannot be undone; " + p.NoUndo
	}
	for _, step := range p.Steps {
		if step.OneWay != "" {
			return ", cannot be undone"
		}
	}
	return ", can be undone: " + undo
}

// Outcome writes the result of a repair as text. undo is the command that undoes a run, before its number.
func Outcome(w io.Writer, s Style, o fixes.Outcome, undo string) error {
	out := &doctorPrinter{tracePrinter: tracePrinter{style: s}}
	words := []Span{{strings.ToUpper(string(o.State)), repairLook(o.State)}}
	why, rest, _ := strings.Cut(o.Why, "\n")
	if why != "" {
		words = append(words, Span{Text: "  " + why})
	}
	out.put(0, 2, words...)
	for line := range strings.SplitSeq(rest, "\n") {
		if line != "" {
			out.put(2, 4, Span{Text: line})
		}
	}
	for _, text := range o.Before {
		out.labelled("before", Span{Text: text})
	}
	for _, text := range o.After {
		out.labelled("after", Span{Text: text})
	}
	switch {
	case o.State != fixes.OutcomeFixed || o.Run == 0:
	case o.OneWay != "":
		out.labelled("undo", Span{Text: "cannot be undone; " + o.OneWay})
	default:
		out.labelled("undo", Span{fmt.Sprintf("%s %d", undo, o.Run), Name})
	}
	return out.flush(w)
}

func repairLook(s fixes.OutcomeState) Look {
	switch {
	case s.Bad():
		return Bad
	case s == fixes.OutcomePlanned || s == fixes.OutcomeDeclined:
		return Faint
	}
	return Good
}

// Repairs lists repairs: in a table where there is room for one, else on two lines each.
func Repairs(w io.Writer, s Style, all []*fixes.Repair) error {
	t := repairTable(all)
	if s.Width == 0 || t.width() <= s.Width {
		return WriteTables(w, s, false, t)
	}
	out := &tracePrinter{style: s}
	for _, r := range all {
		undo := "can be undone"
		if r.OneWay != "" {
			undo = "cannot be undone"
		}
		out.command(4, string(r.Risk)+" risk, "+undo, Span{r.Name, Name}, Span{Text: strings.TrimRight(" "+r.Usage(), " ")})
		out.text(4, r.Title(), Plain)
	}
	return out.flush(w)
}

func repairTable(all []*fixes.Repair) *Table {
	t := &Table{Header: []string{"NAME", "ARGUMENTS", "WHAT IT DOES", "CLASS", "RISK", "UNDO"}}
	for _, r := range all {
		undo := "yes"
		if r.OneWay != "" {
			undo = "no: " + r.OneWay
		}
		t.Row(Text(r.Name, Name), Text(r.Usage()), Text(r.Title()), Text(string(r.Class)), Text(string(r.Risk), riskLook(r.Risk)), Text(undo))
	}
	return t
}

// RunTable lists the runs of the journal.
func RunTable(runs []*fixes.Run) *Table {
	t := &Table{Header: []string{"RUN", "WHEN", "REPAIR", "WHAT", "STATE", "WHY"}}
	for _, r := range runs {
		state, why := Text(string(r.State()), Good), r.Why()
		switch {
		case r.Damage != nil:
			state, why = Text("read only", Bad), r.Damage.Error()
		case r.Open():
			state = Text("cut off", Bad)
		case r.State() == fixes.Stuck:
			state = Text("stuck", Bad)
		case r.State() == fixes.Undone:
			state = Text("undone", Faint)
		}
		t.Row(
			Text(fmt.Sprint(r.ID)), Text(stamp(r.When())), Text(strings.Join(append([]string{r.Repair}, r.Args...), " "), Name), Text(r.Title), state, Text(why),
		)
	}
	return t
}

// stamp returns a time of RFC 3339 in whole seconds and UTC.
func stamp(text string) string {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return "unknown"
	}
	return at.UTC().Format(time.RFC3339)
}

// Undo writes as text what undoing a run does.
func Undo(w io.Writer, s Style, r *fixes.Run, p *fixes.PlanSummary) error {
	out := &doctorPrinter{tracePrinter: tracePrinter{style: s}}
	out.put(0, 2, Span{"UNDO  ", Title}, Span{fmt.Sprintf("run %d: %s", r.ID, r.Title), Title}, Span{"  of " + stamp(r.When()), Faint})
	for i, step := range p.Steps {
		out.put(2, 5, Span{fmt.Sprintf("%d. ", i+1), Faint}, Span{Text: step.What})
	}
	for _, warning := range p.Warnings {
		out.put(2, 4, Span{"! ", Bad}, Span{Text: warning})
	}
	return out.flush(w)
}
