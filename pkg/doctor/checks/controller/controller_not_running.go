package controller

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var ControllerNotRunning = &doctor.Check{
	Name:     "controller-not-running",
	Category: "ovn-controller",
	Doc: `ovn-controller does not run

The flows that are in the integration bridge go on, and its chassis and ports stay in the
Southbound; nothing new is applied on the node.`,
	Causes: []string{"conf-db-lost-or-corrupt"},
	Settle: true,
	Run:    lookForController,
}

func lookForController(p *doctor.Pass) {
	for d := range p.SilentDaemons("ovn-controller") {
		if d.State.Liveness == snapshot.Refused {
			if ps := doctor.ProcessesOf(d.Host, "ovn-controller"); len(d.State.Sockets) == 0 && len(ps) > 0 {
				p.Unknown(doctor.DaemonObject(d.Host, "ovn-controller"), fmt.Errorf("process %d is an ovn-controller, but has no control socket in %s: name its run directory by OVN_RUNDIR", ps[0].PID, d.Dirs().OVNRun))
				continue
			}
		}
		f := doctor.Finding{
			Object:   doctor.DaemonObject(d.Host, "ovn-controller"),
			Also:     []doctor.Object{doctor.NodeObject(d.Name)},
			Title:    fmt.Sprintf("ovn-controller of %s does not run", d.Name),
			Evidence: d.Evidence(),
			Cause:    "it ended, or was ended, and nothing started it again",
			Effect:   "no change reaches the node: new pods get no network, moved ports and policies stay as they were; ARP, DHCP and DNS that it answers go unanswered",
			Fix:      catalog.StartController.With(),
		}
		if d.State.Liveness == snapshot.Hung {
			f.Title = fmt.Sprintf("ovn-controller of %s does not answer", d.Name)
			f.Lasting = true
			f.Cause = "it hangs, or is stopped"
		}
		if c := doctor.InContainer(d.Host, "ovn-controller"); c != nil {
			f.Fix, f.Next = nil, fmt.Sprintf("restart its container (process %d, %s)", c.PID, c.Cgroup)
		}
		f.Evidence = append(f.Evidence, behind(d.Host)...)
		if name, _, err := d.ChassisName(); err == nil && name != "" {
			f.Also = append(f.Also, doctor.Object{Kind: "chassis", Name: name})
		}
		p.Report(f)
	}
}

// behind is how far a node's chassis is behind the Southbound, where that is known.
func behind(h *snapshot.Host) []doctor.Evidence {
	z := h.Zone()
	if z == nil {
		return nil
	}
	s, err := z.Southbound()
	name, _, nameErr := h.ChassisName()
	if err != nil || nameErr != nil || name == "" || len(s.Globals) == 0 {
		return nil
	}
	if s.ChassisNamed(name) == nil {
		return []doctor.Evidence{{Source: doctor.SB("Chassis", ""), Says: "has no row " + name + " any more"}}
	}
	for _, c := range s.ChassisPrivate {
		if c.Name == name && c.NBCfg < s.Globals[0].NBCfg {
			return []doctor.Evidence{{Source: doctor.SB("Chassis_Private", name), Says: fmt.Sprintf("nb_cfg=%d, SB_Global has %d", c.NBCfg, s.Globals[0].NBCfg)}}
		}
	}
	return nil
}
