package catalog

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// StartVswitchd starts a node's switch.
var StartVswitchd = &fixes.Repair{
	Name: "start-vswitchd",
	Doc: `Start ovs-vswitchd

Starts ovs-vswitchd alone: ovs-vswitchd.service, or the package's ovs-ctl where systemd is
not PID 1. One that hangs is ended first. ovsdb-server is not touched: restarting
openvswitch-switch would restart it, which deletes transient ports where that is set. One
that runs in a container is left to whoever runs the container.

Links of a userspace datapath keep their addresses when the daemon dies, but not when it
was ended with "exit --cleanup": what is gone is named, and found by the next doctor.`,
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "vswitchd-not-running",
	OneWay: "a daemon that was started is not stopped again",
	Plan: func(d *snapshot.Deployment, _ fixes.Args) (*fixes.Plan, error) {
		h, err := local(d)
		if err != nil {
			return nil, err
		}
		s, err := h.Switch()
		if err != nil {
			return nil, fixes.Refuse("start ovsdb-server first: see ovnctl explain conf-db-lost-or-corrupt", "the Open_vSwitch database of %s does not answer: %v", h.Name, err)
		}
		service, warnings, err := revived(h, "ovs-vswitchd")
		if err != nil {
			return nil, err
		}
		plan := &fixes.Plan{
			Title: "start ovs-vswitchd", Host: h.Name, Steps: []fixes.Step{service}, Warnings: warnings,
			Touches: "all traffic of the node's bridges, which stands still now: " + several(bridgeNames(s)),
		}
		if service.Action == fixes.Replace {
			plan.Title = "end ovs-vswitchd, which does not answer, and start it"
		}
		plan.Warnings = append(plan.Warnings, lostLinks(h, s)...)
		for _, b := range s.Bridges {
			if len(b.Controller) == 0 && b.FailMode.Get() == "secure" && b.Name != s.IntegrationBridge(h.SystemID) {
				plan.Warnings = append(plan.Warnings, fmt.Sprintf("bridge %s starts without flows and drops everything until its owner writes them again: fail_mode is secure, and it has no controller", b.Name))
			}
		}
		return plan, nil
	},
}

// lostLinks warns of the switch's own links that are gone: their addresses and routes went with them.
func lostLinks(h *snapshot.Host, s *snapshot.Switch) []string {
	network, err := h.Network()
	if err != nil {
		return nil
	}
	var gone []string
	for _, p := range s.Plugs() {
		if p.Type == "internal" && p.Bridge.DatapathType == "netdev" && network.Link(p.Name) == nil {
			gone = append(gone, p.Name)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s went with the daemon, and their addresses and routes with them: after the start run ovnctl doctor, which finds bridges without their addresses (bridge-ip-lost-after-reboot)", strings.Join(gone, ", "))}
}
