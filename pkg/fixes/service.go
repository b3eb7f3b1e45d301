package fixes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ovnctl/ovnctl/pkg/envfile"
	"github.com/ovnctl/ovnctl/pkg/node"
)

// What a Service does.
const (
	Start   = "start"
	Restart = "restart" // of ovn-controller: `exit --restart` keeps its chassis and ports
	Replace = "replace" // of a daemon that hangs: it is killed, and started
	Unmask  = "unmask"  // of a unit of systemd, which is not started
)

// units are the services of systemd by the daemons, the likeliest first.
var units = map[string][]string{
	"ovsdb-server":   {"ovsdb-server.service"},
	"ovs-vswitchd":   {"ovs-vswitchd.service"},
	"ovn-controller": {"ovn-controller.service", "ovn-host.service"},
	"ovn-northd":     {"ovn-northd.service", "ovn-central.service"},
}

// starters are what the packages start the daemons with, and where options stand
// that it is given; ovs-ctl(8), ovn-ctl(8).
var starters = map[string]struct {
	script string
	args   []string
	files  []string
	names  []string
}{
	"ovsdb-server": {
		"/usr/share/openvswitch/scripts/ovs-ctl", []string{"--no-ovs-vswitchd", "--no-monitor", "--system-id=random", "--no-record-hostname", "start"},
		[]string{"/etc/default/openvswitch-switch", "/etc/sysconfig/openvswitch"}, []string{"OVS_CTL_OPTS", "OPTIONS"},
	},
	"ovs-vswitchd": {
		"/usr/share/openvswitch/scripts/ovs-ctl", []string{"--no-ovsdb-server", "--no-monitor", "--system-id=random", "--no-record-hostname", "start"},
		[]string{"/etc/default/openvswitch-switch", "/etc/sysconfig/openvswitch"}, []string{"OVS_CTL_OPTS", "OPTIONS"},
	},
	"ovn-controller": {
		"/usr/share/ovn/scripts/ovn-ctl", []string{"--ovn-manage-ovsdb=no", "--no-monitor", "start_controller"},
		[]string{"/etc/default/ovn-host", "/etc/sysconfig/ovn"}, []string{"OVN_CTL_OPTS", "OVN_CONTROLLER_OPTS"},
	},
	"ovn-northd": {
		"/usr/share/ovn/scripts/ovn-ctl", []string{"--ovn-manage-ovsdb=no", "--no-monitor", "start_northd"},
		[]string{"/etc/default/ovn-central", "/etc/sysconfig/ovn"}, []string{"OVN_CTL_OPTS", "OVN_NORTHD_OPTS"},
	},
}

func (s Service) String() string { return s.Action + " " + s.Daemon }

// Diff is what is done to the daemon.
func (s Service) Diff() []string { return []string{"+ " + s.Daemon + ": " + s.Action} }

// Commands are systemctl(1) and, of a restart, what keeps the chassis.
func (s Service) Commands() []string {
	if s.Action == Unmask {
		return []string{"systemctl unmask " + s.Daemon}
	}
	start := "systemctl start " + s.Daemon
	if names := units[s.Daemon]; names != nil {
		how := starters[s.Daemon]
		start = fmt.Sprintf("systemctl start %s   # without systemd: %s %s", strings.TrimSuffix(names[0], ".service"), how.script, strings.Join(how.args, " "))
	}
	switch s.Action {
	case Restart:
		return []string{appctl(s.Daemon, "exit", []string{"--restart"}), start}
	case Replace:
		return []string{"kill -9 $(cat " + pidfile(s.Daemon) + ")", start}
	}
	return []string{start}
}

func pidfile(daemon string) string {
	dir := node.DefaultOVSRunDir
	if strings.HasPrefix(daemon, "ovn") {
		dir = node.DefaultOVNRunDir
	}
	return dir + "/" + daemon + ".pid"
}

// OneWay is that daemons are not stopped again.
func (s Service) OneWay() string {
	switch s.Action {
	case Unmask:
		return ""
	case Start:
		return "a daemon that was started is not stopped again"
	}
	return "a daemon that was started again does not go back to what it was"
}

func (s Service) lasts() bool  { return s.Action == Unmask }
func (s Service) on() []string { return []string{"daemon " + s.Daemon} }

// ready notes how the daemon ran before it ends.
func (s Service) ready(ctx context.Context, t *Target) (action, error) {
	if s.Action == Unmask {
		return s, nil
	}
	if units[s.Daemon] == nil {
		return nil, fmt.Errorf("%s is no daemon that ovnctl starts", s.Daemon)
	}
	if s.Action == Start && s.Daemon == "ovs-vswitchd" { // its unit would start it, and with it delete transient ports
		if _, err := t.control(ctx, "ovsdb-server", "version"); err != nil {
			return nil, Refuse("look at ovsdb-server first: its start deletes transient ports where --delete-transient-ports is set",
				"ovsdb-server does not answer, and ovs-vswitchd does not run without it: %v", err)
		}
	}
	if pid := t.pid(s.Daemon); pid != 0 {
		s.PID, s.Since = pid, startTime(pid)
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil {
			s.Had = strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
		}
		if env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err == nil {
			for _, e := range strings.Split(string(env), "\x00") {
				if strings.HasPrefix(e, "OVS_") || strings.HasPrefix(e, "OVN_") {
					s.Env = append(s.Env, e)
				}
			}
		}
		if foreign(pid) {
			return nil, Refuse("restart it where it is run from: the pod or container of it", "%s runs in a container, and is left to whoever runs that", s.Daemon)
		}
	}
	if s.Action != Start && s.PID == 0 {
		return nil, fmt.Errorf("%s has no process that its pidfile names", s.Daemon)
	}
	return s, nil
}

// look asks the control socket.
func (s Service) look(ctx context.Context, t *Target) (stage, string, error) {
	if s.Action == Unmask {
		return s.lookMask(ctx, t)
	}
	within, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err := t.control(within, s.Daemon, "version")
	old := s.PID != 0 && startTime(s.PID) == s.Since
	switch {
	case s.Action == Start && err == nil:
		return done, "", nil
	case s.Action == Start || old:
		return untouched, "", nil
	case err == nil:
		return done, "", nil
	}
	return halfDone, "", nil
}

func (s Service) do(ctx context.Context, t *Target) error {
	if s.Action == Unmask {
		return t.mask(ctx, s.Daemon, false)
	}
	if s.Action != Start && s.PID != 0 && startTime(s.PID) == s.Since {
		if err := s.end(ctx, t); err != nil {
			return err
		}
	}
	failpoint("service ended")
	if err := s.start(ctx, t); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	err := wait(within, 50*time.Millisecond, func() (bool, error) {
		_, err := t.control(within, s.Daemon, "version")
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s was started and does not answer: %w", s.Daemon, err)
	}
	return nil
}

// end ends the process that ran when the plan was made.
func (s Service) end(ctx context.Context, t *Target) error {
	if s.Action == Restart {
		if _, err := t.control(ctx, s.Daemon, "exit", "--restart"); err != nil {
			return err
		}
	} else if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill %s: %w", s.Daemon, err)
	}
	within, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	err := wait(within, 20*time.Millisecond, func() (bool, error) { return startTime(s.PID) != s.Since, nil })
	if err != nil {
		return fmt.Errorf("%s did not end: %w", s.Daemon, err)
	}
	return nil
}

// start starts the daemon the way the host does.
func (s Service) start(ctx context.Context, t *Target) error {
	within, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	if t.systemd() {
		unit := units[s.Daemon][0]
		for _, name := range units[s.Daemon] {
			state, err := t.run(within, nil, t.hostProgram("systemctl")[0], append(t.hostProgram("systemctl")[1:], "show", "-p", "LoadState", "--value", name)...)
			if err == nil && state == "loaded" {
				unit = name
				break
			}
		}
		words := append(t.hostProgram("systemctl"), "start", unit)
		_, err := t.run(within, nil, words[0], words[1:]...)
		return err
	}
	if len(s.Had) > 0 && strings.HasSuffix(s.Had[0], s.Daemon) {
		_, err := t.run(within, s.Env, s.Had[0], s.Had[1:]...)
		return err
	}
	how := starters[s.Daemon]
	args := how.args
	for i, file := range how.files {
		text, _, err := t.readFile(file)
		if err != nil || text == nil {
			continue
		}
		if a := envfile.Systemd(text, false).Last(how.names[i]); a != nil {
			args = append(envfile.Words(a.Value), args...)
		}
	}
	words := append(t.hostProgram(how.script), args...)
	_, err := t.run(within, nil, words[0], words[1:]...)
	return err
}

func (s Service) undo(ctx context.Context, t *Target) error {
	if s.Action == Unmask {
		return t.mask(ctx, s.Daemon, true)
	}
	return errors.New(s.OneWay())
}

// systemd says whether it is PID 1 of the host.
func (t *Target) systemd() bool {
	info, err := os.Stat(filepath.Join("/", t.Root, "run/systemd/system"))
	return err == nil && info.IsDir()
}

// hostProgram is a command that runs a program of the host: below its root, where
// it has one there.
func (t *Target) hostProgram(name string) []string {
	if t.Root == "" || t.Root == "/" {
		return []string{name}
	}
	places := []string{name}
	if !filepath.IsAbs(name) {
		places = []string{"/usr/bin/" + name, "/bin/" + name, "/usr/sbin/" + name}
	}
	for _, place := range places {
		if path, err := t.path(place); err == nil {
			if _, err := os.Stat(path); err == nil {
				return []string{"chroot", t.Root, place}
			}
		}
	}
	return []string{name}
}

// pid is the process that a daemon's pidfile names, if it is that daemon.
func (t *Target) pid(daemon string) int {
	dirs := t.dirs()
	dir := dirs.OVSRun
	if strings.HasPrefix(daemon, "ovn") {
		dir = dirs.OVNRun
	}
	text, err := os.ReadFile(filepath.Join(dir, daemon+".pid"))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil {
		return 0
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil || !strings.HasPrefix(daemon, string(bytes.TrimSpace(name))) {
		return 0
	}
	return pid
}

// dirs are the run directories as this process sees them.
func (t *Target) dirs() node.Dirs {
	d := node.Dirs{OVSRun: os.Getenv("OVS_RUNDIR"), OVNRun: os.Getenv("OVN_RUNDIR")}
	if d.OVSRun == "" {
		d.OVSRun = node.Resolve(t.Root, node.DefaultOVSRunDir)
	}
	if d.OVNRun == "" {
		d.OVNRun = node.Resolve(t.Root, node.DefaultOVNRunDir)
	}
	return d
}

// startTime is when a process started, in ticks since the host booted; empty:
// there is none, or it is a zombie. With the PID it is a process for good.
func startTime(pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 20 || fields[0] == "X" || fields[0] == "Z" && !threadsLeft(pid) {
		return ""
	}
	return fields[19]
}

// threadsLeft says whether a process whose first thread is dead has others that
// still hold its files, and the lock of its pidfile with them.
func threadsLeft(pid int) bool {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false
	}
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		state := strings.TrimSpace(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if state != "" && state[0] != 'Z' && state[0] != 'X' {
			return true
		}
	}
	return false
}

// foreign says whether a process runs in a container: in another PID or mount
// namespace than ovnctl and than PID 1.
func foreign(pid int) bool {
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	if err != nil {
		return false
	}
	ours, err := os.Readlink("/proc/1/ns/pid")
	if err != nil { // not ours to see
		ours, err = os.Readlink("/proc/self/ns/pid")
	}
	return err == nil && theirs != ours
}

// maskPlaces are where systemd looks for a link to /dev/null.
var maskPlaces = []string{"/etc/systemd/system", "/run/systemd/system"}

func (s Service) unit() string {
	if strings.Contains(s.Daemon, ".") {
		return s.Daemon
	}
	return s.Daemon + ".service"
}

func (s Service) lookMask(_ context.Context, t *Target) (stage, string, error) {
	for _, dir := range maskPlaces {
		place, err := t.path(dir)
		if err != nil {
			return moved, "", err
		}
		if to, err := os.Readlink(filepath.Join(place, s.unit())); err == nil && to == "/dev/null" {
			return untouched, "", nil
		}
	}
	return done, "", nil
}

// mask links a unit to /dev/null, or takes the link away.
func (t *Target) mask(ctx context.Context, daemon string, mask bool) error {
	unit := Service{Daemon: daemon}.unit()
	for i, dir := range maskPlaces {
		place, err := t.path(dir)
		if err != nil {
			return err
		}
		link := filepath.Join(place, unit)
		to, err := os.Readlink(link)
		switch {
		case mask && i == 0 && errors.Is(err, os.ErrNotExist):
			if err := os.Symlink("/dev/null", link); err != nil {
				return err
			}
		case !mask && err == nil && to == "/dev/null":
			if err := os.Remove(link); err != nil {
				return err
			}
		default:
			continue
		}
		if err := syncDir(place); err != nil {
			return err
		}
	}
	if !t.systemd() {
		return nil
	}
	words := append(t.hostProgram("systemctl"), "daemon-reload")
	_, err := t.run(ctx, nil, words[0], words[1:]...)
	return err
}
