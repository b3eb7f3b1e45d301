package catalog

import (
	"errors"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// VXLANModeOff says that VXLAN is for VTEPs alone.
var VXLANModeOff = &fixes.Repair{
	Name: "vxlan-mode-off",
	Doc: `Keep VXLAN for VTEPs, and the full range of tunnel keys for the rest

Sets NB_Global.options:vxlan_mode to false. OVN 24.09 and later know it. It
refuses where a chassis speaks nothing but VXLAN.`,
	Class: fixes.Ask,
	Risk:  fixes.High,
	Check: "vxlan-encap-limits",
	Plan: func(d *snapshot.Deployment, _ fixes.Args) (*fixes.Plan, error) {
		var errs []error
		for _, z := range d.Zones {
			north, err := z.Northbound()
			if err != nil {
				errs = append(errs, err)
				continue
			}
			south, err := z.Southbound()
			if err != nil {
				errs = append(errs, err)
				continue
			}
			e := EncapsulationsOf(south)
			if len(north.Globals) == 0 || len(e.VXLAN) == 0 {
				continue
			}
			g := north.Globals[0]
			switch {
			case g.Options["vxlan_mode"] == "false":
				return nil, fixes.Refuse("", "options:vxlan_mode is false")
			case len(e.OnlyVXLAN) > 0:
				return nil, fixes.Refuse("have it speak geneve first: on "+e.OnlyVXLAN[0].Hostname+": ovnctl fix drop-vxlan", "chassis %s speaks nothing but VXLAN", e.OnlyVXLAN[0].Hostname)
			case !KnowsVXLANMode(g.Options["northd_internal_version"]):
				return nil, fixes.Refuse("have the nodes speak geneve alone: ovnctl fix drop-vxlan on each", "ovn-northd is older than 24.09 and does not know options:vxlan_mode")
			}
			before := fixes.Row{"options:vxlan_mode": nil}
			if v, ok := g.Options["vxlan_mode"]; ok {
				before["options:vxlan_mode"] = v
			}
			const what = "set options:vxlan_mode to false"
			return &fixes.Plan{
				Title: what, Touches: "no traffic; new networks and ports get tunnel keys that VXLAN could not carry",
				Warnings: []string{"ovn-northd reckons the limit (options:max_tunid) anew with the next change of the Northbound"},
				Steps: []fixes.Step{fixes.Rows{
					DB: "OVN_Northbound", Zone: z.Name, What: what,
					Changes: []fixes.Change{{Table: "NB_Global", UUID: g.UUID, Before: before, After: fixes.Row{"options:vxlan_mode": "false"}}},
					Classic: []string{"ovn-nbctl set NB_Global . options:vxlan_mode=false"},
				}},
			}, nil
		}
		if len(errs) > 0 {
			return nil, errors.Join(errs...)
		}
		return nil, fixes.Refuse("", "no chassis speaks VXLAN")
	},
}
