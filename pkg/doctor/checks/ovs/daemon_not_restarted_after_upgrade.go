package ovs

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var DaemonNotRestartedAfterUpgrade = &doctor.Check{
	Name:     "daemon-not-restarted-after-upgrade",
	Category: "ovs",
	Doc: `A daemon still runs the program of before an upgrade

The package was upgraded and the daemon was not restarted: bugs that are fixed on the disk still bite.`,
	Run: func(p *doctor.Pass) {
		any := false
		for _, h := range p.Hosts {
			processes, err := h.Processes()
			if err == nil {
				any = true
			}
			told := map[string]bool{}
			for _, process := range processes {
				if !process.Deleted || process.Container || restartOf(process.Name) == "" || told[process.Name] {
					continue
				}
				told[process.Name] = true
				f := notRestarted(h, process.Name)
				f.Title = fmt.Sprintf("%s of %s runs a program that is no longer on the disk", process.Name, h.Name)
				f.Evidence = []doctor.Evidence{{Source: doctor.Other(fmt.Sprintf("link /proc/%d/exe", process.PID)), Says: strings.TrimSuffix(process.Exe, " (deleted)") + " (deleted)"}}
				if d, err := h.Daemon(process.Name); err == nil && d.Version != "" {
					f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other(process.Name + " version"), Says: d.Version})
				}
				p.Report(f)
			}
			s, err := h.Switch()
			if err != nil || len(s.OpenvSwitch) == 0 {
				continue
			}
			any = true
			vswitchd, err := h.Daemon("ovs-vswitchd")
			if err != nil || vswitchd.Version == "" || told["ovs-vswitchd"] {
				continue
			}
			// ovs-ctl writes ovs_version whenever it starts ovsdb-server, from the program on the disk.
			says := s.OpenvSwitch[0].OVSVersion.Get()
			if says != "" && release.Older(vswitchd.Version, says) {
				f := notRestarted(h, "ovs-vswitchd")
				f.Title = fmt.Sprintf("ovs-vswitchd of %s is %s, though %s is installed", h.Name, vswitchd.Version, says)
				f.Evidence = []doctor.Evidence{
					{Source: doctor.Reply("ovs-vswitchd", "version"), Says: vswitchd.Version},
					{Source: doctor.Other("Open_vSwitch ovs_version"), Says: says},
				}
				p.Report(f)
			}
			server, err := h.Daemon("ovsdb-server")
			if err == nil && server.Version != "" && !told["ovsdb-server"] && release.Older(server.Version, vswitchd.Version) {
				f := notRestarted(h, "ovsdb-server")
				f.Title = fmt.Sprintf("ovsdb-server of %s is %s, though ovs-vswitchd is %s", h.Name, server.Version, vswitchd.Version)
				f.Evidence = []doctor.Evidence{
					{Source: doctor.Reply("ovsdb-server", "version"), Says: server.Version},
					{Source: doctor.Reply("ovs-vswitchd", "version"), Says: vswitchd.Version},
				}
				p.Report(f)
			}
		}
		if !any {
			p.Skip("no host here shows its processes or the versions of its daemons")
		}
	},
}

func notRestarted(h *snapshot.Host, daemon string) doctor.Finding {
	return doctor.Finding{
		Result: doctor.Warning,
		Object: doctor.DaemonObject(h, daemon),
		Also:   []doctor.Object{doctor.NodeObject(h.Name)},
		Cause:  "the package was upgraded, and the daemon was not restarted since",
		Effect: "what the upgrade mended still goes wrong; the tools on the disk may not suit the daemon",
		Next:   restartOf(daemon),
	}
}

// restartOf is how a daemon is restarted with the least harm; empty: it is none of the packages' own.
func restartOf(daemon string) string {
	switch daemon {
	case "ovn-controller":
		return "ovnctl fix restart-controller (never systemctl restart: it releases the node's ports)"
	case "ovs-vswitchd":
		return "in a maintenance window, for the node's traffic stands still meanwhile: systemctl restart ovs-vswitchd (not openvswitch-switch: that restarts ovsdb-server, too)"
	case "ovsdb-server":
		return "in a maintenance window, for on Debian with --delete-transient-ports the uplink leaves its bridge until its owner adds it again: systemctl restart ovsdb-server"
	case "ovn-northd":
		return "systemctl restart ovn-northd"
	}
	return ""
}
