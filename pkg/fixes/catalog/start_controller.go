package catalog

import (
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// StartController starts a node's ovn-controller.
var StartController = &fixes.Repair{
	Name: "start-controller",
	Doc: `Start ovn-controller

Starts ovn-controller by its service, or by the package's ovn-ctl where systemd is not PID 1,
and waits until the chassis has caught up. One that hangs is killed first, which keeps its
chassis, its ports and its flows. One that runs in a container is left to whoever runs the container.
Up to OVN 24.09 its flows are kept by external_ids:ovn-ofctrl-wait-before-clear, as
restart-controller does.`,
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "controller-not-running",
	OneWay: "a daemon that was started is not stopped again",
	Plan: func(d *snapshot.Deployment, _ fixes.Args) (*fixes.Plan, error) {
		h, err := local(d)
		if err != nil {
			return nil, err
		}
		service, warnings, err := revived(h, "ovn-controller")
		if err != nil {
			return nil, err
		}
		plan := &fixes.Plan{
			Title: "start ovn-controller", Host: h.Name, Steps: gently(h, service), Warnings: warnings,
			Touches: "none that flows now; what has changed meanwhile comes into force",
		}
		if service.Action == fixes.Replace {
			plan.Title = "end ovn-controller, which does not answer, and start it"
		}
		return plan, nil
	},
}
