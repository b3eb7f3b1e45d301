package catalog

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/release"
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
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "integration-bridge-empty",
	OneWay: "a daemon that was restarted does not return to its earlier state",
	Plan: onNode(func(h *snapshot.Host, _ fixes.Args) (*fixes.Plan, error) {
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
	}),
}

// keepFlows is the setting that makes ovn-controller keep existing flows in the integration bridge until its own are
// ready, ovn-controller(8).
const keepFlows = "ovn-ofctrl-wait-before-clear"

// keepingFlows starts a node's ovn-controller and keeps its flows until the new ones are ready: up to OVN 24.09 it
// would delete them first, stopping traffic meanwhile. Afterwards the setting is restored. The chassis must be in a
// readable Southbound, which shows when the flows are ready.
func keepingFlows(h *snapshot.Host, start fixes.Step) []fixes.Step {
	up := chassisUp(h)
	steps := append([]fixes.Step{start}, up...)
	sw, err := h.Switch()
	if err != nil || len(sw.OpenvSwitch) == 0 || len(up) == 0 {
		return steps
	}
	if release.AtLeast(controllerVersion(h), release.FlowsKept) {
		return steps
	}
	chassis, _, _ := h.ChassisName()
	old, key := sw.Setting(keepFlows, chassis)
	keep := keepTime(h)
	if ms, err := strconv.Atoi(old); err == nil && time.Duration(ms)*time.Millisecond >= keep {
		return steps
	}
	set := idSet(sw, key, strconv.FormatInt(keep.Milliseconds(), 10), fmt.Sprintf("keep the flows for %s while new ones are computed", keep))
	return append(append([]fixes.Step{set.Step()}, steps...), set.Back("restore "+key))
}

// keepTime returns how long the node's flows should be kept.
func keepTime(h *snapshot.Host) time.Duration {
	longest, err := h.FlowGeneration()
	if err != nil {
		return unknownKeep
	}
	return min(max(2*longest, leastKeep), mostKeep)
}

// controllerVersion returns the release of a node's ovn-controller, or of ovn-northd if it does not reply; empty if
// unknown.
func controllerVersion(h *snapshot.Host) string {
	if d, err := h.Daemon("ovn-controller"); err == nil && d.Version != "" {
		return d.Version
	}
	south, err := h.Southbound()
	if err != nil || len(south.Globals) == 0 {
		return ""
	}
	release, _, _ := strings.Cut(south.Globals[0].Options["northd_internal_version"], "-")
	return release
}
