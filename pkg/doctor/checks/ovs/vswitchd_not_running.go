package ovs

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
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
	Run:    doctor.Over(doctor.SilentDaemons("ovs-vswitchd"), silentVswitchd),
}

func silentVswitchd(p *doctor.Pass, d *doctor.SilentDaemon) {
	f := doctor.Finding{
		Object:   d.Object(),
		Reason:   "not-running",
		Also:     []doctor.Object{doctor.NodeObject(d.Name)},
		Title:    fmt.Sprintf("ovs-vswitchd of %s does not run", d.Name),
		Evidence: d.Evidence(),
		Cause:    "it exited or was stopped, and nothing started it again",
		Effect:   "no traffic passes the node's bridges; the interfaces in the database are as it last wrote them",
		Fix:      catalog.StartVswitchd.With(),
	}
	if d.State.Liveness == snapshot.Hung {
		f.Reason, f.Lasting = "hangs", true
		f.Title = fmt.Sprintf("ovs-vswitchd of %s does not reply", d.Name)
		f.Cause = "it hangs, or is stopped by a signal"
		f.Effect = "no new connection passes the node's bridges, and no change takes effect; what the OVS datapath knows may still pass for a while"
	}
	if c := doctor.InContainer(d.Host, "ovs-vswitchd"); c != nil {
		f.Fix, f.Next = nil, fmt.Sprintf("restart its container (process %d, %s)", c.PID, c.Cgroup)
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
