//go:build machine

package machine

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/turn"
)

// A suite is lab tests of this repository that run inside the machine, on labs with the kernel datapath.
type suite struct {
	name  string
	in    string   // their package
	tests []string // names of tests, or of one subtest
	env   string   // what they read from the environment
	part  string   // the same where the suites take turns
	few   []string // the tests that are run then; none: the same
}

var suites = []suite{
	{name: "traces", in: "cmd/ovnctl", tests: []string{"TestTraceTruth/ovn-kubernetes"}, env: "OVNCTL_PAIRS=60", part: "OVNCTL_PAIRS=6"},
	{name: "traces of Kube-OVN", in: "cmd/ovnctl", tests: []string{"TestTraceTruth/kube-ovn"}, env: "OVNCTL_PAIRS=20", part: "OVNCTL_PAIRS=6"},
	{name: "sent packets", in: "cmd/ovnctl", tests: []string{"TestSend/ovn-kubernetes"}, env: "OVNCTL_PAIRS=60", part: "OVNCTL_PAIRS=6"},
	{name: "flows and decode", in: "cmd/ovnctl", tests: []string{"TestDecodeLab", "TestDecodePackets", "TestFlowsLab"}},
	{name: "healthy", in: "internal/faults", tests: []string{"TestHealthy/ovn-kubernetes"}},
	{name: "captures", in: "cmd/ovnctl", tests: []string{"TestCaptureAnswers/ovn-kubernetes"}, env: "OVNCTL_PAIRS=6", part: "OVNCTL_PAIRS=1"},
	{name: "megaflows", in: "pkg/trace/ovssim", tests: []string{"TestInstalled"}, env: "OVNCTL_BRIDGES=64", part: "OVNCTL_BRIDGES=16"},
	{name: "faults", in: "internal/faults", tests: []string{"TestFaults"}, few: []string{"TestFaults/beneath"}}, // a third of them, by OVNCTL_TURN
}

// TestLabs runs tests of labs on the kernel datapath. In turn, one suite: OVNCTL_FAULTS=all runs all.
func TestLabs(t *testing.T) {
	makes := turn.Takes(t, len(suites))
	var drawn []suite
	for i, s := range suites {
		if makes(i) {
			drawn = append(drawn, s)
		}
	}
	inMachine(t, drawn)
}

// inMachine runs suites on a machine of each release.
func inMachine(t *testing.T, suites []suite) {
	payload := t.TempDir()
	copyTree(t, payload)
	buildOvnctl(t, payload)
	compiled := map[string]bool{}
	for _, s := range suites {
		if !compiled[s.in] {
			compiled[s.in] = true
			goTool(t, "test", "-c", "-tags", "lab", "-ldflags", "-s -w", "-o", filepath.Join(payload, "src", s.in, "lab.test"), "./"+s.in)
		}
	}
	for _, release := range releases() {
		t.Run(release, func(t *testing.T) {
			m := bootFor(t, Options{Release: release, Payload: payload, Memory: 4096})
			for _, s := range suites {
				t.Run(s.name, func(t *testing.T) { s.on(t, m) })
			}
		})
	}
}

// on runs the suite on the machine.
func (s suite) on(t *testing.T, m *Machine) {
	start := time.Now()
	env, tests := s.env, s.tests
	if os.Getenv("OVNCTL_FAULTS") != "all" {
		env = s.part
		if s.few != nil {
			tests = s.few
		}
	}
	for _, name := range []string{"OVNCTL_TURN", "OVNCTL_SEED"} {
		if value := os.Getenv(name); value != "" {
			env += " " + name + "=" + value
		}
	}
	pattern := "^(" + strings.ReplaceAll(strings.Join(tests, "|"), "/", ")$/^(") + ")$"
	line := fmt.Sprintf("cd /payload/src/%s && env %s OVNCTL_LAB_DATAPATH=system OVNCTL_PROGRAM=/payload/ovnctl ./lab.test -test.v -test.parallel 1 -test.timeout 8h -test.run '%s'", s.in, env, pattern)
	cmd := m.Command(t.Context(), line)
	var out bytes.Buffer
	cmd.Stdout = io.MultiWriter(&out, t.Output())
	cmd.Stderr = t.Output()
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
	for _, name := range tests {
		if !strings.Contains(out.String(), "--- PASS: "+name+" (") {
			t.Errorf("%s has not passed", name) // not that none of this name ran
		}
	}
	t.Logf("%s: %.0f s", s.name, time.Since(start).Seconds())
}

// copyTree copies what the repository holds into FOLDER/src: tests read files beside them.
func copyTree(t *testing.T, folder string) {
	t.Helper()
	src := filepath.Join(folder, "src")
	if err := os.Mkdir(src, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-ec", `git ls-files -z | xargs -0 cp --parents -t "$1"`, "copy", src)
	cmd.Dir = repository
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("copy the tree: %v: %s", err, out)
	}
}
