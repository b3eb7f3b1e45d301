package catalog

import (
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// GatewayChassisOf replaces a gateway port's nonexistent chassis.
var GatewayChassisOf = &fixes.Repair{
	Name: "gateway-chassis",
	Doc: `Give a distributed gateway port a gateway chassis that exists

Replaces a gateway chassis of the port that does not exist by the one whose hostname is
there, or by CHASSIS, with the same priority. If the port already has that one, the wrong
one is removed. It refuses for ports that Neutron schedules.`,
	Params: []fixes.Param{
		{Name: "PORT", Doc: "the router port"},
		{Name: "CHASSIS", Doc: "the chassis, by system-id or hostname", Optional: true},
	},
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "dgp-chassis-not-bound",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		var names []string
		for _, z := range d.Zones {
			north, err := z.Northbound()
			if err != nil {
				return nil, err
			}
			south, err := z.Southbound()
			if err != nil {
				return nil, err
			}
			for _, g := range facts.GatewayPorts(north, south) {
				names = append(names, g.Port.Name)
				if g.Port.Name == a["PORT"] {
					return planGatewayChassis(&g, d, z, south, a["CHASSIS"])
				}
			}
		}
		return nil, noSuch("distributed gateway port", a["PORT"], names)
	},
}

func planGatewayChassis(g *facts.GatewayPort, d *snapshot.Deployment, z *snapshot.Zone, south *snapshot.Southbound, wanted string) (*fixes.Plan, error) {
	i := slices.IndexFunc(g.Candidates, func(c facts.GatewayCandidate) bool { return c.Chassis == nil })
	switch {
	case g.Neutron:
		return nil, fixes.Refuse("let Neutron schedule it: `openstack network agent list --agent-type ovn-controller-gateway` shows the chassis that it knows",
			"port %s is scheduled by Neutron, which ignores rows that others write", g.Port.Name)
	case i < 0:
		return nil, fixes.Refuse("", "all gateway chassis of port %s exist", g.Port.Name)
	}
	wrong := g.Candidates[i]
	c, err := chosenChassis(south, wanted, g.Proposal(south))
	if err != nil {
		return nil, err
	}
	step := replaceCandidate(g, z, wrong, c).Step()
	if slices.ContainsFunc(g.Candidates, func(o facts.GatewayCandidate) bool { return o.Name == c.Name }) {
		if step, err = removeCandidate(g, d, z, wrong); err != nil {
			return nil, err
		}
	}
	return &fixes.Plan{Title: step.What, Touches: "all traffic through gateway port " + g.Port.Name, Steps: []fixes.Step{step}}, nil
}

// removeCandidate returns the step that deletes a candidate's row.
func removeCandidate(g *facts.GatewayPort, d *snapshot.Deployment, z *snapshot.Zone, wrong facts.GatewayCandidate) (fixes.Rows, error) {
	in := fixes.Ref{Table: "Logical_Router_Port", UUID: g.Port.UUID, Column: "gateway_chassis"}
	if wrong.Group != "" {
		in = fixes.Ref{Table: "HA_Chassis_Group", UUID: wrong.Group, Column: "ha_chassis"}
	}
	step := fixes.Rows{
		DB: "OVN_Northbound", Zone: z.Name, What: fmt.Sprintf("remove gateway chassis %s of port %s", wrong.Name, g.Port.Name),
		Classic: []string{fixes.Command("ovn-nbctl lrp-del-gateway-chassis %s %s", g.Port.Name, wrong.Name)},
	}
	db, err := z.NB()
	if err != nil {
		return step, err
	}
	deletion, err := fixes.DeleteRow(d.Context(), db, wrong.Row.Table(), wrong.UUID, in)
	step.Changes = []fixes.Change{deletion}
	return step, err
}

// replaceCandidate sets the chassis in a candidate's row. A Gateway_Chassis row is named after its port and chassis, in
// one of two spellings.
func replaceCandidate(g *facts.GatewayPort, z *snapshot.Zone, wrong facts.GatewayCandidate, c *sb.Chassis) fixes.Set {
	set := fixes.Set{
		DB: "OVN_Northbound", Zone: z.Name, What: fmt.Sprintf("make chassis %s a gateway chassis of port %s instead of %s", chassisText(*c), g.Port.Name, wrong.Name),
		Row: wrong.Row, Columns: fixes.Row{"chassis_name": c.Name},
	}
	row, ok := wrong.Row.(*nb.GatewayChassis)
	if !ok {
		return set
	}
	for _, between := range []string{"-", "_"} {
		if row.Name == g.Port.Name+between+wrong.Name {
			set.Columns["name"] = g.Port.Name + between + c.Name
		}
	}
	set.Classic = []string{fixes.Command("ovn-nbctl lrp-del-gateway-chassis %s %s -- lrp-set-gateway-chassis %s %s %d", g.Port.Name, wrong.Name, g.Port.Name, c.Name, wrong.Priority)}
	return set
}
