package fixes

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// filePlan is a plan that changes one file.
func filePlan(path, before, after string) *Plan {
	f := File{Path: path, Before: []byte(before), After: []byte(after), What: "edit " + path}
	if before == "" {
		f.Before = nil
	}
	return &Plan{Title: "edit a file", Steps: []Step{f}}
}

// bench is a host with files only, and a journal.
func bench(t *testing.T) (*Journal, *Target) {
	t.Helper()
	j, err := OpenJournal(t.TempDir(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.Unlock)
	return j, &Target{Root: t.TempDir()}
}

func put(t *testing.T, target *Target, path, text string, mode os.FileMode) {
	t.Helper()
	name := filepath.Join(target.Root, path)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

// has wants a file's text and mode; no text means no file.
func has(t *testing.T, target *Target, path, text string, mode os.FileMode) {
	t.Helper()
	name := filepath.Join(target.Root, path)
	got, err := os.ReadFile(name)
	if text == "" {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is there: %q, %v", path, got, err)
		}
		return
	}
	if err != nil || string(got) != text {
		t.Errorf("%s is %q, want %q (%v)", path, got, text, err)
		return
	}
	info, err := os.Lstat(name)
	if err != nil || info.Mode().Perm() != mode {
		t.Errorf("%s has mode %v, want %v (%v)", path, info.Mode().Perm(), mode, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(name), ".*ovnctl-*")); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

const options = "# options\nOVS_CTL_OPTS=\"--x\"\nTOKEN=hush\n"

// TestFileGuard holds that a file which has changed stays, both when the plan runs and when it is undone.
func TestFileGuard(t *testing.T) {
	j, target := bench(t)
	put(t, target, "etc/x", "a\n", 0o644)
	_, err := j.Apply(t.Context(), target, filePlan("/etc/x", "b\n", "c\n"), Options{})
	if !errors.Is(err, ErrChanged) {
		t.Errorf("apply: %v", err)
	}
	has(t, target, "etc/x", "a\n", 0o644)
	if _, err := j.Apply(t.Context(), target, filePlan("/etc/x", "a\n", "b\n"), Options{}); err != nil {
		t.Fatal(err)
	}
	for name, meddle := range map[string]func(){
		"contents": func() { put(t, target, "etc/x", "b\nmine\n", 0o644) },
		"mode":     func() { put(t, target, "etc/x", "b\n", 0o600) },
	} {
		meddle()
		last, err := j.Last(0)
		if err != nil {
			t.Fatal(err)
		}
		var undo *UndoError
		if err := j.Undo(t.Context(), target, last, Options{}); !errors.As(err, &undo) || !strings.Contains(err.Error(), "changed since") {
			t.Errorf("%s changed: undo: %v", name, err)
		}
	}
}

// TestFileSecret holds that a change to a secret is refused.
func TestFileSecret(t *testing.T) {
	j, target := bench(t)
	put(t, target, "etc/x", options, 0o600)
	_, err := j.Apply(t.Context(), target, filePlan("/etc/x", options, strings.Replace(options, "hush", "hush hush", 1)), Options{})
	var refusal *Refusal
	if !errors.As(err, &refusal) || strings.Contains(err.Error(), "hush") {
		t.Errorf("apply: %v", err)
	}
	has(t, target, "etc/x", options, 0o600)
	for _, line := range (File{Path: "/etc/x", Before: []byte(options), After: []byte(options + "more\n")}).Summary().Diff {
		if strings.Contains(line, "hush") {
			t.Errorf("the diff shows %q", line)
		}
	}
}

// TestPath holds that no symbolic link leads out of the host's root.
func TestPath(t *testing.T) {
	target := &Target{Root: t.TempDir()}
	put(t, target, "usr/lib/real", "x\n", 0o644)
	for link, to := range map[string]string{"etc": "usr/lib", "usr/lib/abs": "/usr/lib/real", "usr/lib/up": "../../../../../../usr/lib/real", "usr/lib/loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(target.Root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"/etc/real", "/etc/abs", "/etc/up", "/../../etc/real"} {
		got, err := target.path(path)
		if want := filepath.Join(target.Root, "usr/lib/real"); err != nil || got != want {
			t.Errorf("%s is %s, want %s (%v)", path, got, want, err)
		}
	}
	if got, err := target.path("/etc/loop"); err == nil {
		t.Errorf("a loop is %s", got)
	}
}

// TestVerify holds that a repair which does not help is rolled back.
func TestVerify(t *testing.T) {
	j, target := bench(t)
	put(t, target, "etc/x", "a\n", 0o644)
	_, err := j.Apply(t.Context(), target, filePlan("/etc/x", "a\n", "b\n"), Options{Verify: func(context.Context) error { return errors.New("still broken") }})
	var failure *Failure
	if !errors.As(err, &failure) || failure.State != OutcomeRolledBack || failure.Reason != NotVerified || !strings.Contains(err.Error(), "still broken") {
		t.Errorf("apply: %v", err)
	}
	has(t, target, "etc/x", "a\n", 0o644)
}

// TestUnwritable holds that a run is rolled back even if its journal cannot be written, and that the next run, when it
// can, finds out how far that went.
func TestUnwritable(t *testing.T) {
	steps := func(files ...File) *Plan {
		p := &Plan{Title: "edit files"}
		for _, f := range files {
			f.What = "edit " + f.Path
			p.Steps = append(p.Steps, f)
		}
		return p
	}
	file := func(path, before, after string) File {
		return File{Path: path, Before: []byte(before), After: []byte(after)}
	}
	for _, test := range []struct {
		name string
		plan *Plan
		x, y string // while the journal takes nothing
		says string
	}{
		{"two files", steps(file("/etc/x", "a\n", "b\n"), file("/etc/y", "a\n", "b\n")), "a\n", "a\n", "still broken; it was rolled back, and the journal could not be written"},
		{"one file twice", steps(file("/etc/y", "a\n", "b\n"), file("/etc/x", "a\n", "b\n"), file("/etc/x", "b\n", "c\n")), "b\n", "b\n", "it could not be rolled back: edit /etc/x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			j, target := bench(t)
			put(t, target, "etc/x", "a\n", 0o644)
			put(t, target, "etc/y", "a\n", 0o644)
			var journal string
			_, err := j.Apply(t.Context(), target, test.plan, Options{Verify: func(context.Context) error {
				runs, err := j.Runs()
				if err != nil || len(runs) != 1 {
					t.Fatalf("%d runs, %v", len(runs), err)
				}
				journal = runs[0].file
				if err := errors.Join(os.Rename(journal, journal+".kept"), os.Mkdir(journal, 0o700)); err != nil {
					t.Fatal(err)
				}
				return errors.New("still broken")
			}})
			var failure *Failure
			if !errors.As(err, &failure) || failure.State != OutcomeFailed || !strings.Contains(err.Error(), test.says) {
				t.Errorf("apply: %v", err)
			}
			has(t, target, "etc/x", test.x, 0o644)
			has(t, target, "etc/y", test.y, 0o644)
			if err := errors.Join(os.Remove(journal), os.Rename(journal+".kept", journal)); err != nil {
				t.Fatal(err)
			}
			all, err := j.Recover(t.Context(), target, func(context.Context, *Run) error { return errors.New("still broken") })
			if err != nil || len(all) != 1 || all[0].Err != nil || all[0].Finished {
				t.Errorf("recover: %v, %v", all, err)
			}
			has(t, target, "etc/x", "a\n", 0o644)
			has(t, target, "etc/y", "a\n", 0o644)
			runs, err := j.Runs()
			if err != nil || len(runs) != 1 || runs[0].State() != Undone {
				t.Errorf("the journal afterwards: %v, %v", runs, err)
			}
		})
	}
}

// TestCutsWithoutWatchdog holds that what can cut the host off is not changed without a watchdog.
func TestCutsWithoutWatchdog(t *testing.T) {
	j, target := bench(t)
	put(t, target, "etc/x", "a\n", 0o644)
	p := filePlan("/etc/x", "a\n", "b\n")
	p.Cuts = true
	for name, o := range map[string]Options{
		"no watchdog":    {},
		"none to be had": {Watch: func(context.Context, int) error { return errors.New("no") }, Confirm: func(context.Context) error { return nil }},
		"it has gone":    {Watch: func(context.Context, int) error { return nil }, Confirm: func(context.Context) error { return nil }},
	} {
		if _, err := j.Apply(t.Context(), target, p, o); err == nil {
			t.Errorf("%s: it was done", name)
		}
		has(t, target, "etc/x", "a\n", 0o644)
	}
}

// TestTornJournal holds that an incomplete last line does not count, wherever it ends.
func TestTornJournal(t *testing.T) {
	j, target := bench(t)
	put(t, target, "etc/x", "a\n", 0o644)
	run, err := j.Apply(t.Context(), target, filePlan("/etc/x", "a\n", "b\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(run.file)
	if err != nil {
		t.Fatal(err)
	}
	begun := strings.Index(string(whole), "\n") + 1
	begun += strings.Index(string(whole[begun:]), "\n") + 1
	for cut := len(whole) - 1; cut >= 0; cut -= 3 {
		if err := os.WriteFile(run.file, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		has(t, target, "etc/x", "b\n", 0o644)
		all, err := j.Recover(t.Context(), target, func(context.Context, *Run) error { return errors.New("not yet") })
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		for _, r := range all {
			if r.Err != nil {
				t.Fatalf("cut at %d: %v", cut, r.Err)
			}
		}
		if cut < begun { // the journal says that nothing was begun
			continue
		}
		has(t, target, "etc/x", "a\n", 0o644)
		put(t, target, "etc/x", "b\n", 0o644)
	}
}

// TestKinds holds the names of steps that journals have.
func TestKinds(t *testing.T) {
	want := []string{"await", "control", "convert", "file", "module", "network", "offload", "rows", "service", "sysctl"}
	if got := slices.Sorted(maps.Keys(kinds.Get())); !slices.Equal(got, want) {
		t.Errorf("the journal has steps of kind %v, want %v", got, want)
	}
}

// TestOldReasons holds that journals of earlier releases, which have a reason in words alone, still tell it.
func TestOldReasons(t *testing.T) {
	for text, want := range map[string]Reason{
		"asked for": Asked, "the run was cut off": CutOff, "it was not confirmed in time": NotConfirmed, "not confirmed: nobody answered in time": NotConfirmed,
		"the check does not pass afterwards: port web-1 is disabled": NotVerified, "no watchdog can be armed: no control group": NotWatched, "edit /etc/x: no space left on device": "",
	} {
		state := t.TempDir()
		dir := filepath.Join(state, "journal")
		lines := `{"time":"2026-11-22T00:23:50Z","state":"planned","run":{"id":3,"repair":"enable-port","title":"enable it"}}` + "\n" +
			`{"time":"2026-11-22T00:23:51Z","state":"undoing","text":"` + text + `"}` + "\n" + `{"time":"2026-11-22T00:23:52Z","state":"undone","text":"` + text + `"}` + "\n"
		if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "00003-enable-port.jsonl"), []byte(lines), 0o600)); err != nil {
			t.Fatal(err)
		}
		runs, err := ReadJournal(state, "").Runs()
		if err != nil || len(runs) != 1 || runs[0].State() != Undone || runs[0].Reason() != want || runs[0].Why() != text {
			t.Errorf("%q: %v, %v, want the reason %q", text, runs, err, want)
		}
	}
}

// TestLeave closes a run that was cut off: its changes stay, and recover passes it over.
func TestLeave(t *testing.T) {
	j, target := bench(t)
	put(t, target, "etc/x", "a\n", 0o644)
	run, err := j.Apply(t.Context(), target, filePlan("/etc/x", "a\n", "b\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Leave(run.ID); err == nil {
		t.Error("a run that was not cut off was closed")
	}
	text, err := os.ReadFile(run.file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if err := os.WriteFile(run.file, []byte(strings.Join(lines[:2], "")), 0o600); err != nil { // planned and begun
		t.Fatal(err)
	}
	if _, err := j.Leave(run.ID); err != nil {
		t.Fatal(err)
	}
	all, err := j.Recover(t.Context(), target, nil)
	if err != nil || len(all) > 0 {
		t.Errorf("it is looked at again: %v, %v", all, err)
	}
	has(t, target, "etc/x", "b\n", 0o644)
	if _, err := j.Leave(run.ID + 1); err == nil {
		t.Error("a run that does not exist was closed")
	}
}

// TestLock holds that a second run is kept out while the first is alive, and told of it.
func TestLock(t *testing.T) {
	j, _ := bench(t)
	second := &Journal{dir: j.dir, patience: 300 * time.Millisecond}
	err := second.Lock(t.Context())
	var busy *Busy
	if !errors.As(err, &busy) || busy.PID == "" {
		t.Errorf("the second: %v", err)
	}
	j.Unlock()
	if err := second.Lock(t.Context()); err != nil {
		t.Errorf("after the first: %v", err)
	}
	second.Unlock()
}
