//go:build machine

package machine

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository is the folder of this module.
const repository = "../../.."

// releases are those that the tests run on: OVNCTL_RELEASES, separated by blanks, or Debian 12.
func releases() []string {
	if text := os.Getenv("OVNCTL_RELEASES"); text != "" {
		return strings.Fields(text)
	}
	return Releases()[:1]
}

// bootFor boots a machine that ends with the test.
func bootFor(t *testing.T, o Options) *Machine {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "machine-") // t.TempDir would be too long for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	o.Dir = dir
	m, err := Boot(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Stop(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// goTool runs the go command in the repository, for programs that need none of this machine's libraries.
func goTool(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = repository
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// buildOvnctl writes ovnctl of this tree into a folder.
func buildOvnctl(t *testing.T, folder string) {
	t.Helper()
	goTool(t, "build", "-buildvcs=false", "-ldflags", "-s -w", "-o", filepath.Join(folder, "ovnctl"), "./cmd/ovnctl")
}
