package ovs

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var VSwitchdNotRunning = &doctor.Check{
	Name:     "vswitchd-not-running",
	Category: "ovs",
	Doc: `ovs-vswitchd does not run

The node's bridges forward nothing, yet the database keeps what the daemon last wrote: its
interfaces are shown as up. The control socket decides, not the pidfile.`,
	Causes: []string{
		"conf-db-lost-or-corrupt", "transient-default-self-reference", "transient-default-glued-or-commented",
	},
	Settle: true,
	Host:   doctor.OnSilentDaemon("ovs-vswitchd", silentVswitchd),
}

func silentVswitchd(p *doctor.Pass, d *doctor.SilentDaemon) {
	f := d.Finding("no traffic passes the node's bridges; the interfaces in the database are as it last wrote them", catalog.StartVswitchd.With())
	if d.State.Liveness == snapshot.Hung {
		f.Effect = "no new connection passes the node's bridges, and no change takes effect; what the OVS datapath knows may still pass for a while"
	}
	s, err := d.Switch()
	switch {
	case err != nil:
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.OVS("Open_vSwitch", ""), Says: err.Error()})
		f.Fix, f.Next = nil, "start ovsdb-server first: ovs-vswitchd needs its database"
	case len(s.Bridges) == 0:
		f.Result, f.Effect = doctor.Warning, "none now: there is no bridge"
	default:
		up := 0
		for _, i := range s.Interfaces {
			if i.LinkState.Get() == "up" {
				up++
			}
		}
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.OVS("Interface", ""), Says: fmt.Sprintf("%d of %d are shown as up, as last written", up, len(s.Interfaces))})
	}
	p.Report(f)
}

var TwoVSwitchds = &doctor.Check{
	Name:     "two-vswitchds",
	Category: "ovs",
	Doc: `Two ovs-vswitchd run on one node

After a move of Open vSwitch between host and container both may run. Only one has the database's
lock; the next restart decides which.`,
	Settle: true,
	Host: doctor.On("no host here runs ovs-vswitchd, as far as can be read", vswitchdsOf, func(p *doctor.Pass, d *vswitchds) {
		if d.several() {
			p.Report(d.finding())
		}
	}),
}

func vswitchdsOf(p *doctor.Pass, h *snapshot.Host) (all *vswitchds, applies bool) {
	d, err := h.Daemon("ovs-vswitchd")
	if err != nil && !errors.Is(err, node.ErrUnavailable) {
		p.Unknown(doctor.NodeObject(h.Name), err)
	}
	return &vswitchds{h, d, doctor.ProcessesOf(h, "ovs-vswitchd")}, len(d.Sockets) > 0
}

// vswitchds are the ovs-vswitchd of a host.
type vswitchds struct {
	host      *snapshot.Host
	state     snapshot.Daemon
	processes []node.Process
}

// several reports whether more than one runs. With --monitor a parent only watches, so two processes are two daemons
// only if exactly one is in a container.
func (d *vswitchds) several() bool {
	inContainer := func(p node.Process) bool { return p.Container }
	onHost := func(p node.Process) bool { return !p.Container }
	return len(d.state.Answering()) > 1 || len(d.state.Sockets) > 0 && slices.ContainsFunc(d.processes, inContainer) && slices.ContainsFunc(d.processes, onHost)
}

func (d *vswitchds) finding() doctor.Finding {
	f := doctor.Finding{
		Object: doctor.DaemonObject(d.host, "ovs-vswitchd"),
		Also:   []doctor.Object{doctor.NodeObject(d.host.Name)},
		Title:  fmt.Sprintf("two ovs-vswitchd run on %s", d.host.Name),
		Cause:  "Open vSwitch was moved between host and container, or was started by hand, and the first was not stopped",
		Effect: "one of them is disabled; the next restart decides which, and commands may reach the wrong one",
		Next:   "stop the one that was started by hand: ovs-appctl -t SOCKET exit; see first which of the two has the ports: ovs-appctl -t SOCKET dpif/show",
	}
	for _, s := range d.state.Answering() {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Socket("control socket " + s.Path), Says: "replies, " + s.Version})
	}
	for _, process := range d.processes {
		where := "on the host"
		if process.Container {
			where = "in a container"
			f.Next = "stop the one that should not run, and keep it from coming back: `systemctl disable --now openvswitch-switch` (rpm: openvswitch) for the host's, or take the node out of the daemon set for the container's; see first which of the two has the ports: ovs-appctl -t SOCKET dpif/show"
		}
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Process(process.PID), Says: fmt.Sprintf("%s, cgroup %s: %s", where, process.Cgroup, strings.Join(process.Args, " "))})
	}
	disabled := doctor.LastLogged(d.host, "ovs-vswitchd", "another ovs-vswitchd process is running, disabling this process").Raw
	_, rest, _ := strings.Cut(disabled, "(pid ")
	pid, _, _ := strings.Cut(rest, ")")
	f.Show(doctor.Evidence{Source: doctor.Log("ovs-vswitchd"), Says: disabled})
	if slices.ContainsFunc(d.processes, func(p node.Process) bool { return p.Container }) {
		return f
	}
	for _, s := range d.state.Answering() {
		if strconv.Itoa(s.PID) == pid {
			f.Next = fmt.Sprintf("stop the one that is disabled, and see what started it: ovs-appctl -t %s exit", fixes.Word(s.Path))
		}
	}
	return f
}

var DaemonNotRestartedAfterUpgrade = &doctor.Check{
	Name:     "daemon-not-restarted-after-upgrade",
	Category: "ovs",
	Doc: `A daemon still runs the program from before an upgrade

The package was upgraded and the daemon was not restarted: it still has the bugs that the upgrade fixed.`,
	Host: func(p *doctor.Pass, h *snapshot.Host) {
		processes, err := h.Processes()
		sw, errSwitch := h.Switch()
		versions := errSwitch == nil && len(sw.OpenvSwitch) > 0
		p.Applies(err == nil || versions, "no host here shows its processes or the versions of its daemons")
		reported := replacedPrograms(p, h, processes)
		if versions {
			olderDaemons(p, h, sw.OpenvSwitch[0].OVSVersion.Get(), reported)
		}
	},
}

// replacedPrograms reports processes whose program is no longer on disk.
func replacedPrograms(p *doctor.Pass, h *snapshot.Host, processes []node.Process) map[string]bool {
	reported := map[string]bool{}
	for _, process := range processes {
		if !process.Deleted || process.Container || restartOf(process.Name) == "" || reported[process.Name] {
			continue
		}
		reported[process.Name] = true
		f := notRestarted(h, process.Name)
		f.Title = fmt.Sprintf("%s of %s runs a program that is no longer on the disk", process.Name, h.Name)
		f.Evidence = []doctor.Evidence{{Source: doctor.Process(process.PID), Says: "exe " + strings.TrimSuffix(process.Exe, " (deleted)") + " (deleted)"}}
		if d, err := h.Daemon(process.Name); err == nil && d.Version != "" {
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Reply(process.Name, "version"), Says: d.Version})
		}
		p.Report(f)
	}
	return reported
}

// olderDaemons reports daemons older than the installed version. ovs-ctl writes ovs_version, the installed one,
// whenever it starts ovsdb-server.
func olderDaemons(p *doctor.Pass, h *snapshot.Host, installed string, reported map[string]bool) {
	vswitchd, err := h.Daemon("ovs-vswitchd")
	if err != nil || vswitchd.Version == "" || reported["ovs-vswitchd"] {
		return
	}
	own := doctor.Evidence{Source: doctor.Reply("ovs-vswitchd", "version"), Says: vswitchd.Version}
	if installed != "" && older(vswitchd.Version, installed) {
		f := notRestarted(h, "ovs-vswitchd")
		f.Title = fmt.Sprintf("ovs-vswitchd of %s is %s, and %s is installed", h.Name, vswitchd.Version, installed)
		f.Evidence = []doctor.Evidence{own, {Source: doctor.Setting("ovs_version"), Says: installed}}
		p.Report(f)
	}
	server, err := h.Daemon("ovsdb-server")
	if err == nil && server.Version != "" && !reported["ovsdb-server"] && older(server.Version, vswitchd.Version) {
		f := notRestarted(h, "ovsdb-server")
		f.Title = fmt.Sprintf("ovsdb-server of %s is %s, and ovs-vswitchd is %s", h.Name, server.Version, vswitchd.Version)
		f.Evidence = []doctor.Evidence{{Source: doctor.Reply("ovsdb-server", "version"), Says: server.Version}, own}
		p.Report(f)
	}
}

func notRestarted(h *snapshot.Host, daemon string) doctor.Finding {
	return doctor.Finding{
		Result: doctor.Warning,
		Object: doctor.DaemonObject(h, daemon),
		Also:   []doctor.Object{doctor.NodeObject(h.Name)},
		Cause:  "the package was upgraded, and the daemon was not restarted since",
		Effect: "bugs that the upgrade fixed are still there; the tools on the disk may not fit the daemon",
		Next:   restartOf(daemon),
	}
}

// restartOf returns how to restart a daemon with least harm; empty if it is not a packaged one.
func restartOf(daemon string) string {
	switch daemon {
	case "ovn-controller":
		return "ovnctl fix restart-controller (never systemctl restart: it releases the node's ports)"
	case "ovs-vswitchd":
		return "in a maintenance window, since the node forwards nothing meanwhile: systemctl restart ovs-vswitchd (not openvswitch-switch: that also restarts ovsdb-server)"
	case "ovsdb-server":
		return "in a maintenance window, since on Debian with --delete-transient-ports the uplink leaves its bridge until its owner adds it again: systemctl restart ovsdb-server"
	case "ovn-northd":
		return "systemctl restart ovn-northd"
	}
	return ""
}

// older reports whether one version, such as "3.1.0", precedes another. A non-version is not older.
func older(a, b string) bool {
	x, okX := versionNumbers(a)
	y, okY := versionNumbers(b)
	return okX && okY && slices.Compare(x, y) < 0
}

func versionNumbers(s string) ([]int, bool) {
	var list []int
	for part := range strings.SplitSeq(s, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, false
		}
		list = append(list, n)
	}
	return list, len(list) > 1
}
