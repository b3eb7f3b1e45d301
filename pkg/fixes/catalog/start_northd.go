package catalog

import (
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// StartNorthd starts ovn-northd.
var StartNorthd = &fixes.Repair{
	Name: "start-northd",
	Doc: `Start ovn-northd

Starts ovn-northd by its service, or by the package's ovn-ctl where systemd is not PID 1. One that
hangs is killed first. Where another is active it waits as standby.`,
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "northd-not-active",
	OneWay: "a daemon that was started is not stopped again",
	Plan: func(d *snapshot.Deployment, _ fixes.Args) (*fixes.Plan, error) {
		h, err := local(d)
		if err != nil {
			return nil, err
		}
		service, warnings, err := revived(h, "ovn-northd")
		if err != nil {
			return nil, err
		}
		plan := &fixes.Plan{
			Title: "start ovn-northd", Host: h.Name, Steps: []fixes.Step{service}, Warnings: warnings,
			Touches: "what was changed in the Northbound meanwhile comes into force, on all nodes",
		}
		if service.Action == fixes.Replace {
			plan.Title = "end ovn-northd, which does not answer, and start it"
		}
		return plan, nil
	},
}
