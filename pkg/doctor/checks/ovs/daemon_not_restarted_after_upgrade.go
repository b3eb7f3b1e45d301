package ovs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var DaemonNotRestartedAfterUpgrade = &doctor.Check{
	Name:     "daemon-not-restarted-after-upgrade",
	Category: "ovs",
	Doc: `A daemon still runs the program from before an upgrade

The package was upgraded and the daemon was not restarted: it still has the bugs that the upgrade fixed.`,
	Run: func(p *doctor.Pass) {
		type running struct {
			*snapshot.Host
			processes []node.Process
			sw        *snapshot.Switch // nil: it was not read
		}
		for h := range doctor.EachHost(p, "no host here shows its processes or the versions of its daemons", func(h *snapshot.Host) (*running, bool) {
			processes, err := h.Processes()
			s, errSwitch := h.Switch()
			if errSwitch != nil || len(s.OpenvSwitch) == 0 {
				s = nil
			}
			return &running{h, processes, s}, err == nil || s != nil
		}) {
			reported := replacedPrograms(p, h.Host, h.processes)
			if h.sw != nil {
				olderDaemons(p, h.Host, h.sw.OpenvSwitch[0].OVSVersion.Get(), reported)
			}
		}
	},
}

// replacedPrograms reports processes whose program is no longer on the disk.
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

// olderDaemons reports daemons of an older version than the installed one. ovs-ctl writes ovs_version, the installed one,
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

// restartOf is how a daemon is restarted with the least harm; empty: it is none of the packages' own.
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

// older reports whether a version such as "3.1.0" comes before another. What is not a version is not older.
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
