package main

import (
	"strings"
	"testing"
)

// The seconds of --watch may follow it as they follow other flags.
func TestFlowsWatchSeconds(t *testing.T) {
	refused(t, map[string]string{
		"--offline demo flows --watch 2": "--watch needs a live node",
		"--offline demo flows --watch=2": "--watch needs a live node",
		"--offline demo flows --watch":   "--watch needs a live node",
		"--offline demo flows --watch x": `unknown command "x"`,
		"--offline demo flows 2":         `unknown command "2"`,
	})
}

// refused runs commands that are to be refused for how they are used, each with a reason.
func refused(t *testing.T, commands map[string]string) {
	t.Helper()
	for args, want := range commands {
		var out, errs strings.Builder
		if code := run(t.Context(), strings.Fields(args), strings.NewReader(""), &out, &errs); code != exitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: exit code %d, %s", args, code, errs.String())
		}
	}
}
