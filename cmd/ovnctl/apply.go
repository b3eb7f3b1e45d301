package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/doctor/checks"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// applyOptions are the flags of the commands that change something: fix and
// doctor --fix.
type applyOptions struct {
	dryRun   bool
	yes      bool
	maxRisk  string
	stateDir string
	confirm  []string
	within   time.Duration

	overConnection string // this node, as the operator at the other end of standard input and output named it; empty: the operator is here
}

func (a *applyOptions) addFlags(f *pflag.FlagSet) {
	f.BoolVar(&a.dryRun, "dry-run", false, "show the plan and change nothing")
	f.BoolVarP(&a.yes, "yes", "y", false, "do not ask")
	f.StringVar(&a.maxRisk, "max-risk", string(fixes.Medium), "refuse what is above this `risk`: low, medium or high")
	addStateDir(f, &a.stateDir)
	a.addOverConnection(f)
	a.within = time.Minute
	f.Var((*seconds)(&a.within), "confirm-timeout", "roll back what can cut this host off unless it is confirmed within this many `seconds`")
	f.StringSliceVar(&a.confirm, "confirm", nil, "what confirms it in place of a person: `gateway`, southbound")
}

func addStateDir(f *pflag.FlagSet, dir *string) {
	f.StringVar(dir, "state-dir", "", "`directory` of the journal (default "+fixes.DefaultState+" below --host-root)")
}

// state returns the directory of --state-dir, else the host's own: a debug container loses its journal when it is
// removed.
func (o *options) state(dir string) string {
	if whole, err := filepath.Abs(dir); dir != "" && err == nil { // the watchdog runs in another directory
		return whole
	}
	return filepath.Join(o.hostRoot, fixes.DefaultState)
}

var errNobody = errors.New("standard input is not a terminal: nobody can be asked\nhint: use --yes, or --dry-run to see the plan alone")

func (a *applyOptions) check(o *options) error {
	if !slices.Contains(fixes.Risks, fixes.Risk(a.maxRisk)) {
		return fmt.Errorf("--max-risk %q: expected low, medium or high", a.maxRisk)
	}
	for _, c := range a.confirm {
		if !slices.Contains(fixes.Witnesses, fixes.Witness(c)) {
			return fmt.Errorf("--confirm %q: expected gateway or southbound", c)
		}
	}
	if o.offline != "" {
		return errors.New("--offline reads saved data, and a repair changes a live deployment")
	}
	if !a.yes && !a.dryRun && a.overConnection == "" && !o.asks() {
		return errNobody
	}
	if !a.yes && !a.dryRun && o.machine() {
		return errors.New("-o " + o.output + " leaves no place for questions\nhint: use --yes, or --dry-run to see the plan alone")
	}
	return nil
}

// asks reports whether standard input can answer questions.
func (o *options) asks() bool {
	f, ok := o.stdin.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// loop returns the repair loop of a deployment, after finishing or rolling back interrupted runs.
func (o *options) loop(ctx context.Context, a *applyOptions, c *cluster.Cluster, sample time.Duration) (*fixes.Loop, error) {
	l := &fixes.Loop{
		Cluster: c, Root: o.hostRoot, Find: catalog.Find, Open: o.openToFix,
		Operator: &operator{options: o, answers: bufio.NewReader(o.stdin), afar: a.overConnection},
		DryRun:   a.dryRun, Yes: a.yes, MaxRisk: fixes.Risk(a.maxRisk), Sample: sample, Within: a.within, WatchArgs: o.watchArgs(a.stateDir),
	}
	for _, w := range a.confirm {
		l.Witnesses = append(l.Witnesses, fixes.Witness(w))
	}
	if a.overConnection != "" {
		l.Reply = l.Operator.(*operator).Reply
	}
	l.Examine = func(ctx context.Context, names []string, settle bool) []fixes.Fault {
		return examineFor(ctx, l, names, settle)
	}
	if a.dryRun {
		l.Journal = fixes.ReadJournal(o.state(a.stateDir), o.hostRoot)
		o.tellOpen(a.stateDir)
		return l, nil
	}
	changes.Store(true)
	var err error
	if l.Journal, err = o.journal(a.stateDir); err != nil {
		return nil, err
	}
	return l, o.recoverRuns(ctx, l)
}

func (o *options) journal(stateDir string) (*fixes.Journal, error) {
	j, err := fixes.OpenJournal(o.state(stateDir), o.hostRoot)
	if err != nil {
		if !strings.Contains(err.Error(), "\nhint: ") {
			err = fmt.Errorf("%w\nhint: run as root, or name a directory with --state-dir", err)
		}
		return nil, usageError{err}
	}
	return j, nil
}

// openToFix opens the deployment, even if its databases are unreachable.
func (o *options) openToFix(ctx context.Context) (*cluster.Cluster, error) {
	defer o.patience(ctx)()
	return o.openBroken(ctx)
}

// watchArgs returns the arguments of a watchdog: fix watch, and the flags that name the deployment.
func (o *options) watchArgs(stateDir string) []string {
	args := []string{"fix", "watch", "--state-dir", o.state(stateDir), "--timeout", strconv.FormatFloat(o.timeout.Seconds(), 'f', -1, 64)}
	for _, flag := range [][2]string{
		{"nb", o.nb}, {"sb", o.sb}, {"ovs", o.ovs}, {"host-root", o.hostRoot}, {"private-key", o.tls.PrivateKey},
		{"certificate", o.tls.Certificate}, {"ca-cert", o.tls.CACert}, {"ssl-server-name", o.tls.ServerName},
	} {
		if flag[1] != "" {
			args = append(args, "--"+flag[0]+"="+flag[1])
		}
	}
	if o.noLeaderOnly {
		args = append(args, "--no-leader-only")
	}
	return args
}

// tellOpen lists interrupted runs; it changes nothing.
func (o *options) tellOpen(stateDir string) {
	runs, err := fixes.ReadJournal(o.state(stateDir), o.hostRoot).Runs()
	if err != nil {
		return // the journal may not be readable by this user
	}
	o.tellDamaged(runs)
	for _, r := range runs {
		if r.Open() {
			fmt.Fprintf(o.stderr, "ovnctl: run %d, %s, was cut off; the next fix finishes it or rolls it back\n", r.ID, render.Clean(r.Title))
		}
	}
}

// tellDamaged lists runs that can only be read.
func (o *options) tellDamaged(runs []*fixes.Run) {
	for _, r := range runs {
		if r.Damage != nil {
			fmt.Fprintf(o.stderr, "ovnctl: run %d of the journal stays as it is: %s\n", r.ID, render.Clean(r.Damage.Error()))
		}
	}
}

func (o *options) recoverRuns(ctx context.Context, l *fixes.Loop) error {
	if runs, err := l.Journal.Runs(); err == nil {
		o.tellDamaged(runs)
	}
	all, err := l.Recover(ctx)
	if err != nil {
		return fixError{err}
	}
	failed := false
	for _, r := range all {
		fmt.Fprintf(o.stderr, "ovnctl: %s\n", render.CleanLines(r.String()))
		failed = failed || r.Err != nil
	}
	if failed {
		return fixError{errors.New("nothing else is repaired before that run is settled\nhint: remove what is in its way and try again, or close it: ovnctl fix recover --leave RUN; ovnctl fix list --done shows the runs")}
	}
	return nil
}

// A fixError is a repair that failed or was rolled back, or a run that cannot be undone.
type fixError struct{ error }

func (e fixError) Unwrap() error { return e.error }

// fixFailure gives an error of the repair loop its exit code.
func fixFailure(err error) error {
	var usage usageError
	var unknown unknownError
	var mistake *fixes.Mistake
	var unread *fixes.Unread
	switch {
	case err == nil, errors.As(err, &usage), errors.As(err, &unknown):
		return err
	case errors.As(err, &mistake):
		return usageError{err}
	case errors.As(err, &unread):
		return unknownError{err}
	}
	return fixError{err}
}

// examineFor runs checks for the repair loop on a fresh snapshot.
func examineFor(ctx context.Context, l *fixes.Loop, names []string, settle bool) []fixes.Fault {
	var chosen []*doctor.Check
	sample := l.Sample
	for _, name := range names {
		if c := checks.Find(name); c != nil {
			look := *c
			look.Settle = c.Settle && settle
			chosen = append(chosen, &look)
			sample = max(sample, c.Sample) // a check that compares counters needs two samples
		}
	}
	report := doctor.Examine(snapshot.Look(ctx, l.Cluster, snapshot.Options{Sample: sample}), chosen, nil)
	return faultsOf(report.Findings, true)
}

// faultsOf converts findings for the repair loop, with their consequences if deep is set.
func faultsOf(findings []doctor.Finding, deep bool) []fixes.Fault {
	var all []fixes.Fault
	for _, f := range findings {
		if f.Result.Fault() || f.Result == doctor.Unknown {
			of := fixes.Subject{Object: f.Object.String(), Zone: f.Zone}
			all = append(all, fixes.Fault{Check: f.Check, Subject: of, Title: f.Title, Unknown: f.Result == doctor.Unknown, Fix: f.Fix})
		}
		if deep {
			all = append(all, faultsOf(f.Consequences, true)...)
		}
	}
	return all
}

// An operator shows on standard output what the repair loop does, and asks the user at the terminal.
type operator struct {
	*options
	answers *bufio.Reader
	apart   bool   // a blank line before each repair
	afar    string // this node as the operator calls it who is elsewhere; empty: the operator is here
	shown   *progress
}

// Begin is called before each repair.
func (o *operator) Begin(*fixes.Call) {
	if o.apart {
		fmt.Fprintln(o.text())
	}
	o.shown = o.progress(0)
}

// text returns where text goes: nowhere if a document follows.
func (o *operator) text() io.Writer {
	if o.machine() {
		return io.Discard
	}
	return o.stdout
}

// ShowPlan shows the plan of a call.
func (o *operator) ShowPlan(c *fixes.Call, p *fixes.PlanSummary) error {
	return render.Plan(o.text(), o.style(o.stdout), c, p, o.undoCommand())
}

// ShowUndo shows what undoing a run does.
func (o *operator) ShowUndo(r *fixes.Run, p *fixes.PlanSummary) error {
	return render.Undo(o.text(), o.style(o.stdout), r, p)
}

// ShowOutcome shows the outcome of a repair.
func (o *operator) ShowOutcome(out fixes.Outcome) error {
	return render.Outcome(o.text(), o.style(o.stdout), out, o.undoCommand())
}

// undoCommand undoes the last run. It reads the same databases and nodes.
func (o *operator) undoCommand() string {
	undo := "ovnctl fix undo"
	if o.afar != "" {
		undo += " --node " + fixes.Word(o.afar)
	}
	return o.withSource(undo)
}

// Progress shows the progress of a run on a terminal.
func (o *operator) Progress(p *fixes.Plan, e fixes.Event) {
	switch e.State {
	case fixes.Begun:
		o.shown.show("%d of %d: %s", e.Step, len(p.Steps), render.Clean(p.Steps[e.Step-1].Summary().What))
	case fixes.Undoing:
		o.shown.show("rolling back")
	case fixes.Verified, fixes.Undone, fixes.Stuck:
		o.shown.clear()
	}
}

// Ask asks a question on the terminal.
func (o *operator) Ask(ctx context.Context, question string, enter bool) (bool, error) {
	choice := "[y/N]"
	if enter {
		choice = "[Y/n]"
	}
	fmt.Fprintf(o.stderr, "%s %s ", render.Clean(question), choice)
	line, err := o.line(ctx)
	if err != nil {
		fmt.Fprintln(o.stderr)
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

// line returns the next line that the user types.
func (o *operator) line(ctx context.Context) (string, error) {
	type answer struct {
		text string
		err  error
	}
	typed := make(chan answer, 1)
	go func() {
		text, err := o.answers.ReadString('\n')
		typed <- answer{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case a := <-typed:
		if a.err != nil && a.text == "" {
			return "", fmt.Errorf("no answer: %w", a.err)
		}
		return strings.TrimSpace(a.text), nil
	}
}
