package controller

import (
	"fmt"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var ControllerNotCaughtUp = &doctor.Check{
	Name:     "controller-not-caught-up",
	Category: "ovn-controller",
	Doc: `ovn-controller has not caught up with the Southbound

What was changed is in the Southbound, but the node has not said that it has applied it. Looked at twice,
some seconds apart: a node that moves on is only busy.`,
	Causes: []string{
		"controller-not-running", "vswitchd-not-running", "two-vswitchds", "conf-db-lost-or-corrupt", "controller-northd-version-mismatch",
		"missing-external-ids", "system-id-cloned", "duplicate-chassis-stale", "sb-rbac-denied", "tls-cert-expired-or-wrong-ca",
		"db-not-listening-tcp", "raft-no-quorum", "clients-refuse-rebuilt-db", "encap-ip-not-local", "uplink-not-in-bridge", "bridge-fail-mode-wrong", "bridge-link-down",
		"bridge-ip-lost-after-reboot", "ip-on-enslaved-nic", "integration-bridge-empty", "kernel-module-missing", "db-disk-full-or-corrupt",
		"connection-inactivity-probe-too-short",
	},
	Run: lookForLag,
}

// lag is how far a chassis has come, at one look.
type lag struct {
	zone    *snapshot.Zone
	chassis *sb.Chassis
	cfg     int // of the chassis
	want    int // of the Southbound
	seen    time.Time
}

func lags(d *snapshot.Deployment) (map[string]lag, []error) {
	list := map[string]lag{}
	var errs []error
	for _, z := range d.Zones {
		s, err := z.Southbound()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if len(s.Globals) == 0 {
			continue
		}
		rows := map[string]*sb.Chassis{}
		for i := range s.Chassis {
			rows[s.Chassis[i].Name] = &s.Chassis[i]
		}
		for _, private := range s.ChassisPrivate {
			c := rows[private.Name]
			if c == nil || len(private.Chassis) == 0 || snapshot.Elsewhere(c) || private.NBCfg >= s.Globals[0].NBCfg {
				continue
			}
			list[z.Name+"\x00"+c.Name] = lag{z, c, private.NBCfg, s.Globals[0].NBCfg, time.UnixMilli(int64(private.NBCfgTimestamp)).UTC()}
		}
	}
	return list, errs
}

func lookForLag(p *doctor.Pass) {
	first, errs := lags(p.Deployment)
	for _, err := range errs {
		p.Unknown(doctor.Object{Kind: "database", Name: "OVN_Southbound"}, err)
	}
	if len(p.Zones) == 0 {
		p.Skip("there is no Southbound among the sources")
		return
	}
	if len(first) == 0 {
		return
	}
	again, err := p.Again()
	if err != nil {
		p.Unknown(doctor.Object{Kind: "database", Name: "OVN_Southbound"}, err)
		return
	}
	second, _ := lags(again)
	for key, now := range second {
		was, ok := first[key]
		if !ok || now.cfg > was.cfg || now.cfg >= was.want {
			continue // it moves
		}
		f := doctor.Finding{
			Object: doctor.Object{Kind: "chassis", Name: now.chassis.Name},
			Title:  fmt.Sprintf("chassis %s has not applied what is in the Southbound", doctor.WhichChassis(now.chassis)),
			Evidence: []doctor.Evidence{
				{Source: doctor.SB("SB_Global", ""), Says: fmt.Sprintf("nb_cfg=%d", now.want)},
				{Source: doctor.SB("Chassis_Private", now.chassis.Name), Says: fmt.Sprintf("nb_cfg=%d, reached %s, and did not move while it was watched", now.cfg, now.seen.Format(time.RFC3339))},
			},
			Cause:  "its ovn-controller is stopped, cut off or overloaded",
			Effect: "new pods and changed policies do not come into force on that node, and ovn-nbctl --wait=hv never ends",
		}
		if e, ok := othersReached(again, now); ok {
			f.Evidence = append(f.Evidence, e)
		}
		f.Also = []doctor.Object{doctor.NodeObject(now.chassis.Hostname)}
		h := again.Host(now.chassis.Name)
		if h == nil {
			h = again.Host(now.chassis.Hostname)
		}
		if h == nil {
			f.Result = doctor.Warning
			f.Next = "run ovnctl doctor on " + now.chassis.Hostname + ", or with --node-exec; a node that is down or drained for maintenance is behind by nature"
			p.Report(f)
			continue
		}
		if h.Name != now.chassis.Hostname {
			f.Also = append(f.Also, doctor.NodeObject(h.Name))
		}
		explainLag(&f, h)
		p.Report(f)
	}
}

// explainLag asks the node's ovn-controller why.
func explainLag(f *doctor.Finding, h *snapshot.Host) {
	ask := func(command string) string {
		text, err := h.Control("ovn-controller", command)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(text)
	}
	f.Next = "ovn-appctl -t ovn-controller inc-engine/show-stats; ovn-appctl -t ovn-controller lflow-cache/show-stats; where it is overloaded: external_ids:ovn-monitor-all, ovn-memlimit-lflow-cache-kb"
	status := ask("connection-status")
	if status != "" {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Reply("ovn-controller", "connection-status"), Says: status})
		if status != "connected" {
			f.Cause = "its ovn-controller is not connected to the Southbound"
			f.Next = "see what external_ids:ovn-remote says, and whether that can be reached from " + h.Name
		}
	}
	if text := ask("debug/status"); text == "paused" {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Reply("ovn-controller", "debug/status"), Says: text})
		f.Cause = "somebody paused its ovn-controller with debug/pause"
		f.Next = "ovn-appctl -t ovn-controller debug/resume"
		return
	}
	if text := ask("inc-engine/show-stats"); text != "" {
		for _, name := range []string{"flow_output", "lflow_output", "pflow_output"} {
			if s := engineNode(text, name); s != "" {
				f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("ovn-controller inc-engine/show-stats, node " + name), Says: s})
			}
		}
	}
}

// engineNode is the part of inc-engine/show-stats on one node, in a line.
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

// othersReached is when the other chassis reached what this one has not.
func othersReached(d *snapshot.Deployment, l lag) (doctor.Evidence, bool) {
	for _, z := range d.Zones {
		if z.Name != l.zone.Name {
			continue
		}
		s, err := z.Southbound()
		if err != nil {
			return doctor.Evidence{}, false
		}
		n, at := 0, 0
		for _, c := range s.ChassisPrivate {
			if c.NBCfg >= l.want {
				n++
				at = max(at, c.NBCfgTimestamp)
			}
		}
		if n > 0 {
			return doctor.Evidence{Source: doctor.SB("Chassis_Private", ""), Says: fmt.Sprintf("%d others have reached it, the last at %s", n, time.UnixMilli(int64(at)).UTC().Format(time.RFC3339))}, true
		}
	}
	return doctor.Evidence{}, false
}
