package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestInterruptUnpacking ends ovnctl in the middle of unpacking 16 GB, which takes minutes: by Ctrl-C, by a service manager and by
// a closed terminal. Nothing is left behind.
func TestInterruptUnpacking(t *testing.T) {
	var member bytes.Buffer
	w := gzip.NewWriter(&member)
	if _, err := w.Write(make([]byte, 64<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	packed := filepath.Join(t.TempDir(), "sb.db.gz")
	if err := os.WriteFile(packed, bytes.Repeat(member.Bytes(), 255), 0o600); err != nil {
		t.Fatal(err)
	}
	hearHangups(t)
	for _, sent := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sent.String(), func(t *testing.T) {
			temporary := t.TempDir()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "--offline", packed, "topology", "show")
			cmd.Env = append(os.Environ(), asOvnctl+"=1", "TMPDIR="+temporary)
			var errs strings.Builder
			cmd.Stderr = &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			waitUnpacking(t, cmd.Process.Pid)
			start := time.Now()
			_ = cmd.Process.Signal(sent)
			_ = cmd.Wait()
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("it ended after %s", took)
			} else {
				t.Logf("it ended after %s", took)
			}
			if code := cmd.ProcessState.ExitCode(); code != exitUnknown || !strings.Contains(errs.String(), "interrupted") {
				t.Errorf("exit %d, want %d: %s", code, exitUnknown, &errs)
			}
			if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// waitUnpacking waits until a process holds the temporary file, which has no name.
func waitUnpacking(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		open, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "fd/*"))
		for _, fd := range open {
			if to, err := os.Readlink(fd); err == nil && strings.Contains(to, "ovnctl-") && strings.HasSuffix(to, "(deleted)") {
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("it does not unpack")
}

// hearHangups makes the processes that a test starts hear hangups, which nohup has them ignore.
func hearHangups(t *testing.T) {
	t.Helper()
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(caught) })
}
