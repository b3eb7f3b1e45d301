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
	p.SilentDaemons("ovn-controller", func(h *snapshot.Host, d snapshot.Daemon, meant []string) {
		if d.Liveness == snapshot.Refused {
			if ps := doctor.ProcessesOf(h, "ovn-controller"); len(d.Sockets) == 0 && len(ps) > 0 {
				p.Unknown(doctor.DaemonObject(h, "ovn-controller"), fmt.Errorf("process %d is an ovn-controller, but has no control socket in %s: name its run directory by OVN_RUNDIR", ps[0].PID, h.Dirs().OVNRun))
				return
			}
		}
		f := doctor.Finding{
			Object:   doctor.DaemonObject(h, "ovn-controller"),
			Also:     []doctor.Object{doctor.NodeObject(h.Name)},
			Title:    fmt.Sprintf("ovn-controller of %s does not run", h.Name),
			Evidence: doctor.SilenceEvidence(h, "ovn-controller", d, meant),
			Cause:    "it ended, or was ended, and nothing started it again",
			Effect:   "no change reaches the node: new pods get no network, moved ports and policies stay as they were; ARP, DHCP and DNS that it answers go unanswered",
			Fix:      catalog.StartController.With(),
		}
		if d.Liveness == snapshot.Hung {
			f.Title = fmt.Sprintf("ovn-controller of %s does not answer", h.Name)
			f.Lasting = true
			f.Cause = "it hangs, or is stopped"
		}
		if c := doctor.InContainer(h, "ovn-controller"); c != nil {
			f.Fix, f.Next = nil, fmt.Sprintf("restart its container (process %d, %s)", c.PID, c.Cgroup)
		}
		f.Evidence = append(f.Evidence, behind(h)...)
		if name, _, err := h.ChassisName(); err == nil && name != "" {
			f.Also = append(f.Also, doctor.Object{Kind: "chassis", Name: name})
		}
		p.Report(f)
	})
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
