package catalog

import (
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// RestartController restarts a node's ovn-controller and keeps its chassis.
var RestartController = &fixes.Repair{
	Name: "restart-controller",
	Doc: `Restart ovn-controller, keeping its chassis and ports

Sends it "exit --restart", waits until the process is gone and starts it again, so that it
writes all flows of the integration bridge again. Never by "systemctl restart", which ends
it without --restart: then its Chassis row is deleted and its ports are released. It refuses
for one that runs in a container.

Up to OVN 24.09 ovn-controller deletes all flows when it starts, and there is no traffic
until it has written new ones: so external_ids:ovn-ofctrl-wait-before-clear is set to twice
what the last flows took, and restored when the new ones are in place.`,
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "integration-bridge-empty",
	OneWay: "a daemon that was restarted does not return to its earlier state",
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
			Steps:   keepingFlows(h, fixes.Service{Daemon: "ovn-controller", Action: fixes.Restart}),
			Touches: "for a moment traffic of " + h.Name + " that needs ovn-controller itself (ARP, DHCP, DNS); flows stay until the new ones are written",
		}, nil
	},
}
