package catalog

import (
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// IgnoreNorthdVersion lets ovn-controller work with another version of ovn-northd.
var IgnoreNorthdVersion = &fixes.Repair{
	Name: "ignore-northd-version",
	Doc: `Let ovn-controller work with another version of ovn-northd

Removes external_ids:ovn-match-northd-version, which stops ovn-controller until both have the same version.
That is right if ovn-controller is newer, as it is during an upgrade in the right order. An older
ovn-controller may not understand what a newer ovn-northd writes: finish the upgrade instead.`,
	Local: true,
	Class: fixes.Ask,
	Risk:  fixes.High,
	Check: "controller-northd-version-mismatch",
	Plan: onNode(func(h *snapshot.Host, _ fixes.Args) (*fixes.Plan, error) {
		s, err := h.Switch()
		if err != nil {
			return nil, err
		}
		name, _, err := h.ChassisName()
		if err != nil {
			return nil, err
		}
		value, key := s.Setting("ovn-match-northd-version", name)
		if value != "true" {
			return nil, fixes.Refuse("", "%s is not set on %s", key, h.Name)
		}
		return &fixes.Plan{
			Title: "let ovn-controller of " + h.Name + " work with any version of ovn-northd", Host: h.Name,
			Touches:  "changes of the Northbound that are pending take effect on " + h.Name,
			Warnings: []string{"whatever set it, such as an upgrade procedure, may set it again"},
			Steps:    []fixes.Step{setID(s, key, nil, "remove external_ids:"+key)},
		}, nil
	}),
}
