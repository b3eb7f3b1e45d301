//go:build lab

package fixes

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFile(t *testing.T) {
	tests := []struct {
		name, before, after string
		mode                os.FileMode
	}{
		{"edited", options, strings.Replace(options, "--x", "--x --delete-transient-ports", 1), 0o640},
		{"emptied at the end", "a\nb\n", "a\n", 0o600},
		{"made", "", "openvswitch\n", 0o644},
		{"removed", "old\n", "", 0o604},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			j, target := bench(t)
			if test.before != "" {
				put(t, target, "etc/default/x", test.before, test.mode)
			}
			p := filePlan("/etc/default/x", test.before, test.after)
			if test.after == "" {
				p.Steps = []Step{File{Path: "/etc/default/x", Before: []byte(test.before), What: "remove it"}}
			}
			run, err := j.Apply(t.Context(), target, p, Options{})
			if err != nil {
				t.Fatal(err)
			}
			has(t, target, "etc/default/x", test.after, test.mode)
			if text, err := os.ReadFile(run.file); err != nil || strings.Contains(string(text), "hush") {
				t.Errorf("the journal has the secret beside the change: %v\n%s", err, text)
			}
			last, err := j.Last(0)
			if err != nil {
				t.Fatal(err)
			}
			if err := j.Undo(t.Context(), target, last, Options{}); err != nil {
				t.Fatal(err)
			}
			has(t, target, "etc/default/x", test.before, test.mode)
			if test.before == "" {
				if _, err := os.Stat(filepath.Join(target.Root, "etc/default")); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the directory that was made stays: %v", err)
				}
			}
			if _, err := j.Last(0); !errors.Is(err, ErrNoRun) {
				t.Errorf("after undo: %v", err)
			}
		})
	}
}
