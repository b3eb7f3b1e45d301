//go:build lab

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// TestRefusedDatabase ends with 3 where a database refuses the connection, also of commands that need only that one.
func TestRefusedDatabase(t *testing.T) {
	sb, switches := ovsdbtest.Start(t, ovsdbtest.Southbound), ovsdbtest.Start(t, ovsdbtest.OpenvSwitch)
	const refused = "tcp:127.0.0.1:1"
	for _, args := range [][]string{
		{"fix", "enable-port", "web-1", "--dry-run", "--nb", refused, "--sb", sb.Remote(), "--ovs", switches.Remote()},
		{"fix", "delete-chassis", "node1", "--dry-run", "--nb", refused, "--sb", refused, "--ovs", switches.Remote()},
		{"flows", "--nb", refused, "--sb", sb.Remote(), "--ovs", refused},
		{"topology", "show", "--nb", refused, "--sb", sb.Remote(), "--ovs", switches.Remote()},
	} {
		if args[0] == "fix" {
			args = append(args, "--state-dir", filepath.Join(t.TempDir(), "state"))
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
		cmd.Env = append(os.Environ(), asOvnctl+"=1", "OVS_RUNDIR="+t.TempDir(), "OVN_RUNDIR="+t.TempDir())
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != exitUnknown || !strings.Contains(string(out), "connection refused") {
			t.Errorf("ovnctl %s: exit %d, want %d:\n%s", strings.Join(args, " "), code, exitUnknown, out)
		}
	}
}
