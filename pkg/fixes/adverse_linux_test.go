package fixes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"testing"
	"time"
)

// standIn is a process in place of the watchdog, or of the run.
func standIn(t *testing.T) (p Process, end func()) {
	t.Helper()
	cmd := exec.Command("sleep", "3600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(end)
	return Process{PID: cmd.Process.Pid, Since: startTime(cmd.Process.Pid)}, end
}

// TestWatchdogKilled holds that a run does not go on without its watchdog: it is rolled back at the next step, and at once
// where it waits for a person.
func TestWatchdogKilled(t *testing.T) {
	for _, test := range []struct {
		name string
		at   func(Event) bool // when it is killed
	}{
		{"before the first step", func(e Event) bool { return e.State == Armed }},
		{"between two steps", func(e Event) bool { return e.State == Done && e.Step == 1 }},
		{"before it is confirmed", func(e Event) bool { return e.State == Verified }},
	} {
		t.Run(test.name, func(t *testing.T) {
			j, target := bench(t)
			put(t, target, "etc/a", "a\n", 0o644)
			put(t, target, "etc/b", "b\n", 0o644)
			plan := filePlan("/etc/a", "a\n", "a2\n")
			plan.Steps = append(plan.Steps, filePlan("/etc/b", "b\n", "b2\n").Steps...)
			plan.Cuts = true
			watchdog, kill := standIn(t)
			o := Options{
				Within: time.Hour,
				Watch: func(_ context.Context, id int) error {
					return errors.Join(j.reserve(id), j.report(id, post{Process: watchdog}))
				},
				Confirm: func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) },
				Progress: func(e Event) {
					if test.at(e) {
						kill()
					}
				},
			}
			if _, err := j.Apply(t.Context(), target, plan, o); !errors.Is(err, errUnwatched) {
				t.Errorf("apply: %v, want %v", err, errUnwatched)
			}
			has(t, target, "etc/a", "a\n", 0o644)
			has(t, target, "etc/b", "b\n", 0o644)
		})
	}
}

// TestClockJumps holds that the time to confirm is the same if somebody sets the clock meanwhile.
func TestClockJumps(t *testing.T) {
	for _, test := range []struct {
		name   string
		by     time.Duration // the clock, after the run was verified
		within time.Duration
		after  time.Duration // when the person confirms; 0 never
		state  State
	}{
		{"back", -2 * time.Hour, 200 * time.Millisecond, 0, Undone},
		{"ahead", 2 * time.Hour, time.Hour, time.Second, Confirmed},
	} {
		t.Run(test.name, func(t *testing.T) {
			j, target := bench(t)
			run := cutting(t, j, target, Options{Watch: posted(j), Confirm: fine, Within: test.within})
			busy, _ := standIn(t)
			rewrite(t, run, func(text []byte) []byte {
				text = regexp.MustCompile(`\{[^\n]*"state":"confirmed"[^\n]*\n`).ReplaceAll(text, nil)
				text = regexp.MustCompile(`"pid":\d+,"since":"[^"]*"`).ReplaceAll(text, fmt.Appendf(nil, `"pid":%d,"since":%q`, busy.PID, busy.Since))
				then := time.Now().Add(-test.by).UTC().Format(time.RFC3339Nano)
				return regexp.MustCompile(`"time":"[^"]*"`).ReplaceAll(text, []byte(`"time":"`+then+`"`))
			})
			j.Unlock()
			if err := j.reserve(run.ID); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			watch := make(chan error, 1)
			go func() { watch <- j.Watch(ctx, run.ID, func(context.Context) (*Target, error) { return target, nil }) }()
			if test.after > 0 {
				time.Sleep(test.after)
				now, err := j.run(run.ID)
				if err != nil || now.State() != Verified {
					t.Fatalf("%s after the clock was set: %v", now.State(), err)
				}
				if err := now.note(Event{State: Confirmed}); err != nil {
					t.Fatal(err)
				}
			}
			select {
			case err := <-watch:
				if err != nil {
					t.Fatal(err)
				}
			case <-ctx.Done():
				t.Fatal("the watchdog still waits")
			}
			if now, err := j.run(run.ID); err != nil || now.State() != test.state {
				t.Errorf("the run is %s, want %s (%v)", now.State(), test.state, err)
			}
		})
	}
}

func rewrite(t *testing.T, r *Run, edit func([]byte) []byte) {
	t.Helper()
	text, err := os.ReadFile(r.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.file, edit(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
