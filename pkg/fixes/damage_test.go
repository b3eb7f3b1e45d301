package fixes

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestDamagedJournal holds that a run whose file is damaged stops nothing: what is readable is kept, the line is named,
// and the run is neither undone nor recovered, while others are.
func TestDamagedJournal(t *testing.T) {
	for name, damage := range map[string]func(lines []string) string{
		"a line of no JSON": func(l []string) string { return l[0] + "{\"time\":\n" + strings.Join(l[1:], "") },
		"a short time":      func(l []string) string { return l[0] + strings.Replace(l[1], `"time":"2`, `"time":"2026","x":"2`, 1) },
		"no time":           func(l []string) string { return l[0] + `{"state":"done","step":1}` + "\n" },
		"a step of no kind": func(l []string) string { return l[0] + strings.Replace(l[1], `"kind":"file"`, `"kind":"nuke"`, 1) },
		"a step without doing": func(l []string) string {
			return l[0] + `{"time":"2026-11-24T00:00:00Z","state":"begun","step":1}` + "\n"
		},
		"a step too many":   func(l []string) string { return l[0] + strings.Replace(l[1], `"step":1`, `"step":9`, 1) },
		"another beginning": func(l []string) string { return l[1] + l[0] },
		"zeros":             func(l []string) string { return l[0] + strings.Repeat("\x00", 100) + "\n" },
		"a wrong type":      func(l []string) string { return `{"time":7,"state":[]}` + "\n" },
	} {
		t.Run(name, func(t *testing.T) {
			j, target := bench(t)
			put(t, target, "etc/x", "a\n", 0o644)
			put(t, target, "etc/y", "a\n", 0o644)
			if _, err := j.Apply(t.Context(), target, filePlan("/etc/x", "a\n", "b\n"), Options{Header: Header{Repair: "edit"}}); err != nil {
				t.Fatal(err)
			}
			run, err := j.Apply(t.Context(), target, filePlan("/etc/y", "a\n", "b\n"), Options{Header: Header{Repair: "edit"}})
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(run.file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(run.file, []byte(damage(strings.SplitAfter(string(text), "\n"))), 0o600); err != nil {
				t.Fatal(err)
			}
			runs, err := j.Runs()
			if err != nil || len(runs) != 2 || runs[1].ID != run.ID || runs[1].Repair != "edit" {
				t.Fatalf("runs: %v, %v", runs, err)
			}
			if bad := runs[1].Summary(); !strings.Contains(bad.Damage, run.file+": line ") {
				t.Errorf("damage: %q", bad.Damage)
			}
			if all, err := j.Recover(t.Context(), target, nil); err != nil || len(all) > 0 {
				t.Errorf("recover: %v, %v", all, err)
			}
			if _, err := j.Last(run.ID); err == nil {
				t.Error("the damaged run would be undone")
			}
			last, err := j.Last(0)
			if err != nil || last.ID == run.ID {
				t.Fatalf("the last one: %v, %v", last, err)
			}
			if err := j.Undo(t.Context(), target, last, Options{}); err != nil {
				t.Error(err)
			}
			has(t, target, "etc/x", "a\n", 0o644)
			has(t, target, "etc/y", "b\n", 0o644)
		})
	}
}

// TestOtherHost holds that what another host's ovnctl did is not undone here: a cloned disk, a shared directory.
func TestOtherHost(t *testing.T) {
	state := t.TempDir()
	target := &Target{Root: t.TempDir()}
	put(t, target, "etc/x", "a\n", 0o644)
	put(t, target, "etc/machine-id", strings.Repeat("a", 32)+"\n", 0o444)
	journal := func() *Journal {
		j, err := OpenJournal(state, target.Root)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(j.Unlock)
		return j
	}
	j := journal()
	run, err := j.Apply(t.Context(), target, filePlan("/etc/x", "a\n", "b\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	j.Unlock()
	_ = os.Remove(filepath.Join(target.Root, "etc/machine-id"))
	put(t, target, "etc/machine-id", strings.Repeat("b", 32)+"\n", 0o444)
	j = journal()
	if _, err := j.Last(0); !errors.Is(err, ErrNoRun) {
		t.Errorf("the last run: %v", err)
	}
	if _, err := j.Last(run.ID); err == nil || !strings.Contains(err.Error(), "another host") {
		t.Errorf("run %d: %v", run.ID, err)
	}
	has(t, target, "etc/x", "b\n", 0o644)
}

// TestPrivateJournal holds that a journal which others could have written is refused, and a link in it not followed.
func TestPrivateJournal(t *testing.T) {
	state := t.TempDir()
	if _, err := OpenJournal(state, ""); err != nil {
		t.Fatal(err)
	}
	refused := func(what, state string) {
		t.Helper()
		_, err := OpenJournal(state, "")
		_, readErr := ReadJournal(state, "").Runs()
		if err == nil || readErr == nil {
			t.Errorf("%s: %v, %v", what, err, readErr)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(state, link); err != nil {
		t.Fatal(err)
	}
	refused("a link", link)
	for _, dir := range []string{state, filepath.Join(state, "journal")} {
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		refused("others can write to "+dir, state)
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	victim := filepath.Join(t.TempDir(), "victim")
	if err := errors.Join(os.WriteFile(victim, []byte("keep\n"), 0o600), os.Symlink(victim, filepath.Join(state, "journal/lock"))); err != nil {
		t.Fatal(err)
	}
	j, err := OpenJournal(state, "")
	if err != nil {
		t.Fatal(err)
	}
	j.patience = time.Millisecond
	if err := j.Lock(t.Context()); err == nil {
		t.Error("the lock is a link, and was followed")
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "keep\n" {
		t.Errorf("what the link leads to is %q, %v", text, err)
	}
	if err := syscall.Mkfifo(filepath.Join(state, "journal/00001-edit.jsonl"), 0o600); err != nil {
		t.Fatal(err)
	}
	if runs, err := j.Runs(); err != nil || len(runs) != 1 || runs[0].Damage == nil {
		t.Errorf("a pipe in the journal: %v, %v", runs, err)
	}
	if os.Geteuid() != 0 {
		return
	}
	if err := os.Lchown(filepath.Join(state, "journal"), 65534, 65534); err != nil {
		t.Fatal(err)
	}
	refused("it is somebody else's", state)
}
