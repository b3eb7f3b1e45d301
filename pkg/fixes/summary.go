package fixes

import "github.com/ovnctl/ovnctl/pkg/document"

// A PlanSummary is a plan for display.
type PlanSummary struct {
	Title    string        `json:"title"`
	Host     string        `json:"host,omitempty"` // the changed host; absent if only databases change
	Touches  string        `json:"touches,omitempty"`
	Warnings []string      `json:"warnings"`
	Cuts     bool          `json:"cuts"` // it can cut the operator off, and runs under the watchdog
	Steps    []StepSummary `json:"steps"`
	NoUndo   string        `json:"noUndo,omitempty"` // why undo refuses, although each step could be undone
}

// A StepSummary is a step of a plan.
type StepSummary struct {
	What     string   `json:"what"`
	Diff     []string `json:"diff"`             // lines starting with "-" or "+", or a blank for context
	Commands []string `json:"commands"`         // the classic commands that do the same
	OneWay   string   `json:"oneWay,omitempty"` // why it cannot be undone

	on    []string // what it changes, to find two steps on one thing
	lasts bool     // it outlasts a boot of the host
}

// Summary returns the plan for display.
func (p *Plan) Summary() *PlanSummary {
	out := &PlanSummary{
		Title: p.Title, Host: p.Host, Touches: p.Touches, Warnings: list(p.Warnings), Cuts: p.Cuts, NoUndo: p.NoUndo, Steps: []StepSummary{},
	}
	for _, s := range p.Steps {
		step := s.Summary()
		step.Diff, step.Commands = list(step.Diff), list(step.Commands)
		out.Steps = append(out.Steps, step)
	}
	return out
}

// UndoPlan returns the plan of undoing a run.
func (r *Run) UndoPlan() *PlanSummary {
	out := &PlanSummary{Title: "undo: " + r.Title, Host: r.Host, Warnings: []string{}, Cuts: r.Cuts, Steps: []StepSummary{}}
	steps := r.Describe()
	for i := range steps {
		out.Steps = append(out.Steps, StepSummary{What: "undo: " + steps[len(steps)-1-i], Diff: []string{}, Commands: []string{}})
	}
	return out
}

// A RepairSummary is a repair in a list.
type RepairSummary struct {
	Name      string   `json:"name"`
	Title     string   `json:"title"`
	Arguments []Param  `json:"arguments"`
	Class     Class    `json:"class"`
	Risk      Risk     `json:"risk"`
	Checks    []string `json:"checks"` // whose findings it fixes
	OneWay    string   `json:"oneWay,omitempty"`
}

// Summary returns the repair for a list.
func (r *Repair) Summary() RepairSummary {
	return RepairSummary{Name: r.Name, Title: r.Title(), Arguments: list(r.Params), Class: r.Class, Risk: r.Risk, Checks: r.checks(), OneWay: r.OneWay}
}

// A RunSummary is a run of the journal in a list.
type RunSummary struct {
	ID     int      `json:"id"`
	Time   string   `json:"time"` // of its last event, RFC 3339
	Repair string   `json:"repair"`
	Args   []string `json:"args"`
	Title  string   `json:"title"`
	State  State    `json:"state"`            // the last one
	Open   bool     `json:"open"`             // interrupted: the next run finishes it or rolls it back
	Reason Reason   `json:"reason,omitempty"` // why it was undone
	Why    string   `json:"why,omitempty"`    // in words
	Steps  []string `json:"steps"`
	Damage string   `json:"damage,omitempty"` // why it can only be read: a line of its file, or it is another host's
}

// Summary returns the run for a list.
func (r *Run) Summary() RunSummary {
	damage := ""
	if r.Damage != nil {
		damage = r.Damage.Error()
	}
	return RunSummary{
		Damage: damage, ID: r.ID, Time: r.When(), Repair: r.Repair, Args: list(r.Args), Title: r.Title,
		State: r.State(), Open: r.Open(), Reason: r.Reason(), Why: r.Why(), Steps: list(r.Describe()),
	}
}

// list is never null in JSON.
func list[T any](all []T) []T { return append([]T{}, all...) }

// A Document is the JSON and YAML form of repairs: each with its plan and outcome.
type Document struct {
	document.Envelope
	Fixes []Fix `json:"fixes"`
}

// A RepairsDocument is the JSON and YAML form of the list of repairs.
type RepairsDocument struct {
	document.Envelope
	Repairs []RepairSummary `json:"repairs"`
}

// NewRepairsDocument lists repairs.
func NewRepairsDocument(all []*Repair) RepairsDocument {
	doc := RepairsDocument{Envelope: document.New("Repairs", nil, nil), Repairs: []RepairSummary{}}
	for _, r := range all {
		doc.Repairs = append(doc.Repairs, r.Summary())
	}
	return doc
}

// A JournalDocument is the JSON and YAML form of the journal.
type JournalDocument struct {
	document.Envelope
	Runs []RunSummary `json:"runs"`
}

// NewJournalDocument lists runs.
func NewJournalDocument(runs []*Run) JournalDocument {
	doc := JournalDocument{Envelope: document.New("Journal", nil, nil), Runs: []RunSummary{}}
	for _, r := range runs {
		doc.Runs = append(doc.Runs, r.Summary())
	}
	return doc
}
