package fixes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A Loop repairs one deployment: it makes a plan, has it shown and confirmed, carries it out, verifies it with the
// check that asked for it, and goes on with the next fault.
type Loop struct {
	Journal  *Journal
	Cluster  *cluster.Cluster
	Root     string // of the host's file system; empty: /
	Find     func(name string) *Repair
	Operator Operator
	// Examine runs checks on a fresh snapshot of Cluster. With settle, no fault is returned that passes within seconds.
	Examine func(ctx context.Context, checks []string, settle bool) []Fault
	// Open opens the deployment again.
	Open func(context.Context) (*cluster.Cluster, error)

	DryRun    bool
	Yes       bool // the operator is not asked
	MaxRisk   Risk
	Sample    time.Duration // time between the two samples for plans; 0: one sample
	Witnesses []Witness     // confirm a plan that cuts; none: the operator does
	Within    time.Duration // time to confirm it
	// Reply has the operator's end of a connection reply, and confirms what a lost connection must undo: then each repair that
	// can be undone is watched. Nil: the operator is here.
	Reply     func(context.Context) error
	WatchArgs []string // arguments of the watchdog command, before the run's number

	settling time.Duration // for tests, in place of the constant
}

// An Operator sees what the loop does, and decides.
type Operator interface {
	Begin(*Call)
	ShowPlan(*Call, *PlanSummary) error
	// ShowUndo shows what undoing a run does.
	ShowUndo(*Run, *PlanSummary) error
	ShowOutcome(Outcome) error
	// Ask asks a question; enter is the default.
	Ask(ctx context.Context, question string, enter bool) (bool, error)
	// Progress is called for every event while a plan is carried out.
	Progress(*Plan, Event)
}

// A Mistake is a wrong call: its arguments, or the host it is for.
type Mistake struct{ error }

// Unwrap returns what is wrong.
func (m *Mistake) Unwrap() error { return m.error }

// Unread means that no plan could be made because a source could not be read.
type Unread struct{ error }

// Unwrap returns why.
func (u *Unread) Unwrap() error { return u.error }

// mostRounds is how often [Loop.Run] looks for faults again after repairs.
const mostRounds = 5

// Run repairs what find finds, in that order, and repeats while that shows faults whose repair was not tried: with a
// cause gone, others may appear. It stops when a repair fails.
func (l *Loop) Run(ctx context.Context, find func(context.Context) ([]Fault, error)) ([]Fix, error) {
	var all []Fix
	tried := map[CallKey]bool{}
	for round := 0; ; round++ {
		faults, err := find(ctx)
		if err != nil {
			return all, err
		}
		todo := slices.DeleteFunc(faults, func(f Fault) bool { return f.Unknown || f.Fix == nil || tried[f.Fix.Key()] })
		broke := slices.ContainsFunc(all, func(f Fix) bool { return f.Outcome.State.Broke() })
		if len(todo) == 0 || broke || round == mostRounds {
			return all, nil
		}
		made, err := l.repairAll(ctx, todo, tried)
		all = append(all, made...)
		if err != nil || l.DryRun {
			return all, err
		}
		if err := l.reopen(ctx); err != nil {
			return all, err
		}
	}
}

// repairAll goes through faults until a repair fails.
func (l *Loop) repairAll(ctx context.Context, faults []Fault, tried map[CallKey]bool) ([]Fix, error) {
	var all []Fix
	for i := range faults {
		f := &faults[i]
		tried[f.Fix.Key()] = true
		fix, err := l.Repair(ctx, f.Fix, f)
		if mistake, ok := errors.AsType[*Mistake](err); ok && ctx.Err() == nil { // the other faults can be repaired
			fix.Outcome = refused(NotPlanned, mistake)
			err = l.Operator.ShowOutcome(fix.Outcome)
		}
		if err != nil {
			return all, err
		}
		all = append(all, fix)
		if fix.Outcome.State.Broke() {
			break
		}
	}
	return all, nil
}

// reopen reopens the deployment if part of it could not be read, or if it was opened without this host's Open vSwitch: a
// repair may have changed that.
func (l *Loop) reopen(ctx context.Context) error {
	local := slices.ContainsFunc(l.Cluster.Hosts, func(n *cluster.Node) bool { return n.Local && n.Vswitch() != nil })
	if local && len(l.Cluster.Problems) == 0 {
		return nil
	}
	c, err := l.Open(ctx)
	if err != nil {
		return err
	}
	_ = l.Cluster.Close()
	l.Cluster = c
	return nil
}

// Repair carries out one call. The fault is the one that proposes it, or nil. The error is for what a person must
// correct first.
func (l *Loop) Repair(ctx context.Context, call *Call, fault *Fault) (Fix, error) {
	l.Operator.Begin(call)
	fix := Fix{Call: call}
	p, err := l.plan(ctx, call)
	if err == nil {
		fix.Plan = p.Summary()
		if err := l.Operator.ShowPlan(call, fix.Plan); err != nil {
			return fix, err
		}
		fix.Outcome, err = l.decide(ctx, call, p, fault)
	}
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		fix.Outcome, err = refused(NotPlanned, refusal), nil
	}
	if err != nil {
		return fix, err
	}
	if fix.Outcome.State == OutcomeRefused && !l.DryRun {
		l.Journal.refused(call)
	}
	return fix, l.Operator.ShowOutcome(fix.Outcome)
}

// plan makes the plan of a call from a fresh snapshot.
func (l *Loop) plan(ctx context.Context, call *Call) (*Plan, error) {
	r := l.Find(call.Repair)
	if r == nil {
		return nil, &Mistake{fmt.Errorf("no repair %q", call.Repair)}
	}
	args, err := r.Arguments(call.Args)
	if err != nil {
		return nil, &Mistake{fmt.Errorf("%w\nhint: ovnctl fix %s %s", err, r.Name, r.Usage())}
	}
	d := l.look(ctx)
	local := d.Local()
	if call.Node != "" && (local == nil || call.Node != local.Name && call.Node != local.SystemID) {
		return nil, elsewhere(call)
	}
	if r.Local && local != nil {
		call.Node = local.Name
	}
	p, err := r.Plan(d, args)
	if err != nil {
		return nil, classified(err)
	}
	if p.Host == "" || local != nil && (p.Host == local.Name || p.Host == local.SystemID) {
		return p, nil
	}
	call.Node = p.Host
	return nil, elsewhere(call)
}

// elsewhere is the error of a call that changes another host.
func elsewhere(c *Call) error {
	return &Mistake{fmt.Errorf("%s changes %s, which is another host\nhint: on %s: %s", c.Repair, c.Node, c.Node, c.Command())}
}

// classified returns the error of a plan that could not be made: a Refusal, an Unread, or else a Mistake.
func classified(err error) error {
	if _, ok := errors.AsType[*Refusal](err); ok {
		return err
	}
	_, database := errors.AsType[*ovsdb.Error](err)
	_, unopened := errors.AsType[cluster.Problem](err)
	if database || unopened || errors.Is(err, node.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		return &Unread{err}
	}
	return &Mistake{err}
}

// decide carries out a plan if nothing prevents it and the operator agrees.
func (l *Loop) decide(ctx context.Context, call *Call, p *Plan, fault *Fault) (Outcome, error) {
	if err := p.guard(ctx, l.target(ctx)); err != nil {
		return refused(reasonOf(err, NotPlanned), err), nil
	}
	switch {
	case l.DryRun:
		return Outcome{State: OutcomePlanned}, nil
	case call.Risk.above(l.MaxRisk):
		return refused(TooRisky, fmt.Errorf("its risk is %s\nhint: --max-risk %s allows it", call.Risk, call.Risk)), nil
	}
	o := Options{Progress: func(e Event) { l.Operator.Progress(p, e) }}
	otherwise := func(ctx context.Context) error { return l.confirmBy(ctx, Witnesses, true) }
	if !p.Cuts && l.Reply != nil && p.OneWay() == "" {
		p.Cuts = true
		otherwise = func(context.Context) error { return nil } // the reply is enough
	}
	if p.Cuts {
		if err := l.watch(ctx, &o, otherwise); err != nil {
			return refused(NotWatched, err), nil
		}
	}
	if yes, err := l.agreed(ctx, call, p); err != nil || !yes {
		return Outcome{State: OutcomeDeclined}, err
	}
	return l.carryOut(ctx, call, p, o, fault)
}

// carryOut applies a plan, and verifies it with the check that asked for it, or with
// all checks of the repair.
func (l *Loop) carryOut(ctx context.Context, call *Call, p *Plan, o Options, fault *Fault) (Outcome, error) {
	v := &verification{loop: l, checks: l.Find(call.Repair).checks()}
	if fault != nil {
		v.checks = []string{fault.Check}
	}
	v.aim(ctx, call, fault)
	source := l.Cluster.Source()
	o.Verify = v.wait
	o.Header = Header{Repair: call.Repair, Args: call.Args, Subject: v.subject(), Checks: v.checks, Sources: []string{source.NB, source.SB}}
	if p.Cuts {
		o.Header.Answered = l.replying(ctx)
	}
	if err := l.Journal.Lock(ctx); err != nil {
		return Outcome{}, err
	}
	defer l.Journal.Unlock()
	run, err := l.Journal.Apply(ctx, l.target(ctx), p, o)
	out := Outcome{State: OutcomeFixed, Before: v.before, After: v.after}
	if run != nil {
		out.Run, out.OneWay = run.ID, run.OneWay
		if steps, _, err := run.begun(); err == nil && len(steps) == 0 {
			out.State = OutcomeAlready
		}
	}
	failure, failed := errors.AsType[*Failure](err)
	if !failed {
		return out, err
	}
	out.State, out.Reason, out.Why = failure.State, failure.Reason, failure.Error()
	if out.State != OutcomeFailed || out.Reason != NotVerified { // the check's finding no longer holds
		out.After = nil
	}
	return out, nil
}

// watch has a run that can cut this host off watched and confirmed: by the witnesses, by the operator, or by otherwise
// if nobody is asked. The error is why no watchdog can run: then nothing is changed.
func (l *Loop) watch(ctx context.Context, o *Options, otherwise func(context.Context) error) error {
	t := l.target(ctx)
	if err := watchable(t); err != nil {
		return fmt.Errorf("it can cut this host off, and no watchdog can run: %w", err)
	}
	o.Watch = func(ctx context.Context, run int) error { return l.Journal.Arm(ctx, t, l.WatchArgs, run) }
	o.Within = l.Within
	switch {
	case len(l.Witnesses) > 0:
		o.Confirm = func(ctx context.Context) error { return l.confirmBy(ctx, l.Witnesses, false) }
	case !l.Yes:
		o.Confirm = l.confirmByHand
	default:
		o.Confirm = otherwise
	}
	if confirm := o.Confirm; l.Reply != nil && (l.Yes || len(l.Witnesses) > 0) {
		o.Confirm = func(ctx context.Context) error {
			if err := confirm(ctx); err != nil {
				return err
			}
			return l.Reply(ctx)
		}
	}
	return nil
}

func (l *Loop) confirmByHand(ctx context.Context) error {
	deadline, _ := ctx.Deadline()
	question := fmt.Sprintf("Can you still reach this host? Without a yes within %s everything is rolled back.", time.Until(deadline).Round(time.Second))
	yes, err := l.Operator.Ask(ctx, question, false)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("nobody answered in time")
	case err == nil && !yes:
		return errors.New("the answer was no")
	}
	return err
}

// agreed asks about the plan, and about each step that cannot be undone.
func (l *Loop) agreed(ctx context.Context, call *Call, p *Plan) (bool, error) {
	if l.Yes {
		return true, nil
	}
	if yes, err := l.question(ctx, "Do it?", call.Class == Auto); err != nil || !yes {
		return false, err
	}
	for i, s := range p.Steps {
		why := s.Summary().OneWay
		if why == "" {
			continue
		}
		if yes, err := l.question(ctx, fmt.Sprintf("Step %d cannot be undone: %s. Do it anyway?", i+1, why), false); err != nil || !yes {
			return false, err
		}
	}
	return true, nil
}

// question asks the operator. Getting no answer is a mistake of the call.
func (l *Loop) question(ctx context.Context, text string, enter bool) (bool, error) {
	yes, err := l.Operator.Ask(ctx, text, enter)
	if err != nil && ctx.Err() == nil {
		return false, &Mistake{err}
	}
	return yes, err
}

// Undo undoes a run, after asking the question.
func (l *Loop) Undo(ctx context.Context, run *Run, question string) (Fix, error) {
	fix := Fix{Call: run.Call(), Plan: run.UndoPlan()}
	kept, err := run.Undoable(ctx, l.target(ctx))
	for _, what := range kept {
		fix.Plan.Warnings = append(fix.Plan.Warnings, what+" is not this repair's, and stays")
	}
	if shown := l.Operator.ShowUndo(run, fix.Plan); err == nil {
		err = shown
	}
	if err != nil {
		return fix, err
	}
	if fix.Outcome, err = l.undo(ctx, run, question); err == nil {
		err = l.Operator.ShowOutcome(fix.Outcome)
	}
	return fix, err
}

func (l *Loop) undo(ctx context.Context, run *Run, question string) (Outcome, error) {
	var watched Options
	if run.Cuts {
		again := func(ctx context.Context) error { return l.confirmBy(ctx, run.Answered, false) }
		if err := l.watch(ctx, &watched, again); err != nil {
			return Outcome{}, err
		}
	}
	if l.DryRun {
		return Outcome{State: OutcomePlanned}, nil
	}
	if !l.Yes {
		if yes, err := l.question(ctx, question, false); err != nil || !yes {
			return Outcome{State: OutcomeDeclined}, err
		}
	}
	if err := l.Journal.Lock(ctx); err != nil {
		return Outcome{}, err
	}
	defer l.Journal.Unlock()
	l.Journal.forgetRefusal()
	return Outcome{State: OutcomeUndone, Run: run.ID}, l.Journal.Undo(ctx, l.target(ctx), run, watched)
}

// Recover finishes or rolls back interrupted runs.
func (l *Loop) Recover(ctx context.Context) ([]Recovery, error) {
	runs, err := l.Journal.Runs()
	if err != nil || !slices.ContainsFunc(runs, (*Run).Open) {
		return nil, err
	}
	if err := l.Journal.Lock(ctx); err != nil {
		return nil, err
	}
	defer l.Journal.Unlock()
	return l.Journal.Recover(ctx, l.target(ctx), func(ctx context.Context, r *Run) error {
		v := &verification{loop: l, checks: r.Checks}
		if r.Object != "" {
			v.targets = map[Subject]bool{r.Subject: true}
		}
		return v.wait(ctx)
	})
}

func (l *Loop) look(ctx context.Context) *snapshot.Deployment {
	return snapshot.Look(ctx, l.Cluster, snapshot.Options{Sample: l.Sample})
}

func (l *Loop) target(ctx context.Context) *Target { return On(l.look(ctx), l.Root) }
