package catalog

import (
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// IgnoreNorthdVersion lets ovn-controller work with an ovn-northd of another version.
var IgnoreNorthdVersion = &fixes.Repair{
	Name: "ignore-northd-version",
	Doc: `Let ovn-controller work with an ovn-northd of another version

Removes external_ids:ovn-match-northd-version, which makes ovn-controller stand still until both are of one
version. Right where the controller is the newer one, as in the order of an upgrade; an older controller may
not understand what a newer northd writes: there finish the upgrade instead.`,
	Class: fixes.Ask,
	Risk:  fixes.High,
	Check: "controller-northd-version-mismatch",
	Plan: func(d *snapshot.Deployment, _ fixes.Args) (*fixes.Plan, error) {
		h, err := local(d)
		if err != nil {
			return nil, err
		}
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
			Touches:  "what was changed in the Northbound meanwhile comes into force on " + h.Name,
			Warnings: []string{"whoever set it, an upgrade procedure for instance, may set it again"},
			Steps: []fixes.Step{fixes.Rows{
				DB: "Open_vSwitch", What: "remove external_ids:" + key,
				Changes: []fixes.Change{{
					Table: "Open_vSwitch", UUID: s.OpenvSwitch[0].UUID,
					Before: fixes.Row{"external_ids:" + key: value}, After: fixes.Row{"external_ids:" + key: nil},
				}},
				Classic: []string{"ovs-vsctl remove Open_vSwitch . external_ids " + key},
			}},
		}, nil
	},
}
