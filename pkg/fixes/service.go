package fixes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ovnctl/ovnctl/pkg/envfile"
	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/node"
)

// The actions of a Service.
const (
	Start   = "start"
	Restart = "restart" // ovn-controller: `exit --restart` keeps its chassis and ports
	Replace = "replace" // kill a hung daemon, and start it
	Unmask  = "unmask"  // a systemd unit, which is not started
)

// units are the systemd units by daemon, the most likely first.
var units = lazy.Value[map[string][]string]{Make: func() map[string][]string {
	return map[string][]string{
		"ovsdb-server":   {"ovsdb-server.service"},
		"ovs-vswitchd":   {"ovs-vswitchd.service"},
		"ovn-controller": {"ovn-controller.service", "ovn-host.service"},
		"ovn-northd":     {"ovn-northd.service", "ovn-central.service"},
	}
}}

// A starter is a start script for a daemon.
type starter struct {
	script string
	args   []string
	files  []string
	names  []string
}

// starters are the packages' start scripts for the daemons, and the files and variables of their options; ovs-ctl(8),
// ovn-ctl(8).
var starters = lazy.Value[map[string]starter]{Make: func() map[string]starter {
	return map[string]starter{
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
}}

// Summary shows systemctl(1), and what ends the daemon before.
func (s Service) Summary() StepSummary {
	out := StepSummary{What: s.Action + " " + s.Daemon, Diff: []string{"+ " + s.Daemon + ": " + s.Action}, on: []string{"daemon " + s.Daemon}}
	if s.Action == Unmask {
		out.Commands, out.lasts = []string{"systemctl unmask " + s.Daemon}, true
		return out
	}
	start := "systemctl start " + s.Daemon
	if names := units.Get()[s.Daemon]; names != nil {
		how := starters.Get()[s.Daemon]
		start = fmt.Sprintf("systemctl start %s   # without systemd: %s %s", strings.TrimSuffix(names[0], ".service"), how.script, strings.Join(how.args, " "))
	}
	out.OneWay = "the process that ran before is gone"
	switch s.Action {
	case Start:
		out.OneWay = "undo does not stop a daemon"
	case Restart:
		out.Commands = []string{appctl(s.Daemon, "exit", []string{"--restart"})}
	case Replace:
		out.Commands = []string{"kill -9 $(cat " + pidfile(s.Daemon) + ")"}
	}
	out.Commands = append(out.Commands, start)
	return out
}

func pidfile(daemon string) string {
	dir := node.DefaultOVSRunDir
	if strings.HasPrefix(daemon, "ovn") {
		dir = node.DefaultOVNRunDir
	}
	return dir + "/" + daemon + ".pid"
}

// ready notes how the daemon was started, before it ends.
func (s Service) ready(ctx context.Context, t *Target) (Step, error) {
	if s.Action == Unmask {
		return s, nil
	}
	if units.Get()[s.Daemon] == nil {
		return nil, fmt.Errorf("ovnctl does not start %s", s.Daemon)
	}
	if s.Action == Start && s.Daemon == "ovs-vswitchd" { // its unit would start it, deleting transient ports
		if _, err := t.control(ctx, "ovsdb-server", "version"); err != nil {
			return nil, Refuse("repair ovsdb-server first: its start deletes transient ports if --delete-transient-ports is set",
				"ovsdb-server does not reply, and ovs-vswitchd needs it: %v", err)
		}
	}
	if pid := t.pid(s.Daemon); pid != 0 {
		s.PID, s.Since, s.Had = pid, startTime(pid), procWords(pid, "cmdline")
		s.Env = slices.DeleteFunc(procWords(pid, "environ"), func(e string) bool { return !strings.HasPrefix(e, "OVS_") && !strings.HasPrefix(e, "OVN_") })
		if foreign(pid) {
			return nil, Refuse("restart its pod or container", "%s runs in a container", s.Daemon)
		}
	}
	if s.Action != Start && s.PID == 0 {
		return nil, fmt.Errorf("the pidfile of %s names no process of it", s.Daemon)
	}
	return s, nil
}

// look queries the control socket.
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
		return fmt.Errorf("%s was started and does not reply: %w", s.Daemon, err)
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

// start starts the daemon as the host does: by systemd, with its previous command line, or by its package's script.
func (s Service) start(ctx context.Context, t *Target) error {
	within, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	if t.systemd() {
		return t.systemctl(within, "start", s.loadedUnit(within, t))
	}
	words := s.Had
	if len(words) == 0 || !strings.HasSuffix(words[0], s.Daemon) {
		how := starters.Get()[s.Daemon]
		words = append(t.hostProgram(how.script), slices.Concat(s.options(t), how.args)...)
	}
	_, err := t.run(within, s.Env, words[0], words[1:]...)
	return err
}

// loadedUnit returns the daemon's unit known to systemd.
func (s Service) loadedUnit(ctx context.Context, t *Target) string {
	show := append(t.hostProgram("systemctl"), "show", "-p", "LoadState", "--value")
	for _, unit := range units.Get()[s.Daemon] {
		state, err := t.run(ctx, nil, show[0], append(show[1:], unit)...)
		if err == nil && state == "loaded" {
			return unit
		}
	}
	return units.Get()[s.Daemon][0]
}

// options returns the daemon's options from the package's files.
func (s Service) options(t *Target) []string {
	how := starters.Get()[s.Daemon]
	var all []string
	for i, file := range how.files {
		text, _, err := t.readFile(file)
		if err != nil || text == nil {
			continue
		}
		if a := envfile.Systemd(text, false).Last(how.names[i]); a != nil {
			all = append(envfile.Words(a.Value), all...)
		}
	}
	return all
}

// systemctl runs the host's systemctl(1).
func (t *Target) systemctl(ctx context.Context, args ...string) error {
	words := append(t.hostProgram("systemctl"), args...)
	_, err := t.run(ctx, nil, words[0], words[1:]...)
	return err
}

func (s Service) undo(ctx context.Context, t *Target) error {
	if s.Action == Unmask {
		return t.mask(ctx, s.Daemon, true)
	}
	return errOneWay
}

// systemd reports whether PID 1 of the host is systemd.
func (t *Target) systemd() bool {
	info, err := os.Stat(filepath.Join("/", t.Root, "run/systemd/system"))
	return err == nil && info.IsDir()
}

// hostProgram returns a command that runs a host program: below the host's root, if it is there.
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

// mask links a unit to /dev/null, or removes the link.
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
	return t.systemctl(ctx, "daemon-reload")
}
