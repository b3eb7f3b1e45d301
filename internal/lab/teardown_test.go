package lab

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// traces lists what there is of a lab anywhere on the machine: namespaces, processes, mounts and files.
func traces(s *State) []string {
	found := s.namespaces()
	for _, f := range []string{s.Dir, filepath.Join(registry, s.Prefix)} {
		if _, err := os.Lstat(f); err == nil {
			found = append(found, f)
		}
	}
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		if p == fmt.Sprintf("/proc/%d", os.Getpid()) {
			continue
		}
		cmdline, _ := os.ReadFile(p + "/cmdline")
		environ, _ := os.ReadFile(p + "/environ")
		for _, b := range [][]byte{cmdline, environ} {
			if bytes.Contains(b, []byte(s.Dir+"/")) || bytes.Contains(b, []byte(s.Prefix)) || bytes.Contains(b, []byte(keeperVariable+"="+s.Dir)) {
				found = append(found, fmt.Sprintf("%s: %s", p, bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '})))
				break
			}
		}
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, s.Prefix) || strings.Contains(line, s.Dir+"/") {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// wantGone fails unless every trace of the lab disappears within the time.
func wantGone(t *testing.T, s *State, within time.Duration) {
	t.Helper()
	start := time.Now()
	for {
		left := traces(s)
		if len(left) == 0 {
			t.Logf("gone after %.2f s", time.Since(start).Seconds())
			return
		}
		if time.Since(start) > within {
			t.Fatalf("after %s there is still:\n%s", within, strings.Join(left, "\n"))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestDown(t *testing.T) {
	l, err := Up(t.Context(), OVNKubernetes(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(traces(l.State)); n < 20 {
		t.Errorf("a running lab has %d traces, want at least its namespaces and daemons: the test looks in the wrong places", n)
	}
	start := time.Now()
	if err := l.Down(); err != nil {
		t.Fatal(err)
	}
	t.Logf("down after %.2f s", time.Since(start).Seconds())
	wantGone(t, l.State, 0)
	if err := l.Down(); err != nil {
		t.Errorf("a second Down: %v", err)
	}
}

// owner starts a process that brings a lab up.
func owner(t *testing.T) (*exec.Cmd, *bufio.Reader, string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "lab-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), ownerVariable+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewReader(out), dir
}

func kill(t *testing.T, cmd *exec.Cmd, sig os.Signal) {
	t.Helper()
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

func mustState(t *testing.T, dir string) *State {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A lab goes when the process that owns it goes, however that is.
func TestOwnerEnds(t *testing.T) {
	for _, sig := range []os.Signal{os.Kill, os.Interrupt} {
		t.Run(sig.String(), func(t *testing.T) {
			cmd, out, dir := owner(t)
			if line, _ := out.ReadString('\n'); line != "up\n" {
				t.Fatalf("owner says %q", line)
			}
			s := mustState(t, dir)
			kill(t, cmd, sig)
			wantGone(t, s, 10*time.Second)
		})
	}
}

// The owner may be killed while it is building.
func TestOwnerEndsEarly(t *testing.T) {
	for _, after := range []time.Duration{50, 150, 300, 500, 800} {
		t.Run(fmt.Sprintf("%dms", after), func(t *testing.T) {
			cmd, _, dir := owner(t)
			var s *State
			for s == nil || s.Keeper.PID == 0 {
				s, _ = loadState(dir)
			}
			time.Sleep(after * time.Millisecond)
			kill(t, cmd, os.Kill)
			wantGone(t, s, 10*time.Second)
		})
	}
}

// When the keeper was killed too, the next lab to start removes what is left.
func TestKeeperEndsToo(t *testing.T) {
	cmd, out, dir := owner(t)
	if line, _ := out.ReadString('\n'); line != "up\n" {
		t.Fatalf("owner says %q", line)
	}
	s := mustState(t, dir)
	s.Keeper.kill()
	kill(t, cmd, os.Kill)
	if len(s.namespaces()) == 0 {
		t.Fatal("the namespaces went with the processes: nothing left to test")
	}
	if err := reap(); err != nil {
		t.Fatal(err)
	}
	wantGone(t, s, 0)
}
