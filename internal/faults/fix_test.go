//go:build lab

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/fixes"
)

// TestFix holds what fix promises beside repairing: refusals, guards, undo, one run at a time, the watchdog.
func TestFix(t *testing.T) {
	if _, err := killable(); err != nil {
		t.Fatal(err)
	}
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	on := func(t *testing.T, host string) *matrix {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		t.Cleanup(cancel)
		return &matrix{scene: &scene{T: t, Lab: l, ctx: ctx, fault: &fault{on: host, restless: announced}}}
	}
	t.Run("refusals", func(t *testing.T) { on(t, "central").refusals() })
	t.Run("undo", func(t *testing.T) { on(t, "central").undoings() })
	t.Run("guard", func(t *testing.T) { on(t, "central").guarded() })
	t.Run("one at a time", func(t *testing.T) { on(t, "central").oneAtATime() })
	t.Run("login killed in mid-fix", func(t *testing.T) { on(t, "node1").loginKilled() })
	t.Run("uplink lost in mid-fix", func(t *testing.T) { on(t, "node1").uplinkLost() })
	t.Run("nobody confirms", func(t *testing.T) { on(t, "node1").unconfirmed() })
	t.Run("watchdog killed in mid-fix", func(t *testing.T) { on(t, "node1").watchdogKilled() })
	t.Run("login killed in mid-undo", func(t *testing.T) { on(t, "node1").loginKilledUndoing() })
	t.Run("nobody confirms the undo", func(t *testing.T) { on(t, "node1").undoUnconfirmed() })
	t.Run("Open vSwitch does not start", func(t *testing.T) { on(t, "node1").doesNotStart() })
}

// doesNotStart repairs the file for which Open vSwitch is down.
func (m *matrix) doesNotStart() {
	m.transientUplink(debianRelease)
	m.rootFile("node1", debianDefault, "OVS_CTL_OPTS=\"$OVS_CTL_OPTS --delete-transient-ports\"\n")
	m.stopSwitch("node1")
	m.says(0, "FIXED", "fix", "set-transient-default", "--yes")
	m.startSwitch("node1")
	plainUplink(m.scene)
}

// says runs ovnctl and wants an exit code and words in what it prints.
func (m *matrix) says(code int, words string, args ...string) string {
	m.Helper()
	got, out := m.ovnctl(args...)
	if got != code || !strings.Contains(out, words) {
		m.Errorf("ovnctl %s: exit %d, want %d with %q:\n%s", strings.Join(args, " "), got, code, words, out)
	}
	return out
}

func (m *matrix) refusals() {
	m.says(2, `no repair "enable-prot"`, "fix", "enable-prot", "--yes")
	m.says(2, "did you mean", "fix", "enable-prot", "--yes")
	m.says(2, "enable-port takes PORT", "fix", "enable-port", "--yes")
	m.says(2, `"more" is one more`, "fix", "enable-port", "shop_web-1", "more", "--yes")
	m.says(2, `no logical port "nope"`, "fix", "enable-port", "nope", "--yes")
	m.says(2, "hint: nearest: shop_client", "fix", "enable-port", "shop_clint", "--yes")
	m.says(4, "is enabled", "fix", "enable-port", "shop_web-1", "--yes")
	m.says(2, "not a terminal", "fix", "enable-port", "shop_web-1")
	m.says(2, "expected low, medium or high", "fix", "enable-port", "shop_web-1", "--yes", "--max-risk", "none")
	m.sh("central", "ovn-nbctl lsp-set-enabled shop_web-1 disabled")
	m.says(0, "PLANNED", "fix", "enable-port", "shop_web-1", "--dry-run")
	m.says(4, "its risk is medium", "fix", "enable-port", "shop_web-1", "--yes", "--max-risk", "low")
	if out := m.sh("central", "ovn-nbctl get logical_switch_port shop_web-1 enabled"); out != "false" {
		m.Errorf("after refusals the port is enabled=%s", out)
	}
	m.says(0, "FIXED", "fix", "enable-port", "PORT=shop_web-1", "--yes")
	m.says(4, "the journal has no run 99", "fix", "undo", "99", "--yes")
	m.says(2, "is not the number of a run", "fix", "undo", "first", "--yes")
}

func (m *matrix) undoings() {
	m.sh("central", "ovn-nbctl lsp-set-enabled shop_web-1 disabled")
	m.says(0, "FIXED", "fix", "enable-port", "shop_web-1", "--yes")
	m.sh("central", "ovn-nbctl clear logical_switch_port shop_web-1 enabled")
	m.says(4, "it was changed since", "fix", "undo", "--yes")
	m.sh("central", "ovn-nbctl lsp-set-enabled shop_web-1 enabled")
	m.says(0, "UNDONE", "fix", "undo", "--yes")
	if out := m.sh("central", "ovn-nbctl get logical_switch_port shop_web-1 enabled"); out != "false" {
		m.Errorf("after undo the port is enabled=%s", out)
	}
	m.sh("central", "ovn-nbctl lsp-set-enabled shop_web-1 disabled")
	m.says(0, "FIXED", "fix", "enable-port", "shop_web-1", "--yes")
	id := strconv.Itoa(m.runs()[len(m.runs())-1].ID)
	m.says(4, "is enabled", "fix", "enable-port", "shop_web-2", "--yes")
	m.says(2, "the last fix, enable-port shop_web-2, was refused", undo...)
	m.says(2, "fix undo "+id+" --yes", undo...)
	if out := m.sh("central", "ovn-nbctl get logical_switch_port shop_web-1 enabled"); out != "true" {
		m.Errorf("undo after a refused fix took back the older one: enabled=%s", out)
	}
	m.says(0, "UNDONE", "fix", "undo", id, "--yes")
	m.sh("central", "ovn-nbctl lsp-set-enabled shop_web-1 enabled")
}

// guarded: between the plan and the change somebody else is faster; nothing is done, and what moved is said.
func (m *matrix) guarded() {
	m.sh("central", "ovn-nbctl lsp-set-enabled shop_web-1 disabled")
	hold := filepath.Join(m.Dir, "hold")
	cmd, out := m.start([]string{"OVNCTL_FAILPAUSE=before_the_lock " + hold}, "fix", "enable-port", "shop_web-1", "--yes")
	m.until("the run waits", func() bool { return exists(hold) })
	m.sh("central", "ovn-nbctl clear logical_switch_port shop_web-1 enabled")
	_ = os.Remove(hold)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 4 || !strings.Contains(out.String(), "enabled is [], and was false") {
		m.Errorf("fix of a world that has moved: exit %d:\n%s", code, out)
	}
	if out := m.sh("central", "ovn-nbctl get logical_switch_port shop_web-1 enabled"); out != "[]" {
		m.Errorf("the port is enabled=%s, though the world had moved", out)
	}
}

// oneAtATime: while one run is under way, another one says so and names it.
func (m *matrix) oneAtATime() {
	m.sh("central", "ovn-nbctl lsp-set-enabled shop_web-1 disabled")
	hold := filepath.Join(m.Dir, "hold")
	cmd, out := m.start([]string{"OVNCTL_FAILPAUSE=locked " + hold}, "fix", "enable-port", "shop_web-1", "--yes")
	m.until("the run has the lock", func() bool { return exists(hold) })
	m.says(4, "is repairing this host", "fix", "enable-port", "shop_web-1", "--yes")
	_ = os.Remove(hold)
	if err := cmd.Wait(); err != nil {
		m.Errorf("the first run: %v:\n%s", err, out)
	}
	m.faster()
}

// faster: of two runs the one that finds everything done says so, and does not offer to undo what the other did.
func (m *matrix) faster() {
	m.sh("central", "ovn-nbctl lsp-set-enabled shop_web-1 disabled")
	hold := filepath.Join(m.Dir, "hold")
	cmd, out := m.start([]string{"OVNCTL_FAILPAUSE=before_the_lock " + hold}, "fix", "enable-port", "shop_web-1", "--yes")
	m.until("the run waits", func() bool { return exists(hold) })
	m.says(0, "FIXED", "fix", "enable-port", "shop_web-1", "--yes")
	_ = os.Remove(hold)
	if err := cmd.Wait(); err != nil || strings.Contains(out.String(), "\nFIXED") || strings.Contains(out.String(), "ovnctl fix undo ") || !strings.Contains(out.String(), "ALREADY FIXED") {
		m.Errorf("the slower of two runs: %v:\n%s", err, out)
	}
}

// bootLike gives the uplink the bridge's address and default route, as a host does when it boots.
func (m *matrix) bootLike() {
	m.sh("node1", "ip -4 addr flush dev br-ex; ip addr add 172.30.0.11/24 dev eth0; ip route add default via 172.30.0.1 dev eth0")
	m.fault.check = "bridge-ip-lost-after-reboot"
	m.before = m.settled()
}

var (
	restore = []string{"fix", "restore-bridge-ip", "br-ex", "--yes", "--max-risk", "high"}
	undo    = []string{"fix", "undo", "--yes"}
)

// returns waits until the host is as it was, and the run in a state again.
func (m *matrix) returns(why string, state fixes.State) {
	m.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for {
		left := differences(m.before, m.state())
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			m.Fatalf("%s: the host did not come back as it was:\n%s\n%s", why, strings.Join(left, "\n"), m.journal())
		}
		time.Sleep(200 * time.Millisecond)
	}
	m.says(0, "", "fix", "recover")
	if is := m.runs()[len(m.runs())-1].State(); is != state {
		m.Errorf("%s: the run is %s, want %s", why, is, state)
	}
}

// loginKilled kills all that the operator's login consists of while the addresses are being moved.
func (m *matrix) loginKilled() {
	m.bootLike()
	for _, point := range []string{"journal:_on_disk_begun_1", "step_1_done", "before_verify", "after_verify"} {
		m.killLogin(point, restore)
		m.returns("login killed at "+point, fixes.Undone)
	}
	m.mendAddresses()
}

// loginKilledUndoing does so while they are being moved back.
func (m *matrix) loginKilledUndoing() {
	m.bootLike()
	m.mendAddresses()
	m.before = m.settled()
	for _, point := range []string{"journal:_on_disk_undoing", "step_1_taken_back", "journal:_on_disk_taken_back_1", "journal:_before_undone"} {
		m.killLogin(point, undo)
		m.returns("login killed at "+point+" of the undo", fixes.Confirmed)
	}
}

// undoUnconfirmed undoes what cuts this host off: what is to confirm it does not answer, or the undo hangs.
func (m *matrix) undoUnconfirmed() {
	m.bootLike()
	m.mendAddresses()
	m.before = m.settled()
	m.sh("fab", "ip link set dev %s down", m.fabricEnd("node1"))
	m.says(4, "it is in place again", slices.Concat(undo, []string{"--confirm", "gateway", "--confirm-timeout", "2"})...)
	m.sh("fab", "ip link set dev %s up", m.fabricEnd("node1"))
	m.returns("what is to confirm the undo does not answer", fixes.Confirmed)
	hold := filepath.Join(m.Dir, "hold")
	cmd, _ := m.start([]string{"OVNCTL_FAILPAUSE=journal:_before_undone " + hold}, slices.Concat(undo, []string{"--confirm-timeout", "1"})...)
	m.until("all is taken back", func() bool { return exists(hold) })
	if err := cmd.Wait(); err == nil {
		m.Error("an undo that hangs ends well")
	}
	_ = os.Remove(hold)
	m.returns("nobody confirms the undo", fixes.Confirmed)
	m.says(0, "UNDONE", undo...)
	m.mendAddresses()
}

// killLogin ends a login from which ovnctl was called, all of it, when ovnctl has come to a point.
func (m *matrix) killLogin(point string, command []string) {
	m.Helper()
	group, err := os.MkdirTemp(unified(m), "ovnctl-login-")
	if err != nil {
		m.Fatal(err)
	}
	defer func() { _ = os.Remove(group) }()
	hold := filepath.Join(m.Dir, "hold")
	script := "echo $$ > " + group + "/cgroup.procs; exec \"$@\""
	path, _ := killable()
	cmd := m.Program(m.ctx, "node1", append([]string{"env", "OVNCTL_FAILPAUSE=" + point + " " + hold, "nsenter", "--mount=/proc/" + strconv.Itoa(os.Getpid()) + "/ns/mnt", "sh", "-c", script, "sh", path}, m.flags(command...)...)...)
	if err := cmd.Start(); err != nil {
		m.Fatal(err)
	}
	m.until("ovnctl is at "+point, func() bool { return exists(hold) })
	procs, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
	if err != nil || len(strings.Fields(string(procs))) == 0 {
		m.Fatalf("the login's control group has no processes: %v", err)
	}
	for _, pid := range strings.Fields(string(procs)) {
		n, _ := strconv.Atoi(pid)
		_ = syscall.Kill(n, syscall.SIGKILL)
	}
	_ = cmd.Wait()
	_ = os.Remove(hold)
}

// uplinkLost takes the uplink's other end down while the addresses are being moved: the gateway cannot answer.
func (m *matrix) uplinkLost() {
	m.bootLike()
	hold := filepath.Join(m.Dir, "hold")
	args := append(append([]string{}, restore...), "--confirm", "gateway,southbound", "--confirm-timeout", "3")
	cmd, out := m.start([]string{"OVNCTL_FAILPAUSE=step_1_done " + hold}, args...)
	m.until("the addresses are moved", func() bool { return exists(hold) })
	m.sh("fab", "ip link set dev %s down", m.fabricEnd("node1"))
	_ = os.Remove(hold)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 4 {
		m.Errorf("fix that loses the uplink: exit %d, want 4:\n%s", code, out)
	}
	m.sh("fab", "ip link set dev %s up", m.fabricEnd("node1"))
	m.returns("uplink lost in mid-fix", fixes.Undone)
	m.mendAddresses()
}

// unconfirmed: the run hangs, and the watchdog ends it.
func (m *matrix) unconfirmed() {
	m.bootLike()
	hold := filepath.Join(m.Dir, "hold")
	args := append(append([]string{}, restore...), "--confirm-timeout", "1")
	cmd, _ := m.start([]string{"OVNCTL_FAILPAUSE=journal:_on_disk_verified " + hold}, args...)
	m.until("the check has passed", func() bool { return exists(hold) })
	err := cmd.Wait()
	_ = os.Remove(hold)
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		m.Errorf("a run that nobody confirms ends with %v", err)
	}
	m.returns("nobody confirmed", fixes.Undone)
	m.mendAddresses()
}

// watchdogKilled ends the watchdog while the addresses are being moved: nobody would take them back if the run hung now, so
// the run does.
func (m *matrix) watchdogKilled() {
	m.bootLike()
	for _, point := range []string{"journal:_on_disk_begun_1", "step_1_done", "after_verify"} {
		hold := filepath.Join(m.Dir, "hold")
		cmd, out := m.start([]string{"OVNCTL_FAILPAUSE=" + point + " " + hold}, restore...)
		m.until("ovnctl is at "+point, func() bool { return exists(hold) })
		watchdog := m.watchdog()
		m.scene.kill(watchdog, syscall.SIGKILL)
		m.until("the watchdog has ended", func() bool { // on a busy machine not at once
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", watchdog))
			return err != nil || bytes.Contains(stat, []byte(") Z "))
		})
		_ = os.Remove(hold)
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 4 || !strings.Contains(out.String(), "the watchdog is no longer running") {
			m.Errorf("fix whose watchdog is killed at %s: exit %d, want 4:\n%s", point, code, out)
		}
		m.returns("watchdog killed at "+point, fixes.Undone)
	}
	m.mendAddresses()
}

// watchdog is the process that watches the run under way.
func (m *matrix) watchdog() int {
	m.Helper()
	posts, err := filepath.Glob(filepath.Join(m.stateDir(), "journal", "*.watch"))
	if err != nil || len(posts) == 0 {
		m.Fatalf("no watchdog has reported: %v", err)
	}
	text, err := os.ReadFile(posts[len(posts)-1])
	var post fixes.Process
	if err := errors.Join(err, json.Unmarshal(text, &post)); err != nil || post.PID < 2 {
		m.Fatalf("%v: %s", err, text)
	}
	return post.PID
}

// mendAddresses ends the fault by the repair itself.
func (m *matrix) mendAddresses() {
	m.says(0, "FIXED", restore...)
}

// fabricEnd is the fabric's end of a node's uplink.
func (m *matrix) fabricEnd(node string) string {
	m.Helper()
	index := m.sh(node, "cat /sys/class/net/eth0/iflink")
	return m.sh("fab", "grep -lx %s /sys/class/net/*/ifindex | cut -d/ -f5", index)
}

// unified is where version 2 of control groups is mounted.
func unified(m *matrix) string {
	m.Helper()
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		m.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "cgroup2" {
			return f[1]
		}
	}
	m.Fatal("no control groups of version 2 are mounted")
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
