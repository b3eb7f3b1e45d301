//go:build lab

package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnpackingLeavesRoom unpacks 200 MB onto a disk of 400 MB: it ends before the last 256 MB are written to, says so, and names the
// way out; the disk of that way is used.
func TestUnpackingLeavesRoom(t *testing.T) {
	packed := filepath.Join(t.TempDir(), "sb.db.gz")
	var text bytes.Buffer
	w := gzip.NewWriter(&text)
	if _, err := w.Write(make([]byte, 200<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(packed, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	disk := t.TempDir()
	for _, test := range []struct {
		size string
		full bool
	}{{"400m", true}, {"500m", false}} {
		// In a mount namespace of its own, which goes with the command.
		cmd := exec.CommandContext(t.Context(), "unshare", "-m", "sh", "-c", `mount -t tmpfs -o "size=$1" tmpfs "$2" && shift 2 && exec "$@"`, "sh", test.size, disk,
			"env", asOvnctl+"=1", "TMPDIR="+disk, os.Args[0], "--offline", packed, "topology", "show")
		out, _ := cmd.CombinedOutput()
		full := strings.Contains(string(out), "MB are left on the disk") && strings.Contains(string(out), "hint: TMPDIR=DIRECTORY")
		if code := cmd.ProcessState.ExitCode(); code != exitUnknown || full != test.full {
			t.Errorf("a disk of %s: exit %d\n%.1000s", test.size, code, out)
		}
	}
}
