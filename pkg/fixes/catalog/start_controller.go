package catalog

import (
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// StartController starts a node's ovn-controller.
var StartController = &fixes.Repair{
	Name: "start-controller",
	Doc: `Start ovn-controller

Starts ovn-controller by its service, or by the package's ovn-ctl if systemd is not PID 1,
and waits until the chassis has caught up. One that hangs is killed first, which keeps its
chassis, its ports and its flows. It refuses for one that runs in a container. Up to OVN
24.09 its flows are kept by external_ids:ovn-ofctrl-wait-before-clear, as with
restart-controller.`,
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "controller-not-running",
	OneWay: daemonStaysUp,
	Plan: onNode(func(h *snapshot.Host, _ fixes.Args) (*fixes.Plan, error) {
		plan, err := startDaemon(h, "ovn-controller", "nothing that flows now; pending changes take effect")
		if err != nil {
			return nil, err
		}
		plan.Steps = keepingFlows(h, plan.Steps[0])
		return plan, nil
	}),
}
