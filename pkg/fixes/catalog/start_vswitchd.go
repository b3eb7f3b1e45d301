package catalog

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// StartVswitchd starts a node's ovs-vswitchd.
var StartVswitchd = &fixes.Repair{
	Name: "start-vswitchd",
	Doc: `Start ovs-vswitchd

Starts only ovs-vswitchd: ovs-vswitchd.service, or the package's ovs-ctl if systemd is
not PID 1. One that hangs is killed first. ovsdb-server is not touched: restarting
openvswitch-switch would restart it, which deletes transient ports where that is set. It
refuses for one that runs in a container.

Links of a userspace datapath keep their addresses when the daemon dies, but not when it
was ended with "exit --cleanup": the plan names those that are gone, and the next doctor
finds them.`,
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "vswitchd-not-running",
	OneWay: daemonStaysUp,
	Plan: onNode(func(h *snapshot.Host, _ fixes.Args) (*fixes.Plan, error) {
		s, err := h.Switch()
		if err != nil {
			return nil, fixes.Refuse("start ovsdb-server first: see ovnctl explain conf-db-lost-or-corrupt", "the Open_vSwitch database of %s is unreachable: %v", h.Name, err)
		}
		plan, err := startDaemon(h, "ovs-vswitchd", "all traffic of the node's bridges, which stands still now: "+several(bridgeNames(s)))
		if err != nil {
			return nil, err
		}
		plan.Warnings = append(plan.Warnings, lostLinks(h, s)...)
		for _, b := range s.Bridges {
			if len(b.Controller) == 0 && b.FailMode.Get() == "secure" && b.Name != s.IntegrationBridge(h.SystemID) {
				plan.Warnings = append(plan.Warnings, fmt.Sprintf("bridge %s starts without flows and drops everything until its owner writes them again: fail_mode is secure, and it has no controller", b.Name))
			}
		}
		return plan, nil
	}),
}

// lostLinks warns of the bridges' lost internal links, with their addresses and routes.
func lostLinks(h *snapshot.Host, s *snapshot.Switch) []string {
	network, err := h.Network()
	if err != nil {
		return nil
	}
	var lost []string
	for _, p := range s.BridgeInterfaces() {
		if p.Type == "internal" && p.Bridge.DatapathType == "netdev" && network.Link(p.Name) == nil {
			lost = append(lost, p.Name)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s disappeared with the daemon, and so did their addresses and routes: after the start run ovnctl doctor, which finds bridges without their addresses (bridge-ip-lost-after-reboot)", strings.Join(lost, ", "))}
}
