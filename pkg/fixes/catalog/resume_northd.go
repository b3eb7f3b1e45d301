package catalog

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// ResumeNorthd resumes a paused ovn-northd.
var ResumeNorthd = &fixes.Repair{
	Name: "resume-northd",
	Doc: `Resume ovn-northd

Sends it "resume". A person or a procedure paused it (ovn-appctl -t ovn-northd pause): if an upgrade or a
migration of the databases is in progress, let that end first.`,
	Local: true,
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "northd-not-active",
	Plan: onNode(func(h *snapshot.Host, _ fixes.Args) (*fixes.Plan, error) {
		status, err := h.Control("ovn-northd", "status")
		if err != nil {
			return nil, err
		}
		if !strings.Contains(status, "paused") {
			return nil, fixes.Refuse("", "ovn-northd of %s is not paused: %s", h.Name, strings.TrimSpace(status))
		}
		return &fixes.Plan{
			Title: "resume ovn-northd on " + h.Name, Host: h.Name,
			Steps:    []fixes.Step{fixes.Control{Daemon: "ovn-northd", Command: "resume", What: "resume ovn-northd", Undo: []string{"pause"}}},
			Touches:  "pending changes of the Northbound take effect, on all nodes",
			Warnings: []string{"somebody paused it: if a migration or an upgrade of the databases is in progress, let it end first"},
		}, nil
	}),
}
