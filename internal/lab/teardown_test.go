//go:build lab

package lab

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// newDir is the path of a directory that does not exist yet.
func newDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "lab-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// owner starts a process that brings a lab up.
func owner(t *testing.T, env ...string) (*exec.Cmd, *bufio.Reader, string) {
	t.Helper()
	dir := newDir(t)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(append(os.Environ(), ownerVariable+"="+dir), env...)
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

// begun waits until a lab is on record.
func begun(dir string) *State {
	for {
		if s, err := loadState(dir); err == nil && s.Keeper.PID != 0 {
			return s
		}
		time.Sleep(time.Millisecond)
	}
}

// The owner may be killed while it is building.
func TestOwnerEndsEarly(t *testing.T) {
	for _, after := range []time.Duration{50, 150, 300, 500, 800} {
		t.Run(fmt.Sprintf("%dms", after), func(t *testing.T) {
			cmd, _, dir := owner(t)
			s := begun(dir)
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
	for deadline := time.Now().Add(10 * time.Second); s.Keeper.alive(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the keeper does not end")
		}
	}
	if len(s.namespaces()) == 0 {
		t.Fatal("the namespaces went with the processes: nothing left to test")
	}
	if err := reap(); err != nil {
		t.Fatal(err)
	}
	wantGone(t, s, 0)
}

// A lab that does not come up, or is called off, leaves as little.
func TestUpFails(t *testing.T) {
	bad := OVNKubernetes()
	bad.Northbound = append(bad.Northbound, words("lsp-add no-such-switch p"))
	dir := newDir(t)
	found := make(chan *State)
	go func() { found <- begun(dir) }()
	_, err := Up(t.Context(), bad, Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "no-such-switch") {
		t.Errorf("Up with a Northbound that cannot be written: %v", err)
	}
	wantGone(t, <-found, 0)

	dir = newDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		s := begun(dir)
		cancel()
		found <- s
	}()
	if _, err := Up(ctx, OVNKubernetes(), Options{Dir: dir}); err == nil {
		t.Error("Up was called off and says nothing")
	}
	wantGone(t, <-found, 0)
}

// A detached lab stays when the process that made it ends, and another can use it and take it down.
func TestDetach(t *testing.T) {
	cmd, out, dir := owner(t, detachVariable+"=1")
	if line, _ := out.ReadString('\n'); line != "up\n" {
		t.Fatalf("owner says %q", line)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(500 * time.Millisecond) // as long as a keeper would take that did not understand
	s := mustState(t, dir)
	defer func() {
		if err := Down(dir); err != nil {
			t.Error(err)
		}
		wantGone(t, s, 0)
	}()
	if err := reap(); err != nil {
		t.Fatal(err)
	}
	truth, err := s.Probe(t.Context(), "shop_client", "shop/web", "tcp6", 0)
	if err != nil || !truth.RoundTrip {
		t.Errorf("probe: %+v, %v", truth, err)
	}
	labs, err := List()
	if err != nil || !slices.ContainsFunc(labs, func(l *State) bool { return l.Dir == dir }) {
		t.Errorf("List: %v, %v; want %s in it", labs, err, dir)
	}
	for command, want := range map[string]string{
		dir + "/enter node2 sh -c 'echo $OVS_RUNDIR'":                                                dir + "/node2/run/openvswitch\n",
		dir + "/enter node3 ovs-vsctl get Open_vSwitch . external_ids:hostname":                      "node3\n",
		dir + "/enter shop_client cat /sys/class/net/eth0/mtu":                                       "1400\n",
		`eval "$(` + dir + `/env)"; ovn-nbctl --bare --columns=name find Logical_Switch name=join`:   "join\n",
		`eval "$(` + dir + `/env)"; ovn-sbctl --bare --columns=hostname find Chassis hostname=node1`: "node1\n",
	} {
		got, err := exec.Command("sh", "-c", command).CombinedOutput()
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", command, got, err, want)
		}
	}
}
