//go:build lab

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab/scale"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// TestMemoryGroup runs ovnctl on a Southbound of 40,000 logical flows in a control group of 128 MB, where the kernel kills
// what takes more, and with other limits: each command ends by itself and says what it left out.
func TestMemoryGroup(t *testing.T) {
	program := buildOvnctl(t)
	d := scale.Start(t, crowdSize)
	file := filepath.Join(t.TempDir(), "all.tar.zst")
	capture := []string{"capture", "--force", file}
	show := []string{"topology", "show"}
	local, remote := []string{d.NB.Remote(), d.SB.Remote()}, []string{d.NB.ListenTCP(), d.SB.ListenTCP()}
	const whole = 128 << 20
	tests := []struct {
		name    string
		group   int64 // bytes of the control group
		args    []string
		servers []string
		partial bool // it has to say what it left out
	}{
		{"capture from files", whole, capture, local, false},
		{"topology", whole, show, local, false},
		{"doctor", whole, []string{"doctor", "--fail-on", "never"}, local, false},
		{"capture with --memory", whole, append(capture, "--memory", "16M"), local, true},
		{"capture in pieces with --memory", whole, append(capture, "--memory", "8M"), remote, true},
		{"topology with --memory", whole, append(show, "--memory", "1M"), local, true},
		{"doctor with --memory", whole, []string{"doctor", "--fail-on", "never", "--memory", "1M"}, local, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			group := memoryGroup(t, tt.group)
			script := fmt.Sprintf(`echo $$ >%s/cgroup.procs && exec "$@"`, group)
			args := append([]string{"-c", script, "sh", program, "--nb", tt.servers[0], "--sb", tt.servers[1], "--timeout", "60"}, tt.args...)
			cmd := exec.CommandContext(ctx, "sh", args...)
			empty := t.TempDir() // no node here
			cmd.Env = append(os.Environ(), "OVS_RUNDIR="+empty, "OVN_RUNDIR="+empty)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			t.Logf("%v, most memory %s\n%.1500s%.1500s", err, mostUsed(group), stderr.String(), stdout.String())
			code := cmd.ProcessState.ExitCode()
			saysWhat := strings.Contains(stdout.String()+stderr.String(), ovsdb.ErrNoMemory.Error())
			switch {
			case tt.partial && (code != exitUnknown || !saysWhat):
				t.Errorf("exit status %d, want 3 and what was left out", code)
			case !tt.partial && (code != exitOK || saysWhat):
				t.Errorf("exit status %d, want 0 and nothing left out", code)
			}
		})
	}
}

// memoryGroup returns the directory of a control group whose processes may have that much memory, version 1 or 2.
func memoryGroup(t *testing.T, limit int64) string {
	t.Helper()
	parent, file, swap, none := "/sys/fs/cgroup", "memory.max", "memory.swap.max", "0"
	if _, err := os.Stat(parent + "/memory/memory.limit_in_bytes"); err == nil {
		parent, file, swap, none = parent+"/memory", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", fmt.Sprint(limit)
	} else if err := os.WriteFile(parent+"/cgroup.subtree_control", []byte("+memory"), 0o644); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(parent, "ovnctl-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(dir, file), fmt.Append(nil, limit), 0o644); err != nil {
		t.Fatal(err)
	}
	_ = os.WriteFile(filepath.Join(dir, swap), []byte(none), 0o644) // kernels without accounting of swap lack it
	return dir
}

// mostUsed is the most memory that a group has used, empty where the kernel does not say.
func mostUsed(group string) string {
	for _, file := range []string{"memory.max_usage_in_bytes", "memory.peak"} {
		if text, err := os.ReadFile(filepath.Join(group, file)); err == nil {
			return strings.TrimSpace(string(text))
		}
	}
	return ""
}
