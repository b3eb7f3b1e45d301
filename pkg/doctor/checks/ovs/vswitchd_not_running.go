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

Nothing forwards on the node's bridges, yet the database keeps what the daemon wrote last: its
interfaces are shown as up. The control socket decides, not the pidfile.`,
	Causes: []string{
		"conf-db-lost-or-corrupt", "transient-default-self-reference", "transient-default-glued-or-commented",
	},
	Settle: true,
	Run:    lookForVswitchd,
}

func lookForVswitchd(p *doctor.Pass) {
	for d := range p.SilentDaemons("ovs-vswitchd") {
		f := doctor.Finding{
			Object:   doctor.DaemonObject(d.Host, "ovs-vswitchd"),
			Also:     []doctor.Object{doctor.NodeObject(d.Name)},
			Title:    fmt.Sprintf("ovs-vswitchd of %s does not run", d.Name),
			Evidence: d.Evidence(),
			Cause:    "it ended, or was ended, and nothing started it again",
			Effect:   "no traffic passes the node's bridges; the interfaces in the database are as it knew them last",
			Fix:      catalog.StartVswitchd.With(),
		}
		if d.State.Liveness == snapshot.Hung {
			f.Title = fmt.Sprintf("ovs-vswitchd of %s does not answer", d.Name)
			f.Lasting = true
			f.Cause = "it hangs, or is stopped"
			f.Effect = "no new connection is set up on the node's bridges, and no change is taken; what the datapath knows may still pass for a while"
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
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.OVS("Interface", ""), Says: fmt.Sprintf("%d of %d are shown as up, as they were last", up, len(s.Interfaces))})
		}
		p.Report(f)
	}
}
