package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// Encapsulations are the types of tunnels that the chassis of a deployment speak,
// without VTEPs and other zones' chassis.
type Encapsulations struct {
	VXLAN     []*sb.Chassis // those that speak VXLAN
	OnlyVXLAN []*sb.Chassis // and nothing else
	Types     map[string]string
}

// EncapsulationsOf reads them.
func EncapsulationsOf(south *snapshot.Southbound) Encapsulations {
	out := Encapsulations{Types: map[string]string{}}
	types := map[string][]string{}
	for _, e := range south.Encaps {
		if !slices.Contains(types[e.ChassisName], e.Type) {
			types[e.ChassisName] = append(types[e.ChassisName], e.Type)
		}
	}
	for i := range south.Chassis {
		c := &south.Chassis[i]
		if snapshot.Elsewhere(c) {
			continue
		}
		own := types[c.Name]
		slices.Sort(own)
		out.Types[c.Name] = strings.Join(own, ",")
		if slices.Contains(own, "vxlan") {
			out.VXLAN = append(out.VXLAN, c)
			if len(own) == 1 {
				out.OnlyVXLAN = append(out.OnlyVXLAN, c)
			}
		}
	}
	return out
}

// DropVXLAN has a node speak Geneve and not VXLAN.
var DropVXLAN = &fixes.Repair{
	Name: "drop-vxlan",
	Doc: `Have a node make Geneve tunnels only

Takes vxlan out of external_ids:ovn-encap-type and makes it geneve. One node that
offers VXLAN limits the number of networks of the whole deployment. It refuses
where another chassis could then not be reached.`,
	Params: []fixes.Param{{Name: "NODE", Doc: "the node, if it is not this one", Optional: true}},
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "vxlan-encap-limits",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h, err := hostOf(d, a["NODE"])
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
		z := h.Zone()
		if z == nil {
			return nil, errors.New("the databases of the zone of " + h.Name + " were not read")
		}
		south, err := z.Southbound()
		if err != nil {
			return nil, err
		}
		for _, c := range EncapsulationsOf(south).OnlyVXLAN {
			if c.Name != name {
				return nil, fixes.Refuse("have it speak geneve first: on "+c.Hostname+": ovnctl fix drop-vxlan", "chassis %s speaks nothing but VXLAN, and would be cut off", c.Hostname)
			}
		}
		is, key := s.Setting("ovn-encap-type", name)
		types := strings.Split(is, ",")
		if !slices.Contains(types, "vxlan") {
			return nil, fixes.Refuse("", "%s is %q on %s", key, is, h.Name)
		}
		types = slices.DeleteFunc(types, func(t string) bool { return strings.TrimSpace(t) == "vxlan" })
		if !slices.Contains(types, "geneve") {
			types = append(types, "geneve")
		}
		now := strings.Join(types, ",")
		row := s.OpenvSwitch[0]
		what := fmt.Sprintf("set %s to %s", key, now)
		return &fixes.Plan{
			Title: what, Host: h.Name,
			Touches:  "all traffic between " + h.Name + " and other nodes, for the second or two in which its tunnels are made anew",
			Warnings: []string{"whoever deploys the node (an operator, Ansible, Juju) may set it again"},
			Steps: []fixes.Step{fixes.Rows{
				DB: "Open_vSwitch", What: what,
				Changes: []fixes.Change{{Table: "Open_vSwitch", UUID: row.UUID, Before: fixes.Row{"external_ids:" + key: is}, After: fixes.Row{"external_ids:" + key: now}}},
				Classic: []string{fixes.Command("ovs-vsctl set Open_vSwitch . external_ids:%s=%s", key, now)},
			}},
		}, nil
	},
}

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

// KnowsVXLANMode reports whether ovn-northd of this internal version ("24.09.1-20.37.0-78.8") reads options:vxlan_mode.
func KnowsVXLANMode(version string) bool {
	return release.AtLeast(release.Parse(version).String(), release.VXLANMode)
}
