package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
)

// TestRepairArguments holds that every repair says what its arguments are, and completes them.
func TestRepairArguments(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range catalog.Repairs {
		if seen[r.Name] {
			t.Errorf("two repairs are called %s", r.Name)
		}
		seen[r.Name] = true
		optional := false
		for _, p := range r.Params {
			if p.Name == "" || p.Doc == "" {
				t.Errorf("%s: an argument without a name or a word on it: %+v", r.Name, p)
			}
			if optional && !p.Optional {
				t.Errorf("%s: %s must be given, and one before it need not", r.Name, p.Name)
			}
			optional = optional || p.Optional
		}
		if got := completeFix([]string{r.Name}); len(got) != len(r.Params) {
			t.Errorf("%s: completion offers %v", r.Name, got)
		}
	}
	if len(completeFix(nil)) != len(catalog.Repairs) {
		t.Error("completion does not offer every repair")
	}
}

// TestFixUsage are mistakes that need no deployment to be seen.
func TestFixUsage(t *testing.T) {
	dir := t.TempDir()
	journal := filepath.Join(dir, "var/lib/ovnctl/journal")
	run3 := `{"time":"2026-11-22T00:23:50Z","state":"planned","run":{"id":3,"repair":"enable-port","title":"run 3 of that host"}}` + "\n"
	if err := errors.Join(os.MkdirAll(journal, 0o700), os.WriteFile(filepath.Join(journal, "00003-enable-port.jsonl"), []byte(run3), 0o600)); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args []string
		code int
		want string
	}{
		{[]string{"fix"}, exitUsage, "which repair?"},
		{[]string{"fix", "no-such-thing"}, exitUsage, "hint: ovnctl fix list has the names"},
		{[]string{"fix", "enable-prot"}, exitUsage, "hint: did you mean enable-"},
		{[]string{"fix", "enable-port"}, exitUsage, "hint: ovnctl fix enable-port PORT"},
		{[]string{"fix", "enable-port", "a", "b"}, exitUsage, `"b" is one more`},
		{[]string{"fix", "enable-port", "a"}, exitUsage, "hint: use --yes"},
		{[]string{"fix", "enable-port", "a", "--yes", "--max-risk", "huge"}, exitUsage, "expected low, medium or high"},
		{[]string{"fix", "enable-port", "a", "--yes", "--confirm", "me"}, exitUsage, "expected gateway or southbound"},
		{[]string{"fix", "enable-port", "a", "--yes", "--offline", "demo"}, exitUsage, "a repair changes a live deployment"},
		{[]string{"fix", "undo", "x", "--yes"}, exitUsage, "is not the number of a run"},
		{[]string{"fix", "list"}, exitOK, "enable-port"},
		{[]string{"fix", "list", "--done", "--state-dir", filepath.Join(dir, "none")}, exitOK, "no repairs yet"},
		{[]string{"fix", "list", "--done", "--host-root", dir}, exitOK, "run 3 of that host"},
		{[]string{"explain", "attach-uplink"}, exitOK, "ovnctl fix attach-uplink BRIDGE [LINK]"},
	}
	for _, test := range tests {
		var out, errs strings.Builder
		code := run(t.Context(), test.args, strings.NewReader(""), &out, &errs)
		if text := out.String() + errs.String(); code != test.code || !strings.Contains(text, test.want) {
			t.Errorf("ovnctl %v: exit %d, want %d with %q:\n%s", test.args, code, test.code, test.want, text)
		}
	}
}
