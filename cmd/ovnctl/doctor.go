package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/doctor/checks"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace"
)

type doctorOptions struct {
	*options
	checks.Selection
	applyOptions
	fix        bool
	failOn     string
	sample     time.Duration
	listChecks bool
	stats      bool
}

func newDoctor(root *options) *cobra.Command {
	o := &doctorOptions{options: root}
	cmd := &cobra.Command{
		Use:   "doctor [OBJECT [OBJECT]]",
		Short: "Find what is broken, say why, and mend it",
		Long: `doctor looks for the faults that operators of Open vSwitch and OVN really meet: on
this node, on the nodes that --node-exec reaches, and in the databases. What it
finds comes with the evidence, the cause, what it breaks, and the repair. What
follows from another fault stands under that one.

It changes nothing without --fix. A check that could not tell says why.

OBJECT restricts it to what lies on the way of a pod (NAMESPACE/POD), a node or
another object that trace takes; two of them, to the way between them.

Output formats: ` + strings.Join(render.DoctorFormats, ", ") + `.
` + exitStatusHelp,
		Example: `  ovnctl doctor
  ovnctl doctor --node-exec 'ssh {hostname}' --sample 15s
  ovnctl doctor shop/web-1
  ovnctl doctor --only mac-binding-stale -o json
  ovnctl doctor --fix`,
		Args:              cobra.MaximumNArgs(2),
		ValidArgsFunction: o.complete,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringSliceVar(&o.Only, "only", nil, "run these `checks` alone")
	f.StringSliceVar(&o.Skip, "skip", nil, "leave these `checks` out")
	f.StringSliceVar(&o.Categories, "category", nil, "run the checks of these `categories` alone")
	f.StringVar(&o.failOn, "fail-on", string(doctor.Error), "end with status 1 at this `result` or worse: error, warning or never")
	f.Var((*seconds)(&o.sample), "sample", "look at counters a second time, so many `seconds` later")
	f.BoolVar(&o.listChecks, "list-checks", false, "list the checks")
	f.BoolVar(&o.stats, "stats", false, "also show what was read, and how long each took")
	f.BoolVar(&o.fix, "fix", false, "offer the repairs of what is found: each is planned, shown, and asked for")
	o.applyOptions.addFlags(f)
	names := func(of func() []string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return of(), cobra.ShellCompDirectiveNoFileComp
		}
	}
	for _, flag := range []string{"only", "skip"} {
		_ = cmd.RegisterFlagCompletionFunc(flag, names(checkNames))
	}
	_ = cmd.RegisterFlagCompletionFunc("category", names(checks.Categories))
	return cmd
}

func checkNames() []string {
	var names []string
	for _, c := range checks.All {
		names = append(names, c.Name)
	}
	return names
}

func (o *doctorOptions) run(ctx context.Context, args []string) (err error) {
	format, err := o.format(render.DoctorFormats...)
	if err != nil {
		return err
	}
	switch o.failOn {
	case string(doctor.Error), string(doctor.Warning), "never":
	default:
		return usageError{fmt.Errorf("--fail-on %q: expected error, warning or never", o.failOn)}
	}
	checks, err := checks.Choose(o.Selection)
	if err != nil {
		return usageError{err}
	}
	if o.listChecks {
		return render.WriteTables(o.stdout, o.style(o.stdout), false, render.CheckTable(checks))
	}
	if err := o.checkFix(); err != nil {
		return usageError{err}
	}
	// What is read is needed till the end: looking for garbage meanwhile costs a sixth of the time and finds little.
	// --memory holds all the same.
	debug.SetGCPercent(400)
	c, err := o.look(ctx)
	if err != nil {
		return err
	}
	e := &examination{doctorOptions: o, c: c, checks: checks, format: format, about: args}
	defer func() { o.close(e.c, &err) }()
	if e.scope, err = o.scope(ctx, c, args); err != nil {
		return err
	}
	if o.fix {
		return e.mend(ctx)
	}
	o.tellOpen(o.stateDir)
	report, err := e.examine(ctx)
	if err != nil {
		return err
	}
	if err := e.print(report, nil); err != nil {
		return err
	}
	return e.verdict(report)
}

// checkFix says what is wrong with the flags about repairs.
func (o *doctorOptions) checkFix() error {
	if o.fix {
		if o.output == "md" || o.output == "junit" {
			return fmt.Errorf("--fix prints table, short, json or yaml, not %s", o.output)
		}
		return o.applyOptions.check(o.options)
	}
	return nil
}

// An examination is one run of doctor on a deployment that is open.
type examination struct {
	*doctorOptions
	c      *cluster.Cluster
	checks []*doctor.Check
	scope  *doctor.Scope // nil: everything
	format string
	about  []string // the names that scope is of

	looked *snapshot.Deployment // last
	took   time.Duration
}

// examine looks at the deployment anew.
func (e *examination) examine(ctx context.Context) (doctor.Report, error) {
	start := time.Now()
	e.looked = snapshot.Look(ctx, e.c, snapshot.Options{Sample: e.sample})
	report := e.ask(e.looked, e.checks)
	e.took = time.Since(start)
	if err := ctx.Err(); err != nil {
		return report, unknownError{err}
	}
	if e.scope != nil {
		report = report.Within(e.scope)
	}
	return report, nil
}

// print writes a report, and in a document what was mended.
func (e *examination) print(report doctor.Report, mended []render.Fix) error {
	if e.machine() {
		e.warn(e.c)
	}
	problems := problemTexts(e.c)
	doc := render.DoctorDocument{
		Envelope: render.NewEnvelope("Report", e.c.Source(), slices.Concat(e.c.Notes, problems)),
		Report:   report, Fixes: mended,
	}
	if e.showCommands {
		doc.Commands = report.Commands()
	}
	if e.stats {
		doc.Stats = &render.DoctorStats{Took: e.took, Reads: e.looked.Reads()}
	}
	view := render.DoctorView{About: strings.Join(e.about, " and "), Unread: append(problems, e.farNodes(e.looked)...), Sources: sources(e.c), Next: e.next(report)}
	if err := render.Doctor(e.stdout, e.style(e.stdout), e.format, doc, view); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// next is what to run after a report for people.
func (e *examination) next(r doctor.Report) []string {
	if e.fix || e.offline != "" { // saved data is not mended
		return nil
	}
	command := ""
	for _, f := range r.Findings {
		if !f.Result.Fault() || f.Fix == nil {
			continue
		}
		if command == "" {
			command = "ovnctl doctor --fix"
		}
		if f.Fix.Risk == fixes.High {
			command = "ovnctl doctor --fix --max-risk high"
		}
	}
	if command == "" {
		return nil
	}
	return []string{command + "   shows a plan for each repair, and asks"}
}

// mostRounds bounds how often doctor looks again after it has mended something.
const mostRounds = 5

// mend offers the repairs of what was found, the worst first, and looks again as long as that brings up repairs
// that were not tried: with a cause gone, what it hid may show.
func (e *examination) mend(ctx context.Context) error {
	x, err := e.fixer(ctx, &e.applyOptions, e.c)
	if err != nil {
		return err
	}
	x.sample = e.sample
	var mended []render.Fix
	tried := map[string]bool{}
	failed := false
	for round := 0; ; round++ {
		report, err := e.examine(ctx)
		if err != nil {
			return err
		}
		todo := untried(report, tried)
		last := len(todo) == 0 || round == mostRounds || failed
		if e.dryRun && round > 0 { // nothing has changed
			if e.machine() {
				err = e.print(report, mended)
			}
			return cmp.Or(err, e.verdict(report))
		}
		if !e.machine() || last {
			if err := e.print(report, mended); err != nil {
				return err
			}
		}
		if last {
			if failed {
				return verdict(exitFix)
			}
			return e.verdict(report)
		}
		for _, f := range todo {
			tried[render.FixCommand(f.Fix)] = true
			if !e.machine() {
				fmt.Fprintln(e.stdout)
			}
			fix, err := x.mend(ctx, f.Fix, &f)
			var usage usageError
			if errors.As(err, &usage) && ctx.Err() == nil { // it is to be run elsewhere, or says what it lacks
				fix.Outcome = render.FixOutcome{State: "refused", Why: err.Error()}
				if !e.machine() {
					err = render.Outcome(e.stdout, e.style(e.stdout), fix.Outcome)
				} else {
					err = nil
				}
			}
			if err != nil {
				return err
			}
			mended = append(mended, fix)
			failed = failed || fix.Outcome.State == "failed" || fix.Outcome.State == "rolled back"
			if failed {
				break
			}
		}
		if !e.machine() {
			fmt.Fprintln(e.stdout)
		}
		if err := e.reopen(ctx, x); err != nil {
			return err
		}
	}
}

// reopen opens the deployment anew if a part of it could not be read: what was
// mended may have been the reason.
func (e *examination) reopen(ctx context.Context, x *fixer) error {
	if len(e.c.Problems) == 0 || e.dryRun {
		return nil
	}
	c, err := e.look(ctx)
	if err != nil {
		return err
	}
	_ = e.c.Close()
	e.c, x.c = c, c
	return nil
}

// untried are the findings at the top that have a repair which was not tried yet.
func untried(r doctor.Report, tried map[string]bool) []doctor.Finding {
	var out []doctor.Finding
	for _, f := range r.Findings {
		if f.Result.Fault() && f.Fix != nil && !tried[render.FixCommand(f.Fix)] {
			out = append(out, f)
		}
	}
	return out
}

// look opens the deployment for checks.
func (o *doctorOptions) look(ctx context.Context) (*cluster.Cluster, error) {
	defer o.patience(ctx)()
	return o.openBroken(ctx)
}

// scope is what lies on the way of the objects that were named; nil: none was.
func (o *doctorOptions) scope(ctx context.Context, c *cluster.Cluster, names []string) (*doctor.Scope, error) {
	if len(names) == 0 {
		return nil, nil
	}
	var g *topology.Graph
	var err error
	if len(names) == 1 {
		g, err = topology.Load(ctx, c)
	} else {
		g, err = topology.LoadBetween(ctx, c, names[0], names[1])
	}
	if err != nil {
		return nil, unknownError{err}
	}
	var named []topology.Match
	for _, name := range names {
		found, err := g.Resolve(name) // a node and its switch often have one name: both are meant
		if err != nil {
			return nil, usageError{err}
		}
		named = append(named, found...)
	}
	if len(names) == 1 {
		return doctor.NewScope(g, named), nil
	}
	t, _, err := trace.Run(ctx, c, g, trace.Query{From: names[0], To: names[1], Logical: true})
	if err != nil {
		return nil, unknownError{fmt.Errorf("the way from %s to %s: %w", names[0], names[1], err)}
	}
	return doctor.NewScope(g, named, t), nil
}

// ask runs the checks. On a terminal it says meanwhile how far it has come and
// what was found: a sample or a silent node takes its time.
func (e *examination) ask(d *snapshot.Deployment, checks []*doctor.Check) doctor.Report {
	show := e.progress(len(checks))
	ended := 0
	report := doctor.Examine(d, checks, func(c *doctor.Check, findings []doctor.Finding) {
		ended++
		for _, f := range findings {
			if f.Result.Fault() {
				show.found(string(f.Result), f.Title)
			}
		}
		show.show("%d of %d checks", ended, len(checks))
	})
	show.clear()
	return report
}

// complete offers what lies in the deployment.
func (o *doctorOptions) complete(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) >= 2 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return o.completeNames(cmd, word, topology.Objects...)
}

// farNodes says which nodes were not asked.
func (o *doctorOptions) farNodes(d *snapshot.Deployment) []string {
	if len(d.Far) == 0 {
		return nil
	}
	var names []string
	for _, n := range d.Far {
		names = append(names, n.Name)
	}
	if len(names) > 5 {
		names = append(names[:4], fmt.Sprintf("%d more", len(names)-4))
	}
	if o.offline != "" {
		return []string{fmt.Sprintf("%s has nothing of nodes %s", o.offline, strings.Join(names, ", "))}
	}
	return []string{fmt.Sprintf("nodes %s were not asked (--node-exec 'ssh {hostname}' reaches them)", strings.Join(names, ", "))}
}

// verdict is the exit code of a report.
func (e *examination) verdict(r doctor.Report) error {
	if e.failOn != "never" && r.Worst().AtLeast(doctor.Result(e.failOn)) {
		return verdict(exitFound)
	}
	if len(e.c.Problems) > 0 || e.unasked() {
		return verdict(exitUnknown)
	}
	return nil
}

// unasked says whether a node that was named is one of those that were not asked: that nothing was found
// about it says little.
func (e *examination) unasked() bool {
	return slices.ContainsFunc(e.looked.Far, func(n *cluster.Node) bool {
		return slices.Contains(e.about, n.Name) || slices.Contains(e.about, "node:"+n.Name)
	})
}
