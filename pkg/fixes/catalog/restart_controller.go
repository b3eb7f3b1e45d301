package catalog

import (
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// RestartController restarts a node's ovn-controller without its chassis going.
var RestartController = &fixes.Repair{
	Name: "restart-controller",
	Doc: `Restart ovn-controller, keeping its chassis and ports

Sends it "exit --restart", waits until the process is gone and starts it again, so that it
writes all flows of the integration bridge anew. Never by "systemctl restart", which ends it
without --restart: then its Chassis row goes and its ports are released. One that runs in a
container is left to whoever runs the container.

Up to OVN 24.09 ovn-controller deletes all flows when it starts, and makes the new ones
without traffic: meanwhile external_ids:ovn-ofctrl-wait-before-clear is set, to twice what
the last flows took, and put back when the new ones are there.`,
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "integration-bridge-empty",
	OneWay: "a daemon that was started again does not go back to what it was",
	Plan: func(d *snapshot.Deployment, _ fixes.Args) (*fixes.Plan, error) {
		h, err := local(d)
		if err != nil {
			return nil, err
		}
		if err := notContained(h, "ovn-controller"); err != nil {
			return nil, err
		}
		state, err := h.Daemon("ovn-controller")
		if err != nil {
			return nil, err
		}
		if state.Liveness != snapshot.Answers {
			return nil, fixes.Refuse("ovnctl fix start-controller", "ovn-controller of %s %s", h.Name, state.Liveness)
		}
		return &fixes.Plan{
			Title: "restart ovn-controller", Host: h.Name,
			Steps:   gently(h, fixes.Service{Daemon: "ovn-controller", Action: fixes.Restart}),
			Touches: "traffic of " + h.Name + " that needs ovn-controller itself (ARP, DHCP, DNS) for the moment; flows stay until the new ones are written",
		}, nil
	},
}
