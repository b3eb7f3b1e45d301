package fixes

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// A Plan is what a repair will do, in this order.
type Plan struct {
	Title string // "add the uplink eth0 to bridge br-ex"
	// Host is the changed host, by name; empty if only databases change.
	Host  string
	Steps []Step
	// Touches is the affected traffic, a sentence without period.
	Touches string
	// Warnings name who will overwrite it, and what will bring the fault back.
	Warnings []string
	// NoUndo is why undo refuses although each step could be undone: what was
	// removed comes back by itself.
	NoUndo string
	// Cuts means it can cut the operator off, and runs under the watchdog.
	Cuts bool
}

// OneWay returns why a plan cannot be undone; empty if it can.
func (p *Plan) OneWay() string {
	if p.NoUndo != "" {
		return p.NoUndo
	}
	for _, s := range p.Steps {
		if why := s.Summary().OneWay; why != "" {
			return why
		}
	}
	return ""
}

// A Step is one change. The steps are Rows, File, Network, Sysctl, Service,
// Control, Await, Module, Offload and Convert. A step reads the state each time, and
// ends with its context.
type Step interface {
	Summary() StepSummary
	// look returns how far it has come and, of moved, what is not as expected.
	look(ctx context.Context, t *Target) (stage, string, error)
	// do carries it out. What an interrupted run has already done stays.
	do(ctx context.Context, t *Target) error
	// undo undoes whatever was done of it. It is not called for a step that cannot be undone.
	undo(ctx context.Context, t *Target) error
}

// A stage is how far a step has come, as the present state shows.
type stage string

const (
	untouched stage = "as before"         // as the plan found it: do can run
	halfDone  stage = "half done"         // in part: both do and undo can run
	done      stage = "done"              // as do leaves it: undo can run
	moved     stage = "changed meanwhile" // somebody else changed it: neither can run
	unseen    stage = "unknown"           // no state shows it, e.g. for a command that was sent
)

// Rows changes rows of one database in one transaction, which fails unless all
// rows are as in Before and Guards.
type Rows struct {
	DB      string // OVN_Northbound, OVN_Southbound or Open_vSwitch
	Zone    string
	Changes []Change
	Guards  []Guard // on rows that do not change
	What    string  // "delete the stale MAC binding of 10.0.0.1"
	Classic []string

	Chosen bool // the UUIDs of new rows are ovnctl's own choice, not the server's
}

// A Change is one row. Without Before it is inserted, without After deleted.
type Change struct {
	Table  string
	UUID   ovsdb.UUID // of an inserted row: Named, for the others to refer to, or empty
	Before Row        // changed columns as they were; for a deleted row all of them
	After  Row
	In     []Ref // references to a row that is inserted or deleted
}

// A Row holds values of columns as pkg/ovsdb takes them: string, int, bool,
// float64, ovsdb.UUID, or slices and maps of these. COLUMN:KEY is the value of one
// key of a map, nil if it has none; the other keys may change meanwhile.
type Row map[string]any

// A Ref is a column of a row that holds the UUIDs of others.
type Ref struct {
	Table  string
	UUID   ovsdb.UUID
	Column string
}

// A Guard is a row that must have these columns, or with nil Columns must exist.
type Guard struct {
	Table   string
	UUID    ovsdb.UUID
	Columns Row
}

// File changes a file of the host: atomically, keeping its mode and owner.
type File struct {
	Path   string // of the host
	Before []byte // nil: no such file
	After  []byte // nil if removed
	What   string

	held *patch // replaces Before and After once it is in the journal
}

// Sysctl sets a kernel setting of the host until the next boot.
type Sysctl struct {
	Name   string // "net/ipv4/ip_forward"
	Before string
	After  string
}

// Service starts or restarts a daemon: by systemd if it is PID 1, else by the package's ovs-ctl(8) or ovn-ctl(8). A
// daemon in a container is refused.
type Service struct {
	Daemon string // "ovs-vswitchd", "ovn-controller", "ovn-northd"; for Unmask any unit
	Action string // Start, Restart, Replace or Unmask

	// The process before, filled in when the step is carried out.
	PID   int
	Since string   // when the process started
	Had   []string // its command line
	Env   []string // environment variables with its file paths
}

// Control sends a control command to a daemon.
type Control struct {
	Daemon  string
	Command string
	Args    []string
	What    string
	Undo    []string // command and arguments that undo it; none if it cannot be undone
	State   []string // command and arguments whose reply shows the state; none if no command does
	Was, Is string   // a line of that reply before and after, or with a comma at the end how the line begins
	Why     string   // why it cannot be undone
	Over    string   // the daemon's error for a command it has already carried out: no failure when an interrupted run is finished
}

// Await waits for the effect of an earlier step.
type Await struct {
	What string // "the chassis has caught up"
	// Chassis has caught up with the Southbound, by Chassis_Private.nb_cfg.
	Chassis string
	Zone    string
}

// Module loads kernel modules.
type Module struct {
	Names []string
}

// ErrChanged means that the state is not the one the plan was made from.
var ErrChanged = errors.New("the state has changed since the plan was made")

// A preparer is a step that records something before the journal has it.
type preparer interface {
	ready(ctx context.Context, t *Target) (Step, error)
}

func ready(ctx context.Context, s Step, t *Target) (Step, error) {
	if p, ok := s.(preparer); ok {
		return p.ready(ctx, t)
	}
	return s, nil
}

// guard reports what prevents a plan: secrets, missing files, changed state. It checks all steps whose state can be
// known now. A step that follows one that starts a daemon, or that changes the same thing, is checked when it runs.
func (p *Plan) guard(ctx context.Context, t *Target) error {
	seen := touched{}
	for _, s := range p.Steps {
		switch s.(type) {
		case Service, Control, Await, Module:
			return nil
		}
		if seen.add(s) {
			continue
		}
		if _, err := ready(ctx, s, t); err != nil {
			return err
		}
		at, why, err := s.look(ctx, t)
		switch {
		case err != nil:
			return err
		case at == moved || at == halfDone:
			return fmt.Errorf("%w: %s", ErrChanged, why)
		}
	}
	return nil
}

// touched are the things that steps change.
type touched map[string]bool

// has reports whether a step changes one of them.
func (t touched) has(s Step) bool {
	return slices.ContainsFunc(s.Summary().on, func(on string) bool { return t[on] })
}

// add adds what a step changes and reports whether some of it was already there.
func (t touched) add(s Step) bool {
	had := t.has(s)
	for _, on := range s.Summary().on {
		t[on] = true
	}
	return had
}
