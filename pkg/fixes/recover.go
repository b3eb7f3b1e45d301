package fixes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/escape"
	"github.com/ovnctl/ovnctl/pkg/node"
)

// A Recovery is the outcome of an interrupted run.
type Recovery struct {
	Run      *Run
	Finished bool // else rolled back
	Kept     bool // its undo was interrupted; the run is in place again
	Err      error
}

func (r Recovery) String() string {
	what := fmt.Sprintf("run %d, %s, ", r.Run.ID, escape.Line(r.Run.Title))
	switch {
	case r.Err != nil:
		return fmt.Sprintf("%swas cut off and could be neither finished nor rolled back: %v", what, r.Err)
	case r.Kept:
		return what + "was cut off while it was being undone; it is in place again"
	case r.Finished:
		return what + "was cut off; it is finished now"
	}
	return what + "was cut off; it was rolled back"
}

// Recover finishes or rolls back interrupted runs. The journal must be locked. A run that has begun a step that cannot
// be undone is finished; one that has done all its steps is kept if verify confirms that it helped; all others are
// rolled back.
func (j *Journal) Recover(ctx context.Context, t *Target, verify func(context.Context, *Run) error) ([]Recovery, error) {
	runs, err := j.Runs()
	if err != nil {
		return nil, err
	}
	var all []Recovery
	for _, r := range slices.Backward(runs) {
		if !r.armed() {
			continue
		}
		t.process = strconv.Itoa(r.ID)
		e := &engine{Journal: j, t: t, run: r}
		if verify != nil {
			e.o.Verify = func(ctx context.Context) error { return verify(ctx, r) }
		}
		if r.undoer() != nil {
			all = append(all, Recovery{Run: r, Kept: true, Err: e.redo(ctx, CutOff, "the undo was cut off")})
			continue
		}
		finished, err := e.recover(ctx)
		all = append(all, Recovery{Run: r, Finished: finished, Err: err})
	}
	return all, nil
}

func (e *engine) recover(ctx context.Context) (finished bool, err error) {
	steps, ended, err := e.run.begun()
	if err != nil {
		return false, err
	}
	whole, forward := true, false
	for n := range e.run.Steps {
		a := steps[n+1]
		whole = whole && a != nil && ended[n+1] == Done
		forward = forward || a != nil && e.stays(ctx, a, ended[n+1])
	}
	if !forward && (!whole || e.run.State() == Undoing || e.run.Cuts) {
		return false, e.revert(ctx, CutOff, "the run was cut off")
	}
	if err := e.finish(ctx, steps, ended); err != nil {
		if forward {
			return false, fmt.Errorf("%w: %w", errNow, err)
		}
		return false, errors.Join(err, e.revert(ctx, StepFailed, err.Error()))
	}
	reason, err := e.verify(ctx)
	if err == nil && e.run.Cuts {
		err = e.note(Event{State: Confirmed, Text: "a step that cannot be undone had begun"})
	}
	if err == nil {
		return true, nil
	}
	if stuck := e.revert(ctx, reason, err.Error()); stuck != nil {
		return false, fmt.Errorf("%w; %w", err, stuck)
	}
	return false, nil
}

// stays reports whether a started step cannot be undone, so that the run must be finished.
func (e *engine) stays(ctx context.Context, a Step, ended State) bool {
	if a.Summary().OneWay == "" && e.run.NoUndo == "" || ended == TakenBack {
		return false
	}
	at, _, err := a.look(ctx, e.t)
	return ended == Done || err != nil || at != untouched
}

// finish carries out the rest of the run.
func (e *engine) finish(ctx context.Context, steps map[int]Step, ended map[int]State) error {
	for i, w := range e.run.Steps {
		n := i + 1
		if ended[n] == Done {
			continue
		}
		a, carryOut := steps[n], e.finishStep
		if a == nil {
			planned, err := w.read()
			if err != nil {
				return err
			}
			a, carryOut = planned, e.step
		}
		if err := carryOut(ctx, n, a); err != nil {
			return fmt.Errorf("%s: %w", escape.Line(a.Summary().What), err)
		}
	}
	return nil
}

// finishStep finishes a started step.
func (e *engine) finishStep(ctx context.Context, n int, a Step) error {
	at, why, err := a.look(ctx, e.t)
	switch {
	case err != nil:
		return err
	case at == moved:
		return fmt.Errorf("%w: %s", ErrChanged, why)
	case at != done:
		if err := a.do(ctx, e.t); err != nil && !overAlready(a, err) {
			return err
		}
	}
	return e.note(Event{State: Done, Step: n})
}

// overAlready reports whether a daemon refuses a command because it has carried it
// out before.
func overAlready(a Step, err error) bool {
	c, command := a.(Control)
	refused, is := errors.AsType[*node.ControlError](err)
	return command && is && c.Over != "" && strings.Contains(refused.Text, c.Over)
}

// Leave closes an interrupted run that can be neither finished nor rolled back: its changes stay, and other runs may
// follow. The journal must be locked.
func (j *Journal) Leave(id int) (*Run, error) {
	r, err := j.run(id)
	if err != nil {
		return nil, err
	}
	if !r.armed() {
		return nil, fmt.Errorf("run %d was not cut off: it is %s", id, r.State())
	}
	return r, r.note(Event{State: Stuck, Reason: Asked, Text: "left as it was"})
}
