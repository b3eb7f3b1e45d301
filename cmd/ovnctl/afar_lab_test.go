//go:build lab

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// An afar is a lab in which node1 repairs node3 through the command prefix way.
type afar struct {
	*testing.T
	lab     *lab.Lab
	program string
	way     string
}

// TestFixAfar breaks a node, repairs and undoes it from another one, and cuts the connection in the middle: the node takes
// the repair back by itself. What was copied there is gone each time.
func TestFixAfar(t *testing.T) {
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	a := &afar{T: t, lab: l, program: buildOvnctl(t), way: l.Dir + "/enter {hostname}"}
	on := func(t *testing.T) *afar {
		b := *a
		b.T = t
		return &b
	}
	t.Run("addresses", func(t *testing.T) { on(t).addresses() })
	t.Run("uplink", func(t *testing.T) { on(t).uplink() })
	t.Run("file", func(t *testing.T) { on(t).file() })
	t.Run("doctor", func(t *testing.T) { on(t).doctor() })
	t.Run("the program there killed", func(t *testing.T) { on(t).cut(l.Dir+`/enter "$@"`, true) })
	t.Run("the connection lost", func(t *testing.T) { on(t).cut(`cat | `+l.Dir+`/enter "$1" setsid sh | cat`, false) })
	t.Run("container", func(t *testing.T) { on(t).container() })
	t.Run("refused", func(t *testing.T) { on(t).refused() })
}

// state is the directory of node3's state.
func (a *afar) state() string { return filepath.Join(a.lab.Dir, "node3/var/lib/ovnctl") }

func (a *afar) command(args ...string) *exec.Cmd {
	cmd := a.lab.Program(a.Context(), "node1", slices.Concat([]string{a.program}, args, []string{"--node", "node3", "--node-exec", a.way, "--state-dir", a.state()})...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// says runs a command from node1, wants an exit code and words, and returns what it prints; afterwards no copy is left on node3.
func (a *afar) says(code int, words string, args ...string) string {
	a.Helper()
	cmd := a.command(args...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		a.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code || !strings.Contains(string(out), words) {
		a.Errorf("%v: exit %d, want %d with %q:\n%s", args, got, code, words, out)
	}
	a.gone()
	return string(out)
}

// gone holds that no copy of the program is left.
func (a *afar) gone() {
	a.Helper()
	if files, _ := os.ReadDir(filepath.Join(a.state(), programDir)); len(files) > 0 {
		a.Errorf("left on the node: %v", files)
	}
}

func (a *afar) sh(script string) string {
	a.Helper()
	out, err := a.lab.Command(a.Context(), "node3", "sh", "-ec", script).CombinedOutput()
	if err != nil {
		a.Fatalf("%s: %v: %s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// lose moves the addresses of br-ex to its uplink, as a boot does.
func (a *afar) lose() {
	a.sh("ip address flush dev br-ex scope global; ip address replace 172.30.0.13/24 dev eth0; ip route replace default via 172.30.0.1 dev eth0")
}

const (
	addressesOf = "ip -4 -o address show dev %s scope global | awk '{print $4}'"
	ours        = "172.30.0.13/24"
)

func (a *afar) has(link, want string) {
	a.Helper()
	if got := a.sh(fmt.Sprintf(addressesOf, link)); got != want {
		a.Errorf("%s has %q, want %q", link, got, want)
	}
}

var restore = []string{"fix", "restore-bridge-ip", "br-ex", "--max-risk", "high", "--yes"}

func (a *afar) addresses() {
	a.lose()
	a.says(exitOK, "PLANNED", append(restore, "--dry-run")...)
	a.has("eth0", ours)
	a.says(exitFix, "its risk is high", "fix", "restore-bridge-ip", "br-ex", "--yes")
	a.says(exitOK, "FIXED", restore...)
	a.has("br-ex", ours)
	a.has("eth0", "")
	a.says(exitOK, "confirmed", "fix", "list", "--done")
	a.says(exitOK, "UNDONE", "fix", "undo", "1", "--yes")
	a.has("eth0", ours)
	a.has("br-ex", "")
	a.says(exitOK, `"state": "fixed"`, append(restore, "-o", "json")...)
	a.has("br-ex", ours)
}

func (a *afar) uplink() {
	a.sh("ovs-vsctl del-port br-ex eth0")
	back := "undo    ovnctl --node-exec '" + a.way + "' fix undo --node node3 " // as it is run from here
	a.says(exitOK, back, "fix", "attach-uplink", "br-ex", "eth0", "--max-risk", "high", "--yes")
	if got := a.sh("ovs-vsctl port-to-br eth0"); got != "br-ex" {
		a.Errorf("eth0 is a port of %q", got)
	}
	a.says(exitOK, "healthy", "doctor")
}

// file repairs a file of the node.
func (a *afar) file() {
	file := filepath.Join(a.lab.Dir, "node3/etc/default/openvswitch-switch")
	const broken = "OVS_CTL_OPTS=\"$OVS_CTL_OPTS --delete-transient-ports\"\n"
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(broken), 0o644)); err != nil {
		a.Fatal(err)
	}
	a.sh("ovs-vsctl set Port eth0 other_config:transient=true")
	defer a.sh("ovs-vsctl remove Port eth0 other_config transient")
	defer func() { _ = os.Remove(file) }()
	a.says(exitOK, "FIXED", "fix", "set-transient-default", "--yes")
	if text, err := os.ReadFile(file); err != nil || string(text) == broken || !strings.Contains(string(text), "--delete-transient-ports") {
		a.Errorf("the file has %q (%v)", text, err)
	}
	a.says(exitOK, "UNDONE", "fix", "undo", "--yes")
	if text, err := os.ReadFile(file); err != nil || string(text) != broken {
		a.Errorf("after undo the file has %q (%v)", text, err)
	}
}

func (a *afar) doctor() {
	a.lose()
	if out := a.says(exitOK, "FIXED", "doctor", "--fix", "--max-risk", "high", "--yes"); strings.Contains(out, "not read: nodes") {
		a.Errorf("nodes that were not asked for are not read:\n%s", out)
	}
	a.has("br-ex", ours)
}

// container repairs a node that is a container: commands are put into it beside its first process, with which alone it ends.
func (a *afar) container() {
	first := a.sh("unshare --pid --fork --kill-child --mount-proc sleep 600 </dev/null >/dev/null 2>&1 & until pgrep -P $!; do sleep 0.1; done")
	defer a.sh("kill -9 " + first)
	a.lose()
	a.script(a.lab.Dir + `/enter "$1" nsenter --target ` + first + ` --pid --mount sh`)
	a.says(exitOK, "FIXED", restore...)
	a.has("br-ex", ours)
}

// script has the way run a script, with the host as its first argument.
func (a *afar) script(text string) {
	file := filepath.Join(a.TempDir(), "way")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		a.Fatal(err)
	}
	a.way = file + " {hostname}"
}

// cut ends the connection once the addresses are moved, before anybody has confirmed it: the node moves them back.
func (a *afar) cut(way string, there bool) {
	a.lose()
	a.script(way)
	before := len(a.journal())
	var said bytes.Buffer
	cmd := a.command(restore...)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		a.Fatal(err)
	}
	began, waits := false, false
	for end := time.Now().Add(time.Minute); !waits && time.Now().Before(end); time.Sleep(time.Millisecond) {
		runs := a.journal()
		if len(runs) == before {
			continue
		}
		if !began { // from here on nobody replies
			_ = cmd.Process.Signal(syscall.SIGSTOP)
			began = true
		}
		waits = strings.Contains(runs[len(runs)-1], `"state":"verified"`)
	}
	if there {
		a.killThere()
		_ = cmd.Process.Signal(syscall.SIGCONT)
	} else {
		_ = cmd.Process.Kill()
	}
	_ = cmd.Wait()
	closed := func() bool {
		runs := a.journal()
		last := runs[len(runs)-1]
		return strings.Contains(last, `"state":"undone"`) || strings.Contains(last, `"state":"confirmed"`)
	}
	for end := time.Now().Add(2 * time.Minute); !closed() && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
	if runs := a.journal(); !strings.Contains(runs[len(runs)-1], `"state":"undone"`) {
		a.Errorf("the node did not undo it:\n%s\n%s", runs[len(runs)-1], said.String())
	}
	a.has("eth0", ours)
	a.has("br-ex", "")
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if files, _ := os.ReadDir(filepath.Join(a.state(), programDir)); len(files) == 0 {
			break
		}
	}
	a.gone()
	if there && !strings.Contains(said.String(), "the connection was lost") {
		a.Errorf("it does not say that the connection was lost:\n%s", said.String())
	}
}

// killThere kills the program on the node, as the end of a login does, and leaves the watchdog.
func (a *afar) killThere() {
	processes, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	for _, p := range processes {
		exe, err := os.Readlink(p + "/exe")
		if err != nil || filepath.Dir(exe) != filepath.Join(a.state(), programDir) {
			continue
		}
		line, err := os.ReadFile(p + "/cmdline")
		pid, err2 := strconv.Atoi(filepath.Base(p))
		if err == nil && err2 == nil && !bytes.Contains(line, []byte("\x00watch\x00")) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// journal returns the runs of node3, each as the text of its file.
func (a *afar) journal() []string {
	files, _ := filepath.Glob(filepath.Join(a.state(), "journal/*.jsonl"))
	var runs []string
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			a.Fatal(err)
		}
		runs = append(runs, string(text))
	}
	return runs
}

// refused are the nodes where a lost connection might not undo: nothing is changed, and the command to run there is said.
func (a *afar) refused() {
	a.lose()
	fake := a.TempDir()
	if err := os.WriteFile(filepath.Join(fake, "uname"), []byte("#!/bin/sh\necho Linux mips64\n"), 0o755); err != nil {
		a.Fatal(err)
	}
	enter := a.lab.Dir + `/enter "$1" `
	const there = "on node3: ovnctl fix restore-bridge-ip br-ex "
	for name, way := range map[string]string{
		"mips64":                   enter + "env PATH=" + fake + ":$PATH sh",
		"do not run as root":       enter + "setpriv --reuid=65534 --clear-groups sh",
		"in its own PID namespace": enter + "unshare --pid --fork sh",
		"Read-only file system":    enter + `sh -c 'mkdir -p ` + a.state() + `; mount -t tmpfs -o ro none ` + a.state() + `; exec sh'`,
	} {
		a.script(way)
		a.says(exitUsage, name, restore...)
		a.says(exitUsage, there, restore...)
		a.has("eth0", ours)
	}
	a.way = "" // no way at all
	a.says(exitUsage, there, restore...)
}
