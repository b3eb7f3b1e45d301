package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/doctor/checks"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// applyOptions are the flags of every command that changes something: fix and
// doctor --fix.
type applyOptions struct {
	dryRun   bool
	yes      bool
	maxRisk  string
	stateDir string
	confirm  []string
	within   time.Duration
}

func (a *applyOptions) addFlags(f *pflag.FlagSet) {
	f.BoolVar(&a.dryRun, "dry-run", false, "show the plan and change nothing")
	f.BoolVarP(&a.yes, "yes", "y", false, "do not ask")
	f.StringVar(&a.maxRisk, "max-risk", string(fixes.Medium), "do nothing above this `risk`: low, medium or high")
	addStateDir(f, &a.stateDir)
	a.within = time.Minute
	f.Var((*seconds)(&a.within), "confirm-timeout", "take back what can cut this host off unless it is confirmed within so many `seconds`")
	f.StringSliceVar(&a.confirm, "confirm", nil, "what confirms it in place of a person: `gateway`, southbound")
}

func addStateDir(f *pflag.FlagSet, dir *string) {
	f.StringVar(dir, "state-dir", "", "`directory` of the journal (default "+fixes.DefaultState+" below --host-root)")
}

// state is the directory that --state-dir names, else the host's own: a container with the host's file system
// is gone tomorrow, and what it did must be known then.
func (o *options) state(dir string) string {
	if whole, err := filepath.Abs(dir); dir != "" && err == nil { // the watchdog works in another directory
		return whole
	}
	return filepath.Join(o.hostRoot, fixes.DefaultState)
}

func (a *applyOptions) check(o *options) error {
	if riskOrder(fixes.Risk(a.maxRisk)) < 0 {
		return fmt.Errorf("--max-risk %q: expected low, medium or high", a.maxRisk)
	}
	for _, c := range a.confirm {
		if c != confirmGateway && c != confirmSouthbound {
			return fmt.Errorf("--confirm %q: expected %s or %s", c, confirmGateway, confirmSouthbound)
		}
	}
	if o.offline != "" {
		return errors.New("--offline reads saved data, and a repair changes a live deployment")
	}
	if !a.yes && !a.dryRun && !o.asks() {
		return errors.New("standard input is not a terminal: nobody can be asked\nhint: use --yes, or --dry-run to see the plan alone")
	}
	if !a.yes && !a.dryRun && o.machine() {
		return errors.New("-o " + o.output + " leaves no place for questions\nhint: use --yes, or --dry-run to see the plan alone")
	}
	return nil
}

func riskOrder(r fixes.Risk) int {
	return slices.Index([]fixes.Risk{fixes.Low, fixes.Medium, fixes.High}, r)
}

// asks says whether somebody sits at standard input.
func (o *options) asks() bool {
	f, ok := o.stdin.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// A fixer carries out repairs of one deployment.
type fixer struct {
	*options
	*applyOptions
	c       *cluster.Cluster
	journal *fixes.Journal
	answers *bufio.Reader
	sample  time.Duration
}

// fixer opens the journal, and finishes or takes back what a run that died has left.
func (o *options) fixer(ctx context.Context, a *applyOptions, c *cluster.Cluster) (*fixer, error) {
	x := &fixer{options: o, applyOptions: a, c: c, answers: bufio.NewReader(o.stdin)}
	if a.dryRun {
		x.journal = fixes.ReadJournal(o.state(a.stateDir))
		o.tellOpen(a.stateDir)
		return x, nil
	}
	var err error
	if x.journal, err = fixes.OpenJournal(o.state(a.stateDir)); err != nil {
		return nil, usageError{fmt.Errorf("%w\nhint: run as root, or name a directory with --state-dir", err)}
	}
	return x, x.recover(ctx)
}

// tellOpen says of runs that were cut off; it changes nothing.
func (o *options) tellOpen(stateDir string) {
	runs, err := fixes.ReadJournal(o.state(stateDir)).Runs()
	if err != nil {
		return // one who may not read the journal
	}
	for _, r := range runs {
		if r.Open() {
			fmt.Fprintf(o.stderr, "ovnctl: run %d, %s, was cut off; the next fix finishes it or takes it back\n", r.ID, render.Clean(r.Title))
		}
	}
}

func (x *fixer) lock(ctx context.Context) error {
	err := x.journal.Lock(ctx)
	var busy *fixes.Busy
	if errors.As(err, &busy) {
		return fmt.Errorf("%w\nhint: try again when it has ended", err)
	}
	return err
}

func (x *fixer) recover(ctx context.Context) error {
	runs, err := x.journal.Runs()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(runs, func(r *fixes.Run) bool { return r.Open() }) {
		return nil
	}
	if err := x.lock(ctx); err != nil {
		return fixError{err}
	}
	defer x.journal.Unlock()
	all, err := x.journal.Recover(ctx, x.target(ctx), func(ctx context.Context, r *fixes.Run) error {
		v := x.verifier(r.Checks)
		if r.Object != "" {
			v.targets = map[string]bool{r.Object: true}
		}
		return v.wait(ctx)
	})
	if err != nil {
		return fixError{err}
	}
	failed := false
	for _, r := range all {
		fmt.Fprintf(x.stderr, "ovnctl: %s\n", render.CleanLines(r.String()))
		failed = failed || r.Err != nil
	}
	if failed {
		return fixError{errors.New("nothing else is mended before that is settled\nhint: put right what is in the way and run it again, or close the run: ovnctl fix recover --leave RUN; ovnctl fix list --done shows the runs")}
	}
	return nil
}

func (x *fixer) look(ctx context.Context) *snapshot.Deployment {
	return snapshot.Look(ctx, x.c, snapshot.Options{Sample: x.sample})
}

func (x *fixer) target(ctx context.Context) *fixes.Target { return fixes.On(x.look(ctx), x.hostRoot) }

// A fixError is a repair that failed, was rolled back, or that nobody can undo.
type fixError struct{ error }

func (e fixError) Unwrap() error { return e.error }

// plan makes the plan of a call, from a fresh look.
func (x *fixer) plan(ctx context.Context, call *fixes.Call) (*fixes.Plan, error) {
	r := catalog.Find(call.Repair)
	if r == nil {
		return nil, usageError{unknownRepair(call.Repair)}
	}
	args, err := r.Arguments(call.Args)
	if err != nil {
		return nil, usageError{fmt.Errorf("%w\nhint: ovnctl fix %s %s", err, r.Name, render.Usage(r))}
	}
	d := x.look(ctx)
	p, err := r.Plan(d, args)
	var refusal *fixes.Refusal
	var database *ovsdb.Error
	switch {
	case err == nil:
	case errors.As(err, &refusal):
		return nil, err
	case errors.As(err, &database), errors.Is(err, node.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return nil, unknownError{err}
	default:
		return nil, usageError{err}
	}
	if p.Host != "" {
		local := d.Local()
		if local == nil || p.Host != local.Name && p.Host != local.SystemID {
			return nil, usageError{fmt.Errorf("%s changes %s, and ovnctl does not run there\nhint: on %s: %s", call.Repair, p.Host, p.Host, render.FixCommand(call))}
		}
	}
	return p, nil
}

// mend plans a call, shows the plan, asks, carries it out and looks whether it helped.
// The finding is the one that proposed it, or nil. What came of it is in the Fix;
// the error is for what a person has to put right before.
func (x *fixer) mend(ctx context.Context, call *fixes.Call, finding *doctor.Finding) (render.Fix, error) {
	fix := render.Fix{Call: call}
	text := !x.machine()
	style := x.style(x.stdout)
	ended := func(o render.FixOutcome) (render.Fix, error) {
		fix.Outcome = o
		if text {
			return fix, render.Outcome(x.stdout, style, o)
		}
		return fix, nil
	}
	p, err := x.plan(ctx, call)
	var refusal *fixes.Refusal
	if errors.As(err, &refusal) {
		return ended(render.FixOutcome{State: "refused", Why: refusal.Error()})
	}
	if err != nil {
		return fix, err
	}
	fix.Plan = render.PlanOf(p)
	if text {
		if err := render.Plan(x.stdout, style, call, fix.Plan); err != nil {
			return fix, err
		}
	}
	if err := fixes.Check(ctx, x.target(ctx), p); err != nil {
		return ended(render.FixOutcome{State: "refused", Why: err.Error()})
	}
	if x.dryRun {
		return ended(render.FixOutcome{State: "planned"})
	}
	if riskOrder(call.Risk) > riskOrder(fixes.Risk(x.maxRisk)) {
		return ended(render.FixOutcome{State: "refused", Why: fmt.Sprintf("its risk is %s\nhint: --max-risk %s allows it", call.Risk, call.Risk)})
	}
	o := fixes.Options{Call: call, Progress: x.told(p)}
	if p.Cuts {
		byItself := func(ctx context.Context) error { return x.confirmBy(ctx, confirming, true) }
		if err := x.watch(ctx, &o, byItself); err != nil {
			return ended(render.FixOutcome{State: "refused", Why: err.Error()})
		}
	}
	if yes, err := x.agreed(ctx, call, p); err != nil || !yes {
		if err != nil {
			return fix, err
		}
		return ended(render.FixOutcome{State: "declined"})
	}
	r := catalog.Find(call.Repair)
	o.Checks = append([]string{r.Check}, r.Also...)
	if finding != nil {
		o.Checks = []string{finding.Check}
	}
	v := x.verifier(o.Checks)
	before := v.aim(ctx, call, finding)
	if p.Cuts {
		o.Answered = x.answering(ctx)
	}
	if err := x.lock(ctx); err != nil {
		return fix, fixError{err}
	}
	defer x.journal.Unlock()
	source := x.c.Source()
	o.Object, o.Sources, o.Verify = v.object(), []string{source.NB, source.SB}, v.wait
	run, err := x.journal.Apply(ctx, x.target(ctx), p, o)
	outcome := render.FixOutcome{State: "fixed", Before: before, After: v.after}
	if run != nil {
		outcome.Run, outcome.OneWay = run.ID, run.OneWay
	}
	var failure *fixes.Failure
	switch {
	case errors.As(err, &failure):
		outcome.Why = failure.Error()
		if run == nil || !slices.ContainsFunc(run.Events, func(e fixes.Event) bool {
			return e.State == fixes.Undoing && strings.Contains(e.Text, "the check does not pass")
		}) {
			outcome.After = nil // what it said was of what is taken back
		}
		switch {
		case failure.Stuck != nil:
			outcome.State = "failed"
		case failure.ID == 0:
			outcome.State = "refused"
		default:
			outcome.State, outcome.After = "rolled back", nil // what it found was before that
		}
	case err != nil:
		return fix, fixError{err}
	}
	return ended(outcome)
}

// told says on a terminal how far a run has come.
func (x *fixer) told(p *fixes.Plan) func(fixes.Event) {
	show := x.progress(0)
	return func(e fixes.Event) {
		switch e.State {
		case fixes.Begun:
			show.show("%d of %d: %s", e.Step, len(p.Steps), render.Clean(p.Steps[e.Step-1].String()))
		case fixes.Undoing:
			show.show("taking it back")
		case fixes.Verified, fixes.Undone, fixes.Stuck:
			show.clear()
		}
	}
}

// agreed asks for the whole, and for each step that cannot be undone.
func (x *fixer) agreed(ctx context.Context, call *fixes.Call, p *fixes.Plan) (bool, error) {
	if x.yes {
		return true, nil
	}
	if yes, err := x.ask(ctx, "Do it?", call.Class == fixes.Auto); err != nil || !yes {
		return false, err
	}
	for i, s := range p.Steps {
		if why := s.OneWay(); why != "" {
			if yes, err := x.ask(ctx, fmt.Sprintf("Step %d cannot be undone (%s). Do it all the same?", i+1, why), false); err != nil || !yes {
				return false, err
			}
		}
	}
	return true, nil
}

// ask is a question on the terminal; Enter means what enter says.
func (x *fixer) ask(ctx context.Context, question string, enter bool) (bool, error) {
	choice := "[y/N]"
	if enter {
		choice = "[Y/n]"
	}
	fmt.Fprintf(x.stderr, "%s %s ", render.Clean(question), choice)
	line, err := x.line(ctx)
	if err != nil {
		fmt.Fprintln(x.stderr)
		return false, err
	}
	switch strings.ToLower(line) {
	case "":
		return enter, nil
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// line is what the person types next.
func (x *fixer) line(ctx context.Context) (string, error) {
	type answer struct {
		text string
		err  error
	}
	typed := make(chan answer, 1)
	go func() {
		text, err := x.answers.ReadString('\n')
		typed <- answer{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case a := <-typed:
		if a.err != nil && a.text == "" {
			return "", usageError{fmt.Errorf("no answer: %w", a.err)}
		}
		return strings.TrimSpace(a.text), nil
	}
}

// A verifier says whether a fault is gone.
type verifier struct {
	x       *fixer
	checks  []*doctor.Check
	targets map[string]bool // the objects that must be found no more; nil: none may be found that was not before
	known   map[string]bool
	after   []string
}

func (x *fixer) verifier(list []string) *verifier {
	v := &verifier{x: x}
	for _, name := range list {
		if c := checks.Find(name); c != nil {
			v.checks = append(v.checks, c)
		}
	}
	return v
}

// aim looks at what is wrong before, and chooses what must be right afterwards.
func (v *verifier) aim(ctx context.Context, call *fixes.Call, finding *doctor.Finding) []string {
	v.known = map[string]bool{}
	var titles []string
	faults, _ := v.find(ctx)
	for _, f := range faults {
		v.known[f.Object.String()] = true
		switch {
		case finding != nil && f.Object != finding.Object:
			continue
		case finding == nil && (f.Fix == nil || f.Fix.Repair != call.Repair || !slices.Equal(f.Fix.Args, call.Args)):
			continue
		}
		if v.targets == nil {
			v.targets = map[string]bool{}
		}
		v.targets[f.Object.String()] = true
		titles = append(titles, f.Title)
	}
	return titles
}

// object is what is mended, if it is one thing.
func (v *verifier) object() string {
	for o := range v.targets {
		if len(v.targets) == 1 {
			return o
		}
	}
	return ""
}

// find runs the checks on a fresh look: the faults, and what could not be told.
func (v *verifier) find(ctx context.Context) (faults, unknown []doctor.Finding) {
	sample := v.x.sample
	for _, c := range v.checks { // those that compare counters tell nothing else
		sample = max(sample, c.Sample)
	}
	d := snapshot.Look(ctx, v.x.c, snapshot.Options{Sample: sample})
	report := doctor.Examine(d, v.checks, func(*doctor.Check, []doctor.Finding) {})
	var flatten func([]doctor.Finding)
	flatten = func(all []doctor.Finding) {
		for _, f := range all {
			switch {
			case f.Result.Fault():
				faults = append(faults, f)
			case f.Result == doctor.Unknown:
				unknown = append(unknown, f)
			}
			flatten(f.Consequences)
		}
	}
	flatten(report.Findings)
	return faults, unknown
}

// settling is how long daemons may take until a repair shows.
const settling = 30 * time.Second

// wait looks again until the fault is gone.
func (v *verifier) wait(ctx context.Context) error {
	if len(v.checks) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	for {
		faults, unknown := v.find(ctx)
		left := ""
		for _, f := range faults {
			if o := f.Object.String(); v.targets[o] || v.targets == nil && !v.known[o] {
				left = f.Title
			}
		}
		blind := ""
		if left == "" && len(v.targets) > 0 {
			for _, f := range unknown {
				blind = f.Title
			}
		}
		if left == "" && blind == "" {
			v.after = nil
			for _, c := range v.checks {
				v.after = append(v.after, c.Name+" finds nothing of it any more")
			}
			return nil
		}
		pause := time.NewTimer(300 * time.Millisecond)
		select {
		case <-ctx.Done():
			pause.Stop()
			if left == "" {
				v.after = []string{"could not tell: " + blind}
				return fmt.Errorf("it could not be looked at: %s", blind)
			}
			v.after = []string{left}
			return errors.New(left)
		case <-pause.C:
		}
	}
}
