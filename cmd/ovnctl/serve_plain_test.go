//go:build !metrics

package main

import (
	"strings"
	"testing"
)

// TestServeWithoutExporter has no ovnctl-exporter to continue as.
func TestServeWithoutExporter(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var out, errs strings.Builder
	if c := run(t.Context(), []string{"doctor", "--serve"}, strings.NewReader(""), &out, &errs); c != exitUnknown || !strings.Contains(errs.String(), "ovnctl-exporter is not installed") || !strings.Contains(errs.String(), "hint: ") {
		t.Errorf("exit code %d, %s", c, errs.String())
	}
}
