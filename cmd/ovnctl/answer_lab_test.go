//go:build lab

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// TestAnswered reads other nodes by their tools and by an ovnctl of the same version there: every command says the same.
func TestAnswered(t *testing.T) {
	for _, topology := range []lab.Topology{lab.OVNKubernetes(), lab.KubeOVN()} {
		t.Run(topology.Name, func(t *testing.T) {
			l, program := labtest.Shared(t, topology), buildOvnctl(t)
			said := func(args ...string) string {
				t.Helper()
				out, err := on(l, "node1", nodeArgs(l, program, args...)...).make().Output()
				if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
					t.Fatal(err)
				}
				return string(out)
			}
			var pods []string
			for _, p := range l.Topology.Pods {
				pods = append(pods, p.Namespace+"/"+p.Name)
			}
			commands := [][]string{{"topology", "show"}, {"topology", "show", "--physical"}, {"doctor", "--all-nodes"}, {"version", "--cluster"}}
			for _, to := range pods[1:] {
				commands = append(commands, []string{"trace", pods[0], to, "--tcp", "8080"}, []string{"trace", to, pods[0], "--icmp"})
			}
			want := map[string]string{}
			for _, c := range commands {
				want[strings.Join(c, " ")] = said(c...)
			}
			counter := filepath.Join(t.TempDir(), "answers")
			dir := t.TempDir()
			script := "#!/bin/sh\necho >>" + counter + "\nexec " + program + " \"$@\"\n"
			if err := os.WriteFile(filepath.Join(dir, "ovnctl"), []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			install(t, filepath.Join(dir, "ovnctl"))
			for _, c := range commands {
				if got := said(c...); got != want[strings.Join(c, " ")] {
					t.Errorf("%s, by the tools:\n%s\nby ovnctl:\n%s", c, want[strings.Join(c, " ")], got)
				}
			}
			if b, err := os.ReadFile(counter); err != nil || len(b) < len(commands) {
				t.Errorf("ovnctl answered %d times: %v", len(b), err)
			}
		})
	}
}
