package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var ControllerNotRunning = &doctor.Check{
	Name:     "controller-not-running",
	Category: "ovn-controller",
	Doc: `ovn-controller does not run

The flows in the integration bridge stay, and so do its chassis and ports in the
Southbound; nothing new is applied on the node.`,
	Causes: []string{"conf-db-lost-or-corrupt"},
	Settle: true,
	Host:   doctor.OnSilentDaemon("ovn-controller", silentController),
}

func silentController(p *doctor.Pass, d *doctor.SilentDaemon) {
	processes := doctor.ProcessesOf(d.Host, d.Daemon)
	if d.State.Liveness == snapshot.Refused && len(d.State.Sockets) == 0 && len(processes) > 0 {
		p.Unknown(d.Object(), fmt.Errorf("process %d is an ovn-controller without a control socket in %s: give its run directory in OVN_RUNDIR", processes[0].PID, d.Dirs().OVNRun))
		return
	}
	f := d.Finding("no change reaches the node: new pods get no network, moved ports and policies stay as they were; it sends no ARP, DHCP and DNS replies", catalog.StartController.With())
	f.Evidence = append(f.Evidence, behind(d.Host)...)
	if name, _, err := d.ChassisName(); err == nil {
		f.Concern(doctor.ChassisObject(name))
	}
	p.Report(f)
}

// behind returns how far a node's chassis is behind the Southbound, if known.
func behind(h *snapshot.Host) []doctor.Evidence {
	s := doctor.SouthboundOf(h)
	name, _, err := h.ChassisName()
	if s == nil || err != nil || name == "" || len(s.Globals) == 0 {
		return nil
	}
	if s.ChassisNamed(name) == nil {
		return []doctor.Evidence{{Source: doctor.SB("Chassis", ""), Says: "no row " + name}}
	}
	for _, c := range s.ChassisPrivate {
		if c.Name == name && c.NBCfg < s.Globals[0].NBCfg {
			return []doctor.Evidence{{Source: doctor.SB("Chassis_Private", name), Says: fmt.Sprintf("nb_cfg=%d, SB_Global has %d", c.NBCfg, s.Globals[0].NBCfg)}}
		}
	}
	return nil
}

var ControllerNotCaughtUp = &doctor.Check{
	Name:     "controller-not-caught-up",
	Category: "ovn-controller",
	Doc: `ovn-controller has not caught up with the Southbound

A change is in the Southbound, and the node has not reported that it applied it. It takes two samples,
some seconds apart: a node that progresses is only busy.`,
	Causes: []string{
		"controller-not-running", "vswitchd-not-running", "two-vswitchds", "conf-db-lost-or-corrupt", "controller-northd-version-mismatch",
		"missing-external-ids", "system-id-cloned", "duplicate-chassis-stale", "sb-rbac-denied", "tls-cert-expired-or-wrong-ca",
		"db-not-listening-tcp", "raft-no-quorum", "clients-refuse-rebuilt-db", "encap-ip-not-local", "uplink-not-in-bridge", "bridge-fail-mode-wrong", "bridge-link-down",
		"bridge-ip-lost-after-reboot", "ip-on-enslaved-nic", "integration-bridge-empty", "kernel-module-missing", "db-disk-full-or-corrupt",
		"connection-inactivity-probe-too-short", "controller-misdirected", "tunnel-path-blocked",
	},
	Run: func(p *doctor.Pass) {
		if len(p.Zones) == 0 {
			p.Skip("no Southbound was given")
			return
		}
		first := map[chassisID]lag{}
		for z, south := range p.Southbounds() {
			addLags(first, z, south)
		}
		if len(first) == 0 {
			return
		}
		again, ok := doctor.Need(p, doctor.SouthboundObject, p.Again)
		if !ok {
			return
		}
		second := map[chassisID]lag{}
		for _, z := range again.Zones {
			if south, err := z.Southbound(); err == nil {
				addLags(second, z, south)
			}
		}
		for _, id := range slices.SortedFunc(maps.Keys(second), chassisID.compare) {
			if was, ok := first[id]; ok && second[id].reached <= was.reached && second[id].reached < was.want {
				p.Report(lagFinding(again, second[id]))
			}
		}
	},
}

// A chassisID names a chassis of a zone.
type chassisID struct{ zone, name string }

func (a chassisID) compare(b chassisID) int {
	return strings.Compare(a.zone+"/"+a.name, b.zone+"/"+b.name)
}

// lag is how far a chassis is behind in one sample.
type lag struct {
	south   *snapshot.Southbound
	chassis *sb.Chassis
	reached int // nb_cfg of the chassis
	want    int // nb_cfg of the Southbound
	at      time.Time
}

// addLags adds the chassis of a zone that are behind.
func addLags(list map[chassisID]lag, z *snapshot.Zone, south *snapshot.Southbound) {
	if len(south.Globals) == 0 {
		return
	}
	want := south.Globals[0].NBCfg
	for _, private := range south.ChassisPrivate {
		if private.NBCfg >= want || len(private.Chassis) == 0 {
			continue
		}
		if c := south.ChassisNamed(private.Name); c != nil && !snapshot.Elsewhere(c) {
			list[chassisID{z.Name, c.Name}] = lag{south, c, private.NBCfg, want, time.UnixMilli(int64(private.NBCfgTimestamp)).UTC()}
		}
	}
}

func lagFinding(d *snapshot.Deployment, l lag) doctor.Finding {
	f := doctor.Finding{
		Object: doctor.ChassisObject(l.chassis.Name),
		Also:   []doctor.Object{doctor.NodeObject(l.chassis.Hostname)},
		Title:  fmt.Sprintf("chassis %s has not applied what is in the Southbound", doctor.ChassisLabel(l.chassis)),
		Evidence: []doctor.Evidence{
			{Source: doctor.SB("SB_Global", ""), Says: fmt.Sprintf("nb_cfg=%d", l.want)},
			{Source: doctor.SB("Chassis_Private", l.chassis.Name), Says: fmt.Sprintf("nb_cfg=%d, reached %s, the same in both samples", l.reached, l.at.Format(time.RFC3339))},
		},
		Cause:  "its ovn-controller is stopped, disconnected or overloaded",
		Effect: "new pods and changed policies do not take effect on that node, and ovn-nbctl --wait=hv never returns",
	}
	if e, ok := othersReached(l); ok {
		f.Evidence = append(f.Evidence, e)
	}
	h := d.Host(l.chassis.Name)
	if h == nil {
		h = d.Host(l.chassis.Hostname)
	}
	if h == nil {
		f.Result = doctor.Warning
		f.Next = "run ovnctl doctor on " + l.chassis.Hostname + ", or with --via ssh or --node-exec; a node that is down or drained for maintenance is expected to be behind"
		return f
	}
	if h.Name != l.chassis.Hostname {
		f.Also = append(f.Also, doctor.NodeObject(h.Name))
	}
	explainLag(&f, h)
	return f
}

// explainLag asks the node's ovn-controller for the reason.
func explainLag(f *doctor.Finding, h *snapshot.Host) {
	ask := func(command string) (string, doctor.Source) {
		text, err := h.Control("ovn-controller", command)
		if err != nil {
			return "", doctor.Source{}
		}
		return strings.TrimSpace(text), doctor.Reply("ovn-controller", command)
	}
	f.Next = "ovn-appctl -t ovn-controller inc-engine/show-stats; ovn-appctl -t ovn-controller lflow-cache/show-stats; if it is overloaded: external_ids:ovn-monitor-all, ovn-memlimit-lflow-cache-kb"
	if status, source := ask("connection-status"); status != "" {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: source, Says: status})
		if status != "connected" {
			f.Cause = "its ovn-controller is not connected to the Southbound"
			f.Next = "see external_ids:ovn-remote, and whether " + h.Name + " reaches that endpoint"
		}
	}
	if status, source := ask("debug/status"); status == "paused" {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: source, Says: status})
		f.Cause = "somebody paused its ovn-controller with debug/pause"
		f.Next = "ovn-appctl -t ovn-controller debug/resume"
		return
	}
	stats, source := ask("inc-engine/show-stats")
	for _, name := range []string{"flow_output", "lflow_output", "pflow_output"} {
		if s := engineNode(stats, name); s != "" {
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: source, Says: name + ": " + s})
		}
	}
}

// engineNode returns one engine node's line from inc-engine/show-stats.
func engineNode(text, name string) string {
	_, rest, ok := strings.Cut("\n"+text, "\nNode: "+name+"\n")
	if !ok {
		return ""
	}
	rest, _, _ = strings.Cut(rest, "\nNode: ")
	var words []string
	for line := range strings.Lines(rest) {
		if line = strings.Join(strings.Fields(strings.TrimLeft(line, "- ")), " "); line != "" {
			words = append(words, line)
		}
	}
	return strings.Join(words, ", ")
}

// othersReached returns when the other chassis reached what this one has not.
func othersReached(l lag) (doctor.Evidence, bool) {
	n, last := 0, 0
	for _, c := range l.south.ChassisPrivate {
		if c.NBCfg >= l.want {
			n++
			last = max(last, c.NBCfgTimestamp)
		}
	}
	at := time.UnixMilli(int64(last)).UTC().Format(time.RFC3339)
	return doctor.Evidence{Source: doctor.SB("Chassis_Private", ""), Says: fmt.Sprintf("%d others have reached it, the last at %s", n, at)}, n > 0
}

var ControllerNorthdVersionMismatch = &doctor.Check{
	Name:     "controller-northd-version-mismatch",
	Category: "ovn-controller",
	Doc: `ovn-controller stands still: ovn-northd has another version

With external_ids:ovn-match-northd-version=true ovn-controller processes nothing until both have the same
internal version. That is meant for the minutes of an upgrade.`,
	Host: doctor.OnChassis(versionMismatch),
}

func versionMismatch(p *doctor.Pass, c *doctor.Chassis) {
	value, key := c.OVS.Setting("ovn-match-northd-version", c.SystemID)
	if value != "true" {
		return
	}
	s, ok := doctor.Need(p, doctor.NodeObject(c.Name), c.Southbound)
	if !ok || len(s.Globals) == 0 {
		return
	}
	d, ok := doctor.Need(p, doctor.NodeObject(c.Name), func() (snapshot.Daemon, error) { return c.Daemon("ovn-controller") })
	northd := s.Globals[0].Options["northd_internal_version"]
	if !ok || northd == "" || d.Liveness != snapshot.Answers {
		return
	}
	release, _, _ := strings.Cut(northd, "-")
	logged := doctor.LastLogged(c.Host, "ovn-controller", "mismatch with northd version").Raw
	if !strings.Contains(logged, "northd version - "+northd) {
		logged = "" // it is about another version
	}
	if release == d.Version && logged == "" {
		return
	}
	f := doctor.Finding{
		Object: doctor.DaemonObject(c.Host, "ovn-controller"),
		Also:   []doctor.Object{doctor.NodeObject(c.Name)},
		Title:  fmt.Sprintf("ovn-controller of %s stands still: it is %s, and ovn-northd is %s", c.Name, d.Version, northd),
		Evidence: []doctor.Evidence{
			{Source: doctor.Setting("external_ids:" + key), Says: "true"},
			{Source: doctor.SB("SB_Global", ""), Says: "options:northd_internal_version=" + northd},
			{Source: doctor.Reply("ovn-controller", "version"), Says: d.Version},
		},
		Cause:  "an upgrade is not finished: one of the two is still of the previous release",
		Effect: "no change takes effect on the node",
		Next:   "finish the upgrade",
		Fix:    catalog.IgnoreNorthdVersion.With(),
	}
	f.Concern(doctor.ChassisObject(c.SystemID))
	f.Show(doctor.Evidence{Source: doctor.Log("ovn-controller"), Says: logged})
	p.Report(f)
}
