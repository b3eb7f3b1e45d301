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

The flows in the integration bridge stay, and so do its chassis and ports in the
Southbound; nothing new is applied on the node.`,
	Causes: []string{"conf-db-lost-or-corrupt"},
	Settle: true,
	Run:    doctor.Over(doctor.SilentDaemons("ovn-controller"), silentController),
}

func silentController(p *doctor.Pass, d *doctor.SilentDaemon) {
	processes := doctor.ProcessesOf(d.Host, d.Daemon)
	if d.State.Liveness == snapshot.Refused && len(d.State.Sockets) == 0 && len(processes) > 0 {
		p.Unknown(d.Object(), fmt.Errorf("process %d is an ovn-controller without a control socket in %s: give its run directory in OVN_RUNDIR", processes[0].PID, d.Dirs().OVNRun))
		return
	}
	f := doctor.Finding{
		Object:   d.Object(),
		Reason:   "not-running",
		Also:     []doctor.Object{doctor.NodeObject(d.Name)},
		Title:    fmt.Sprintf("ovn-controller of %s does not run", d.Name),
		Evidence: append(d.Evidence(), behind(d.Host)...),
		Cause:    "it exited or was stopped, and nothing started it again",
		Effect:   "no change reaches the node: new pods get no network, moved ports and policies stay as they were; it sends no ARP, DHCP and DNS replies",
		Fix:      catalog.StartController.With(),
	}
	if d.State.Liveness == snapshot.Hung {
		f.Reason, f.Lasting = "hangs", true
		f.Title = fmt.Sprintf("ovn-controller of %s does not reply", d.Name)
		f.Cause = "it hangs, or is stopped by a signal"
	}
	if c := doctor.InContainer(d.Host, d.Daemon); c != nil {
		f.Fix, f.Next = nil, fmt.Sprintf("restart its container (process %d, %s)", c.PID, c.Cgroup)
	}
	if name, _, err := d.ChassisName(); err == nil && name != "" {
		f.Also = append(f.Also, doctor.Object{Kind: "chassis", Name: name})
	}
	p.Report(f)
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
		return []doctor.Evidence{{Source: doctor.SB("Chassis", ""), Says: "no row " + name}}
	}
	for _, c := range s.ChassisPrivate {
		if c.Name == name && c.NBCfg < s.Globals[0].NBCfg {
			return []doctor.Evidence{{Source: doctor.SB("Chassis_Private", name), Says: fmt.Sprintf("nb_cfg=%d, SB_Global has %d", c.NBCfg, s.Globals[0].NBCfg)}}
		}
	}
	return nil
}
