package fixes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/escape"
)

// revert undoes all started steps, the last one first, and stops where somebody else has changed something since. If
// the disk is full and the journal cannot be written, the steps are undone nevertheless, as long as the next run can
// see how far that went: of two steps on one thing only the later one.
func (e *engine) revert(ctx context.Context, reason Reason, why string) error {
	_ = e.note(Event{State: Undoing, Reason: reason, Text: why})
	e.t.rollback = reason != Asked
	switch err := e.undoSteps(ctx); {
	case errors.Is(err, errNow):
		return err
	case err != nil:
		_ = e.note(Event{State: Stuck, Text: err.Error()})
		return err
	}
	if err := e.note(Event{State: Undone, Reason: reason, Text: why}); err != nil {
		return fmt.Errorf("%w: %w", errUnwritten, err)
	}
	return nil
}

func (e *engine) undoSteps(ctx context.Context) error {
	steps, ended, err := e.run.begun()
	if err != nil {
		return fmt.Errorf("%w: %w", errNow, err)
	}
	e.t.steps = slices.Collect(maps.Values(steps))
	var stays, unwritten error
	silent := touched{} // undone, and not in the journal
	for n := len(e.run.Steps); n > 0; n-- {
		a := steps[n]
		if a == nil || ended[n] == TakenBack || e.run.lost(a) {
			continue
		}
		if silent.has(a) {
			// The next run examines the later step first, and would find neither its before nor its after state.
			return fmt.Errorf("%s: %w: %w", escape.Line(a.Summary().What), errNow, unwritten)
		}
		err := e.undoStep(ctx, n, a)
		if err != nil {
			err = fmt.Errorf("%s: %w", escape.Line(a.Summary().What), err)
		}
		switch {
		case errors.Is(err, errOneWay): // the steps before it can be undone
			stays = errors.Join(err, stays)
		case errors.Is(err, errUnwritten):
			unwritten = err
			silent.add(a)
		case err != nil:
			return err
		}
	}
	return stays
}

// errOneWay means that a step cannot be undone.
var errOneWay = errors.New("it cannot be undone")

// errNow means that a step cannot be undone now, though perhaps later.
var errNow = errors.New("at present")

// errUnwritten means that a step was undone without the journal.
var errUnwritten = errors.New("it was rolled back, and the journal could not be written")

func (e *engine) undoStep(ctx context.Context, n int, a Step) error {
	if f, ok := a.(File); ok { // what a dead run left half written
		if _, name, err := e.t.readFile(f.Path); err == nil {
			_ = e.t.sweep(name)
		}
	}
	if e.run.undoer() != nil && !e.watched(e.run.ID) {
		return errUnwatched
	}
	at, why, err := a.look(ctx, e.t)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errNow, err)
	case at == moved:
		return fmt.Errorf("%w: %s", ErrChanged, why)
	case at == untouched:
		return nil
	}
	if why := a.Summary().OneWay; why != "" {
		return fmt.Errorf("%w: %s", errOneWay, why)
	}
	failpoint(fmt.Sprintf("before step %d is taken back", n))
	if err := a.undo(ctx, e.t); err != nil {
		if at, _, lookErr := a.look(ctx, e.t); lookErr != nil || at == done || at == halfDone {
			return fmt.Errorf("%w: %w", errNow, err)
		}
		return err
	}
	failpoint(fmt.Sprintf("step %d taken back", n))
	if err := e.note(Event{State: TakenBack, Step: n}); err != nil {
		return fmt.Errorf("%w: %w", errUnwritten, err)
	}
	return nil
}

// An UndoError is why a run cannot be undone.
type UndoError struct {
	Run *Run
	Why string
}

func (e *UndoError) Error() string {
	return fmt.Sprintf("run %d, %s, cannot be undone: %s", e.Run.ID, escape.Line(e.Run.Title), e.Why)
}

// Undoable reports as an *UndoError why a run cannot be undone: one of its steps cannot be, somebody has since changed
// what it changed, or undo would remove what others have. It returns what else is there and undo keeps, one line each.
func (r *Run) Undoable(ctx context.Context, t *Target) (kept []string, err error) {
	steps, ended, err := r.begun()
	if err != nil {
		return nil, err
	}
	if r.NoUndo != "" {
		return nil, &UndoError{r, r.NoUndo}
	}
	for _, a := range steps {
		if why := a.Summary().OneWay; why != "" {
			return nil, &UndoError{r, why}
		}
	}
	t.process = strconv.Itoa(r.ID)
	if err := r.unchanged(ctx, t, steps, ended); err != nil {
		return nil, err
	}
	var there []Step
	for n, a := range steps {
		if ended[n] != TakenBack && !r.lost(a) {
			there = append(there, a)
		}
	}
	b, err := beside(ctx, t, there)
	if err != nil {
		return nil, err
	}
	if len(b.Lost) > 0 {
		return nil, &UndoError{r, "it would also remove what others have: " + strings.Join(b.Lost, "; ")}
	}
	return b.Kept, nil
}

// unchanged reports as an *UndoError what is not as the steps left it.
func (r *Run) unchanged(ctx context.Context, t *Target, steps map[int]Step, ended map[int]State) error {
	later := touched{}
	for n := len(r.Steps); n > 0; n-- {
		a := steps[n]
		if a == nil || ended[n] == TakenBack || r.lost(a) || later.add(a) {
			continue
		}
		at, why, err := a.look(ctx, t)
		switch {
		case err != nil:
			return err
		case at == done || at == unseen:
			continue
		case why == "":
			why = fmt.Sprintf("%s: it is %s", escape.Line(a.Summary().What), at)
		}
		return &UndoError{r, "it was changed since: " + why}
	}
	return nil
}

// Undo undoes a run. The journal must be locked. A run that cuts is undone under a watchdog, by Watch, Confirm and
// Within of the options. Unless that is confirmed, the run is put in place again.
func (j *Journal) Undo(ctx context.Context, t *Target, r *Run, o Options) error {
	if _, err := r.Undoable(ctx, t); err != nil {
		return err
	}
	e := &engine{Journal: j, t: t, run: r, o: o}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute+o.Within)
	defer cancel()
	undo := e.revert
	if r.Cuts {
		undo = e.revertWatched
	}
	if err := undo(ctx, Asked, "asked for"); err != nil {
		return &UndoError{r, err.Error()}
	}
	return nil
}

// revertWatched undoes a run that cuts, and puts it in place again if that fails or
// is not confirmed.
func (e *engine) revertWatched(ctx context.Context, reason Reason, why string) error {
	by := thisProcess(e.o.Within)
	if err := e.note(Event{State: Undoing, Reason: reason, Text: why, By: &by}); err != nil {
		return err
	}
	failed, err := e.undoWatched(ctx)
	if err == nil {
		return e.note(Event{State: Undone, Reason: reason, Text: why})
	}
	if stuck := e.redo(ctx, failed, err.Error()); stuck != nil {
		return fmt.Errorf("%w; it could not be put in place again: %w", err, stuck)
	}
	return fmt.Errorf("%w; it is in place again", err)
}

func (e *engine) undoWatched(ctx context.Context) (Reason, error) {
	if err := e.arm(ctx); err != nil {
		return NotWatched, err
	}
	if err := e.undoSteps(ctx); err != nil {
		return StepFailed, err
	}
	if err := e.note(Event{State: TakenBack}); err != nil {
		return NotWritten, err
	}
	return NotConfirmed, e.confirm(ctx)
}

// redo puts in place again what an undo under a watchdog undid.
func (e *engine) redo(ctx context.Context, reason Reason, why string) error {
	steps, ended, err := e.run.begun()
	if err != nil {
		return err
	}
	for n := 1; n <= len(e.run.Steps); n++ {
		a := steps[n]
		if a == nil || e.run.lost(a) {
			continue
		}
		if err := e.redoStep(ctx, n, a); err != nil {
			return fmt.Errorf("%s: %w", escape.Line(a.Summary().What), err)
		}
		if ended[n] == TakenBack {
			_ = e.note(Event{State: Done, Step: n}) // on a full disk it is done nevertheless
		}
	}
	return e.note(Event{State: Confirmed, Reason: reason, Text: why})
}

func (e *engine) redoStep(ctx context.Context, n int, a Step) error {
	at, why, err := a.look(ctx, e.t)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errNow, err)
	case at == done:
		return nil
	case at == moved:
		err := fmt.Errorf("%w: %s", ErrChanged, why)
		_ = e.note(Event{State: Stuck, Text: fmt.Sprintf("%s: %v", escape.Line(a.Summary().What), err)})
		return err
	}
	failpoint(fmt.Sprintf("before step %d is made again", n))
	if err := a.do(ctx, e.t); err != nil {
		return fmt.Errorf("%w: %w", errNow, err)
	}
	return nil
}
