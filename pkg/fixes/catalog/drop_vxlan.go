package catalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

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
