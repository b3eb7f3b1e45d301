package catalog

import (
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// StartNorthd starts ovn-northd.
var StartNorthd = &fixes.Repair{
	Name: "start-northd",
	Doc: `Start ovn-northd

Starts ovn-northd by its service, or by the package's ovn-ctl if systemd is not PID 1. One
that hangs is killed first. If another one is active it waits as standby.`,
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "northd-not-active",
	OneWay: daemonStaysUp,
	Plan: onNode(func(h *snapshot.Host, _ fixes.Args) (*fixes.Plan, error) {
		return startDaemon(h, "ovn-northd", "pending changes of the Northbound take effect, on all nodes")
	}),
}
