package catalog

import (
	"errors"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// VXLANModeOff keeps VXLAN for VTEPs.
var VXLANModeOff = &fixes.Repair{
	Name: "vxlan-mode-off",
	Doc: `Keep VXLAN for VTEPs, and use all tunnel keys for the rest

Sets NB_Global.options:vxlan_mode to false. It needs OVN 24.09 or later, and refuses
if a chassis has only VXLAN.`,
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
			if e := facts.EncapsulationsOf(south); len(north.Globals) > 0 && len(e.VXLAN) > 0 {
				return planVXLANModeOff(z, &north.Globals[0], e)
			}
		}
		if len(errs) > 0 {
			return nil, errors.Join(errs...)
		}
		return nil, fixes.Refuse("", "no chassis has VXLAN")
	},
}

func planVXLANModeOff(z *snapshot.Zone, g *nb.Global, e facts.Encapsulations) (*fixes.Plan, error) {
	switch {
	case g.Options["vxlan_mode"] == "false":
		return nil, fixes.Refuse("", "options:vxlan_mode is false")
	case len(e.OnlyVXLAN) > 0:
		return nil, onlyVXLAN(e.OnlyVXLAN[0])
	case !facts.KnowsVXLANMode(g.Options["northd_internal_version"]):
		return nil, fixes.Refuse("make the nodes use Geneve only: ovnctl fix drop-vxlan on each", "ovn-northd is older than 24.09 and does not know options:vxlan_mode")
	}
	const what = "set options:vxlan_mode to false"
	return &fixes.Plan{
		Title: what, Touches: "no traffic; new networks and ports get tunnel keys that VXLAN could not carry",
		Warnings: []string{"ovn-northd computes the limit (options:max_tunid) again with the next change of the Northbound"},
		Steps: []fixes.Step{fixes.Set{
			DB: "OVN_Northbound", Zone: z.Name, What: what,
			Row: g, Name: ".", Columns: fixes.Row{"options:vxlan_mode": "false"},
		}.Step()},
	}, nil
}
