package fixes

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ovnctl/ovnctl/pkg/escape"
	"github.com/ovnctl/ovnctl/pkg/node"
)

// Options control how a plan is carried out.
type Options struct {
	// Header is what the loop knows of the run: the call, what it fixes and what verifies it, and the witnesses of a
	// plan that cuts.
	Header Header

	// Verify fails while the fault is still found; nil if nothing verifies it. It waits as long as the fix may take to
	// show.
	Verify func(context.Context) error
	// Watch starts the watchdog of a plan that cuts; it is running when Watch returns. Confirm returns once the host is
	// confirmed reachable.
	Watch   func(ctx context.Context, run int) error
	Confirm func(context.Context) error
	Within  time.Duration // to confirm

	// Progress is called for every event.
	Progress func(Event)
}

// Apply carries out a plan. The journal must be locked. A plan that fails is rolled
// back; the error is then a *Failure.
func (j *Journal) Apply(ctx context.Context, t *Target, p *Plan, o Options) (*Run, error) {
	if err := p.guard(ctx, t); err != nil {
		return nil, &Failure{Reason: reasonOf(err, NotPlanned), Why: err, State: OutcomeRefused}
	}
	failpoint("guarded")
	run, err := j.plan(p, o)
	if err != nil {
		return nil, &Failure{Reason: NotWritten, Why: err, State: OutcomeRefused}
	}
	t.process = strconv.Itoa(run.ID)
	e := &engine{Journal: j, t: t, run: run, o: o}
	if reason, err := e.carryOut(ctx, p.Steps); err != nil {
		return run, e.fail(ctx, reason, err)
	}
	return run, nil
}

// reasonOf returns the reason of an error: otherwise, unless the state has changed.
func reasonOf(err error, otherwise Reason) Reason {
	if errors.Is(err, ErrChanged) {
		return NotAsPlanned
	}
	return otherwise
}

func (j *Journal) plan(p *Plan, o Options) (*Run, error) {
	h := o.Header
	h.Title, h.Host, h.Cuts, h.OneWay, h.NoUndo = p.Title, p.Host, p.Cuts, p.OneWay(), p.NoUndo
	h.Process = thisProcess(o.Within)
	for _, a := range p.Steps {
		w, err := write(a)
		if err != nil {
			return nil, err
		}
		h.Steps = append(h.Steps, w)
		h.Commands = append(h.Commands, a.Summary().Commands...)
	}
	return j.begin(h)
}

// An engine carries out one run, or undoes it.
type engine struct {
	*Journal
	t   *Target
	run *Run
	o   Options
}

func (e *engine) note(ev Event) error {
	err := e.run.note(ev)
	if e.o.Progress != nil {
		e.o.Progress(ev)
	}
	return err
}

func (e *engine) carryOut(ctx context.Context, steps []Step) (Reason, error) {
	if e.run.Cuts {
		if err := e.arm(ctx); err != nil {
			return NotWatched, err
		}
		if err := e.note(Event{State: Armed}); err != nil {
			return NotWritten, err
		}
	}
	for i, a := range steps {
		if err := e.step(ctx, i+1, a); err != nil {
			return reasonOf(err, StepFailed), fmt.Errorf("%s: %w", escape.Line(a.Summary().What), err)
		}
	}
	if reason, err := e.verify(ctx); err != nil {
		return reason, err
	}
	if !e.run.Cuts {
		return "", nil
	}
	if err := e.confirm(ctx); err != nil {
		return NotConfirmed, err
	}
	return NotWritten, e.note(Event{State: Confirmed})
}

// arm starts the watchdog of a run that cuts.
func (e *engine) arm(ctx context.Context) error {
	if e.o.Watch == nil || e.o.Confirm == nil {
		return errors.New("the steps can cut this host off, and no watchdog was given")
	}
	if err := e.o.Watch(ctx, e.run.ID); err != nil {
		return fmt.Errorf("cannot start the watchdog: %w", err)
	}
	return nil
}

func (e *engine) confirm(ctx context.Context) error {
	if !e.watched(e.run.ID) { // before a quick answer hides it
		return fmt.Errorf("not confirmed: %w", errUnwatched)
	}
	watched, unwatched := context.WithCancelCause(ctx)
	defer unwatched(nil)
	go e.whileWatched(watched, unwatched)
	within, cancel := context.WithTimeout(watched, e.o.Within)
	defer cancel()
	if err := e.o.Confirm(within); err != nil {
		if errors.Is(context.Cause(watched), errUnwatched) {
			err = errUnwatched
		}
		return fmt.Errorf("not confirmed: %w", err)
	}
	return nil
}

// whileWatched cancels once the watchdog has ended: the next to end may be this process, with the login.
func (e *engine) whileWatched(ctx context.Context, cancel context.CancelCauseFunc) {
	_ = wait(ctx, 200*time.Millisecond, func() (bool, error) {
		if !e.watched(e.run.ID) {
			cancel(errUnwatched)
			return true, nil
		}
		return false, nil
	})
}

var errUnwatched = errors.New("the watchdog is no longer running")

func (e *engine) verify(ctx context.Context) (Reason, error) {
	failpoint("before verify")
	if e.o.Verify != nil {
		if err := e.o.Verify(ctx); err != nil {
			return NotVerified, fmt.Errorf("not verified: %w", err)
		}
	}
	failpoint("after verify")
	return NotWritten, e.note(Event{State: Verified})
}

func (e *engine) step(ctx context.Context, n int, a Step) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.run.Cuts && e.o.Watch != nil && !e.watched(e.run.ID) {
		return errUnwatched
	}
	a, err := ready(ctx, a, e.t)
	if err != nil {
		return err
	}
	at, why, err := a.look(ctx, e.t)
	switch {
	case err != nil:
		return err
	case at == moved:
		return fmt.Errorf("%w: %s", ErrChanged, why)
	case at == done: // somebody else was faster: there is nothing to undo
		return nil
	}
	w, err := write(a)
	if err != nil {
		return err
	}
	if err := e.note(Event{State: Begun, Step: n, Action: &w}); err != nil {
		return err
	}
	if err := a.do(ctx, e.t); err != nil {
		var refused *node.ControlError
		if _, command := a.(Control); command && errors.As(err, &refused) { // the daemon did nothing
			_ = e.note(Event{State: TakenBack, Step: n, Text: "refused"})
		}
		return err
	}
	failpoint(fmt.Sprintf("step %d done", n))
	return e.note(Event{State: Done, Step: n})
}

// fail rolls the run back.
func (e *engine) fail(ctx context.Context, reason Reason, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	f := &Failure{Reason: reason, Why: why, State: OutcomeRolledBack}
	if steps, _, err := e.run.begun(); err == nil && len(steps) == 0 {
		f.State = OutcomeRefused
	}
	if f.Stuck = e.revert(ctx, reason, why.Error()); f.Stuck != nil {
		f.State = OutcomeFailed
	}
	return f
}
