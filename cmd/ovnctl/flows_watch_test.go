package main

import (
	"strings"
	"testing"
)

// The seconds of --watch may follow it as they follow other flags.
func TestFlowsWatchSeconds(t *testing.T) {
	for args, want := range map[string]string{
		"--watch 2": "--watch needs a live node",
		"--watch=2": "--watch needs a live node",
		"--watch":   "--watch needs a live node",
		"--watch x": `unknown command "x"`,
		"2":         `unknown command "2"`,
	} {
		var out, errs strings.Builder
		code := run(t.Context(), append([]string{"--offline", "demo", "flows"}, strings.Fields(args)...), strings.NewReader(""), &out, &errs)
		if code != exitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("flows %s: exit code %d, %s", args, code, errs.String())
		}
	}
}
