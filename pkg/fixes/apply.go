package fixes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// Options say how a plan is carried out.
type Options struct {
	Call    *Call
	Object  string   // of the finding that is mended
	Checks  []string // that must pass afterwards
	Sources []string // where the databases were read, for people

	// Verify says whether the fault is gone; nil: there is nothing to ask. It waits
	// as long as that may take.
	Verify func(context.Context) error
	// Watch starts the watchdog for a plan that cuts, which is there when it returns. Confirm
	// returns when the operator, or what was named in his place, confirms that
	// the host can be reached.
	Watch   func(ctx context.Context, id int, lasts time.Duration) error
	Confirm func(context.Context) error
	Within  time.Duration // to confirm
	// Answered is what of that which can confirm a plan that cuts answers now.
	Answered []string

	// Progress is told of every event.
	Progress func(Event)
}

// A Failure is a plan that was not carried out, or did not help.
type Failure struct {
	Why error
	// Undone: all is as it was before.
	Undone bool
	// Stuck is why it could not be taken back, or why the journal does not know.
	Stuck error
	ID    int
}

func (f *Failure) Error() string {
	switch {
	case errors.Is(f.Stuck, errUnwritten) && !errors.Is(f.Stuck, errNow):
		return fmt.Sprintf("%v; %v", f.Why, f.Stuck)
	case f.Stuck != nil:
		return fmt.Sprintf("%v; and it could not be taken back: %v", f.Why, f.Stuck)
	case f.Undone && f.ID != 0:
		return fmt.Sprintf("%v; all was taken back", f.Why)
	}
	return fmt.Sprintf("%v; nothing was done", f.Why)
}

// Unwrap is why.
func (f *Failure) Unwrap() error { return f.Why }

// ErrMoved is a world that is not as the plan was made from.
var ErrMoved = errors.New("the world has moved on since the plan was made")

// A preparer is a step that notes something before the journal has it.
type preparer interface {
	ready(ctx context.Context, t *Target) (action, error)
}

func ready(ctx context.Context, a action, t *Target) (action, error) {
	if p, ok := a.(preparer); ok {
		return p.ready(ctx, t)
	}
	return a, nil
}

// Check finds what speaks against a plan before anybody is asked: secrets, files
// that are none, a world that has moved. It changes nothing.
func Check(ctx context.Context, t *Target, p *Plan) error {
	actions, err := p.actions()
	if err != nil {
		return err
	}
	return guard(ctx, t, actions)
}

func (p *Plan) actions() ([]action, error) {
	var all []action
	for _, s := range p.Steps {
		a, err := actionOf(s)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

// OneWay is why a plan cannot be undone; empty: it can.
func (p *Plan) OneWay() string {
	if p.NoUndo != "" {
		return p.NoUndo
	}
	for _, s := range p.Steps {
		if why := s.OneWay(); why != "" {
			return why
		}
	}
	return ""
}

// guard looks at all steps whose world can be known now: a step after one that
// starts a daemon or changes the same thing is looked at when its turn comes.
func guard(ctx context.Context, t *Target, actions []action) error {
	touched := map[string]bool{}
	for _, a := range actions {
		switch a.(type) {
		case Service, Control, Await, Module:
			return nil
		}
		mine := a.on()
		if !slices.ContainsFunc(mine, func(on string) bool { return touched[on] }) {
			if _, err := ready(ctx, a, t); err != nil {
				return err
			}
			at, why, err := a.look(ctx, t)
			switch {
			case err != nil:
				return err
			case at == moved || at == halfDone:
				return fmt.Errorf("%w: %s", ErrMoved, why)
			}
		}
		for _, on := range mine {
			touched[on] = true
		}
	}
	return nil
}

// Apply carries out a plan. The journal must be locked. Whatever goes wrong is
// taken back; the error is then a *Failure.
func (j *Journal) Apply(ctx context.Context, t *Target, p *Plan, o Options) (*Run, error) {
	actions, err := p.actions()
	if err != nil {
		return nil, err
	}
	if err := guard(ctx, t, actions); err != nil {
		return nil, &Failure{Why: err, Undone: true}
	}
	failpoint("guarded")
	run, err := j.plan(p, actions, o)
	if err != nil {
		return nil, &Failure{Why: err, Undone: true}
	}
	t.process = strconv.Itoa(run.ID)
	e := &engine{Journal: j, t: t, run: run, o: o}
	if err := e.carryOut(ctx, actions); err != nil {
		return run, e.fail(ctx, err)
	}
	return run, nil
}

func (j *Journal) plan(p *Plan, actions []action, o Options) (*Run, error) {
	h := Header{
		Title: p.Title, Host: p.Host, Object: o.Object, Checks: o.Checks, Sources: o.Sources,
		Cuts: p.Cuts, Answered: o.Answered, OneWay: p.OneWay(), NoUndo: p.NoUndo, Process: thisProcess(0),
	}
	if p.Cuts {
		h.Process = thisProcess(o.Within)
	}
	if o.Call != nil {
		h.Repair, h.Args = o.Call.Repair, o.Call.Args
	}
	for _, a := range actions {
		w, err := write(a)
		if err != nil {
			return nil, err
		}
		h.Steps = append(h.Steps, w)
		h.Commands = append(h.Commands, a.Commands()...)
	}
	return j.begin(h)
}

// An engine carries out one run.
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

func (e *engine) carryOut(ctx context.Context, actions []action) error {
	if e.run.Cuts {
		if err := e.arm(ctx); err != nil {
			return err
		}
		if err := e.note(Event{State: Armed}); err != nil {
			return err
		}
	}
	for i, a := range actions {
		if err := e.step(ctx, i+1, a); err != nil {
			return fmt.Errorf("%s: %w", a, err)
		}
	}
	if err := e.verify(ctx); err != nil {
		return err
	}
	if !e.run.Cuts {
		return nil
	}
	if err := e.confirm(ctx); err != nil {
		return err
	}
	return e.note(Event{State: Confirmed})
}

// arm starts the watchdog of a run that cuts.
func (e *engine) arm(ctx context.Context) error {
	if e.o.Watch == nil || e.o.Confirm == nil {
		return errors.New("the steps can cut this host off, and nothing watches them")
	}
	if err := e.o.Watch(ctx, e.run.ID, e.o.Within); err != nil {
		return fmt.Errorf("no watchdog can be armed: %w", err)
	}
	return nil
}

func (e *engine) confirm(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, e.o.Within)
	defer cancel()
	if err := e.o.Confirm(within); err != nil {
		return fmt.Errorf("not confirmed: %w", err)
	}
	return nil
}

var errUnwatched = errors.New("the watchdog has gone")

func (e *engine) verify(ctx context.Context) error {
	failpoint("before verify")
	if e.o.Verify != nil {
		if err := e.o.Verify(ctx); err != nil {
			return fmt.Errorf("the check does not pass afterwards: %w", err)
		}
	}
	failpoint("after verify")
	return e.note(Event{State: Verified})
}

func (e *engine) step(ctx context.Context, n int, a action) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.run.Cuts && e.run.State() == Armed && !e.watched(e.run.ID) {
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
		return fmt.Errorf("%w: %s", ErrMoved, why)
	case at == done: // somebody else was faster: nothing that undo could take back
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

// fail takes back what was done and says so.
func (e *engine) fail(ctx context.Context, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer cancel()
	f := &Failure{Why: why}
	if steps, _, err := e.run.begun(); err != nil || len(steps) > 0 {
		f.ID = e.run.ID
	}
	f.Stuck = e.revert(ctx, why.Error())
	f.Undone = f.Stuck == nil
	return f
}

// revert takes back all that was begun, in the reverse order, and stops where
// somebody else has changed something since. What the journal cannot hold any
// more, on a full disk, is done all the same as long as who comes next can see it:
// of two steps on one thing the later one only.
func (e *engine) revert(ctx context.Context, why string) error {
	_ = e.note(Event{State: Undoing, Text: why})
	switch err := e.takeAllBack(ctx); {
	case errors.Is(err, errNow):
		return err
	case err != nil:
		_ = e.note(Event{State: Stuck, Text: err.Error()})
		return err
	}
	if err := e.note(Event{State: Undone, Text: why}); err != nil {
		return fmt.Errorf("%w: %w", errUnwritten, err)
	}
	return nil
}

func (e *engine) takeAllBack(ctx context.Context) error {
	steps, ended, err := e.run.begun()
	if err != nil {
		return fmt.Errorf("%w: %w", errNow, err)
	}
	rebooted := e.run.rebooted()
	var stays, unwritten error
	silent := map[string]bool{} // what was taken back, and the journal does not say so
	for n := len(e.run.Steps); n > 0; n-- {
		a := steps[n]
		if a == nil || ended[n] == TakenBack {
			continue
		}
		if rebooted && !a.lasts() { // the boot took it back
			continue
		}
		if slices.ContainsFunc(a.on(), func(on string) bool { return silent[on] }) {
			// Who comes next looks at the later step first, and would find neither what was before it nor what it made.
			return fmt.Errorf("%s: %w: %w", a, errNow, unwritten)
		}
		err := e.takeBack(ctx, n, a)
		if err != nil {
			err = fmt.Errorf("%s: %w", a, err)
		}
		switch {
		case errors.Is(err, errOneWay): // what came before it can go all the same
			stays = errors.Join(err, stays)
		case errors.Is(err, errUnwritten):
			unwritten = err
			for _, on := range a.on() {
				silent[on] = true
			}
		case err != nil:
			return err
		}
	}
	return stays
}

// errOneWay is a step that nothing takes back.
var errOneWay = errors.New("it cannot be taken back")

// errNow is a step that cannot be taken back at present, though later perhaps.
var errNow = errors.New("at present")

// errUnwritten is what was taken back, and the journal cannot hold that.
var errUnwritten = errors.New("it was taken back, and the journal cannot say so")

func (e *engine) takeBack(ctx context.Context, n int, a action) error {
	if f, ok := a.(File); ok { // what a run that died left half written
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
		return fmt.Errorf("%w: %s", ErrMoved, why)
	case at == untouched:
		return nil
	}
	if why := a.OneWay(); why != "" {
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

// A Recovery is what became of a run that died.
type Recovery struct {
	Run      *Run
	Finished bool // else taken back
	Kept     bool // it was the run's undoing that died; the run stands as before
	Err      error
}

func (r Recovery) String() string {
	what := fmt.Sprintf("run %d, %s", r.Run.ID, r.Run.Title)
	switch {
	case r.Kept && r.Err == nil:
		return what + ", was being undone when that was cut off; it is in place again"
	case r.Err != nil:
		return fmt.Sprintf("%s, was cut off and could be neither finished nor taken back: %v", what, r.Err)
	case r.Finished:
		return what + ", was cut off; it is finished now"
	}
	return what + ", was cut off; it was taken back"
}

// Recover finishes or takes back the runs that died. The journal must be locked.
// Verify says whether a run's fault is gone. What began a one-way step, or has
// done a step of a plan that is not to be undone, is finished; what did all its
// steps is kept if it helped; all else is taken back.
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
		if r.undoer() != nil {
			all = append(all, Recovery{Run: r, Kept: true, Err: e.redo(ctx, "the undo was cut off")})
			continue
		}
		finished, err := e.recover(ctx, verify)
		all = append(all, Recovery{Run: r, Finished: finished, Err: err})
	}
	return all, nil
}

func (e *engine) recover(ctx context.Context, verify func(context.Context, *Run) error) (finished bool, err error) {
	steps, ended, err := e.run.begun()
	if err != nil {
		return false, err
	}
	whole, forward := true, false
	for n := range e.run.Steps {
		a := steps[n+1]
		if a == nil || ended[n+1] != Done {
			whole = false
		}
		if a != nil && (a.OneWay() != "" || e.run.NoUndo != "") && ended[n+1] != TakenBack {
			if at, _, err := a.look(ctx, e.t); ended[n+1] == Done || err != nil || at != untouched {
				forward = true
			}
		}
	}
	if e.run.State() == Undoing && !forward || e.run.Cuts && !forward {
		return false, e.revert(ctx, "the run was cut off")
	}
	if !whole && !forward {
		return false, e.revert(ctx, "the run was cut off")
	}
	if err := e.finish(ctx, steps, ended); err != nil {
		if forward {
			return false, fmt.Errorf("%w: %w", errNow, err)
		}
		return false, errors.Join(err, e.revert(ctx, err.Error()))
	}
	e.o.Verify = nil
	if verify != nil {
		e.o.Verify = func(ctx context.Context) error { return verify(ctx, e.run) }
	}
	err = e.verify(ctx)
	if err == nil && e.run.Cuts {
		err = e.note(Event{State: Confirmed, Text: "a one-way step had begun"})
	}
	if err == nil {
		return true, nil
	}
	if stuck := e.revert(ctx, err.Error()); stuck != nil {
		return false, fmt.Errorf("%w; %w", err, stuck)
	}
	return false, nil
}

// finish carries out what is left of the run.
func (e *engine) finish(ctx context.Context, steps map[int]action, ended map[int]State) error {
	for i, w := range e.run.Steps {
		n := i + 1
		if ended[n] == Done {
			continue
		}
		a := steps[n]
		if a == nil {
			planned, err := w.action()
			if err != nil {
				return err
			}
			if err := e.step(ctx, n, planned); err != nil {
				return fmt.Errorf("%s: %w", planned, err)
			}
			continue
		}
		at, why, err := a.look(ctx, e.t)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", a, err)
		case at == moved:
			return fmt.Errorf("%s: %w: %s", a, ErrMoved, why)
		case at != done:
			if err := a.do(ctx, e.t); err != nil && !overAlready(a, err) {
				return fmt.Errorf("%s: %w", a, err)
			}
		}
		if err := e.note(Event{State: Done, Step: n}); err != nil {
			return err
		}
	}
	return nil
}

// overAlready says whether a daemon refuses a command since it has carried it out before.
func overAlready(a action, err error) bool {
	c, command := a.(Control)
	refused, is := errors.AsType[*node.ControlError](err)
	return command && is && c.Over != "" && strings.Contains(refused.Text, c.Over)
}

// An UndoError is a run that cannot be undone, and why.
type UndoError struct {
	Run *Run
	Why string
}

func (e *UndoError) Error() string {
	return fmt.Sprintf("run %d, %s, cannot be undone: %s", e.Run.ID, e.Run.Title, e.Why)
}

// Leave closes a run that was cut off and that can be neither finished nor taken
// back: what it did stays as it is, and other runs may follow. The journal must
// be locked.
func (j *Journal) Leave(id int) (*Run, error) {
	r, err := j.run(id)
	if err != nil {
		return nil, err
	}
	if !r.armed() {
		return nil, fmt.Errorf("run %d is %s: it was not cut off", id, r.State())
	}
	return r, r.note(Event{State: Stuck, Text: "left as it was, as asked for"})
}

// ErrNoRun is a journal without a run that could be undone.
var ErrNoRun = errors.New("the journal has no run that could be undone")

// Last is the run of a number, or with 0 the last one whose change is there.
func (j *Journal) Last(id int) (*Run, error) {
	runs, err := j.Runs()
	if err != nil {
		return nil, err
	}
	for _, r := range slices.Backward(runs) {
		switch {
		case id == r.ID && !r.kept():
			return nil, &UndoError{r, "it is " + string(r.State()) + " already"}
		case id == r.ID, id == 0 && r.kept():
			return r, nil
		}
	}
	if id != 0 {
		return nil, fmt.Errorf("the journal has no run %d", id)
	}
	return nil, ErrNoRun
}

// Undoable says why a run cannot be undone: a step is one-way, or somebody has
// changed since what it changed. The error is then an *UndoError.
func (r *Run) Undoable(ctx context.Context, t *Target) error {
	steps, ended, err := r.begun()
	if err != nil {
		return err
	}
	if r.NoUndo != "" {
		return &UndoError{r, r.NoUndo}
	}
	rebooted := r.rebooted()
	for _, a := range steps {
		if why := a.OneWay(); why != "" {
			return &UndoError{r, why}
		}
	}
	t.process = strconv.Itoa(r.ID)
	later := map[string]bool{}
	for n := len(r.Steps); n > 0; n-- {
		a := steps[n]
		if a == nil || ended[n] == TakenBack || rebooted && !a.lasts() {
			continue
		}
		mine := a.on()
		if !slices.ContainsFunc(mine, func(on string) bool { return later[on] }) {
			at, why, err := a.look(ctx, t)
			if err != nil {
				return err
			}
			if at == moved || at == untouched || at == halfDone {
				if why == "" {
					why = fmt.Sprintf("%s: it is %s", a, at)
				}
				return &UndoError{r, "it was changed since: " + why}
			}
		}
		for _, on := range mine {
			later[on] = true
		}
	}
	return nil
}

// Undo takes back a run. The journal must be locked. A run that cuts is taken back
// under a watchdog, as it was carried out: of the options Watch, Confirm and Within
// are used for that. Unless it is confirmed, the run is put in place again.
func (j *Journal) Undo(ctx context.Context, t *Target, r *Run, o Options) error {
	if err := r.Undoable(ctx, t); err != nil {
		return err
	}
	e := &engine{Journal: j, t: t, run: r, o: o}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute+o.Within)
	defer cancel()
	undo := e.revert
	if r.Cuts {
		undo = e.revertWatched
	}
	if err := undo(ctx, "asked for"); err != nil {
		return &UndoError{r, err.Error()}
	}
	return nil
}

// revertWatched takes back a run that cuts, and puts it in place again if that fails
// or is not confirmed.
func (e *engine) revertWatched(ctx context.Context, why string) error {
	by := thisProcess(e.o.Within)
	if err := e.note(Event{State: Undoing, Text: why, By: &by}); err != nil {
		return err
	}
	err := e.arm(ctx)
	if err == nil {
		err = e.takeAllBack(ctx)
	}
	if err == nil {
		err = e.note(Event{State: TakenBack})
	}
	if err == nil {
		err = e.confirm(ctx)
	}
	if err == nil {
		return e.note(Event{State: Undone, Text: why})
	}
	if stuck := e.redo(ctx, err.Error()); stuck != nil {
		return fmt.Errorf("%w; and it could not be put in place again: %w", err, stuck)
	}
	return fmt.Errorf("%w; it is in place again", err)
}

// redo puts in place again what an undo under a watchdog took back.
func (e *engine) redo(ctx context.Context, why string) error {
	steps, ended, err := e.run.begun()
	if err != nil {
		return err
	}
	rebooted := e.run.rebooted()
	for n := 1; n <= len(e.run.Steps); n++ {
		a := steps[n]
		if a == nil || rebooted && !a.lasts() {
			continue
		}
		at, moves, err := a.look(ctx, e.t)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w: %w", a, errNow, err)
		case at == moved:
			err := fmt.Errorf("%s: %w: %s", a, ErrMoved, moves)
			_ = e.note(Event{State: Stuck, Text: err.Error()})
			return err
		case at != done:
			failpoint(fmt.Sprintf("before step %d is made again", n))
			if err := a.do(ctx, e.t); err != nil {
				return fmt.Errorf("%s: %w: %w", a, errNow, err)
			}
		}
		if ended[n] == TakenBack {
			_ = e.note(Event{State: Done, Step: n}) // on a full disk it is done all the same
		}
	}
	return e.note(Event{State: Confirmed, Text: why})
}

// Describe is a run's steps in words, one line each.
func (r *Run) Describe() []string {
	var lines []string
	for _, w := range r.Steps {
		if a, err := w.action(); err == nil {
			lines = append(lines, strings.TrimSpace(a.String()))
		}
	}
	return lines
}
