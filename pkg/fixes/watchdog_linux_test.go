package fixes

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// A confirmation is Options.Confirm.
type confirmation = func(context.Context) error

func fine(context.Context) error { return nil }

func always(c confirmation) func(*testing.T, *Target) confirmation {
	return func(*testing.T, *Target) confirmation { return c }
}

// posted has the test stand in for the watchdog; internal/faults has the real one.
func posted(j *Journal) func(context.Context, int) error {
	return func(_ context.Context, id int) error {
		p := thisProcess(0)
		return errors.Join(j.reserve(id), j.report(id, post{Process: p}))
	}
}

// TestUndoWatched holds that the undo of a run that cuts is reversed unless it is confirmed: the run is in place again.
func TestUndoWatched(t *testing.T) {
	lost := func(context.Context) error { return errors.New("the gateway does not reply") }
	for _, test := range []struct {
		name    string
		noWatch error
		confirm func(*testing.T, *Target) confirmation
		why     string // in the error of the undo
		state   State  // of the run after it
		a, b    string // the files after it
	}{
		{name: "confirmed", confirm: always(fine), state: Undone, a: "a\n", b: "b\n"},
		{
			name: "not confirmed", confirm: always(lost),
			why: "the gateway does not reply; it is in place again", state: Confirmed, a: "a2\n", b: "b2\n",
		},
		{
			name: "no watchdog", noWatch: errors.New("no control group to leave for"), confirm: always(fine),
			why: "cannot start the watchdog", state: Confirmed, a: "a2\n", b: "b2\n",
		},
		{
			name: "changed meanwhile",
			confirm: func(t *testing.T, target *Target) confirmation {
				return func(ctx context.Context) error { put(t, target, "etc/b", "mine\n", 0o644); return lost(ctx) }
			},
			why: "it could not be put in place again", state: Stuck, a: "a2\n", b: "mine\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			j, target := bench(t)
			run := cutting(t, j, target, Options{Watch: posted(j), Confirm: fine, Within: time.Second})
			o := Options{Watch: posted(j), Confirm: test.confirm(t, target), Within: time.Second}
			if test.noWatch != nil {
				o.Watch = func(context.Context, int) error { return test.noWatch }
			}
			err := j.Undo(t.Context(), target, run, o)
			if test.why == "" && err != nil || test.why != "" && (err == nil || !strings.Contains(err.Error(), test.why)) {
				t.Errorf("undo: %v, want %q", err, test.why)
			}
			has(t, target, "etc/a", test.a, 0o644)
			has(t, target, "etc/b", test.b, 0o644)
			if again, err := j.run(run.ID); err != nil || again.State() != test.state {
				t.Errorf("the run is %s, want %s (%v)", again.State(), test.state, err)
			}
		})
	}
}

// TestUndoDies holds that the next run reverses an undo under the watchdog that was cut off.
func TestUndoDies(t *testing.T) {
	j, target := bench(t)
	run := cutting(t, j, target, Options{Watch: posted(j), Confirm: fine, Within: time.Second})
	if err := run.note(Event{State: Undoing, Text: "asked for", By: &Process{PID: os.Getpid(), Since: "of another that had the number"}}); err != nil {
		t.Fatal(err)
	}
	put(t, target, "etc/b", "b\n", 0o644) // and before it could write that down, it died
	again, err := j.run(run.ID)
	if err != nil || !again.Open() {
		t.Fatalf("a run whose undo died is not open: %v", err)
	}
	all, err := j.Recover(t.Context(), target, nil)
	if err != nil || len(all) != 1 || all[0].Err != nil || !all[0].Kept {
		t.Fatalf("recover: %v, %v", all, err)
	}
	has(t, target, "etc/a", "a2\n", 0o644)
	has(t, target, "etc/b", "b2\n", 0o644)
	if last, err := j.Last(0); err != nil || last.ID != run.ID {
		t.Errorf("the run cannot be undone: %v", err)
	}
}

// cutting is a run of two steps that cuts, carried out.
func cutting(t *testing.T, j *Journal, target *Target, o Options) *Run {
	t.Helper()
	put(t, target, "etc/a", "a\n", 0o644)
	put(t, target, "etc/b", "b\n", 0o644)
	p := filePlan("/etc/a", "a\n", "a2\n")
	p.Steps = append(p.Steps, filePlan("/etc/b", "b\n", "b2\n").Steps...)
	p.Cuts = true
	if _, err := j.Apply(t.Context(), target, p, o); err != nil {
		t.Fatal(err)
	}
	run, err := j.Last(0)
	if err != nil {
		t.Fatal(err)
	}
	return run
}
