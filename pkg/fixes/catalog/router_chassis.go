package catalog

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// RouterChassis puts a gateway router on a chassis.
var RouterChassis = &fixes.Repair{
	Name: "router-chassis",
	Doc: `Put a gateway router on its chassis

Sets Logical_Router.options:chassis to the chassis' name, which is its system-id.
Without CHASSIS it is the one whose hostname stands there now, or in the router's
name.`,
	Params: []fixes.Param{
		{Name: "ROUTER", Doc: "the gateway router"},
		{Name: "CHASSIS", Doc: "the chassis, by system-id or hostname", Optional: true},
	},
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "gateway-router-without-chassis",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		var names []string
		for _, z := range d.Zones {
			rows, err := z.Northbound()
			if err != nil {
				return nil, err
			}
			for i := range rows.Routers {
				r := &rows.Routers[i]
				names = append(names, r.Name)
				if r.Name == a["ROUTER"] {
					return planRouterChassis(z, r, a["CHASSIS"])
				}
			}
		}
		return nil, fmt.Errorf("no logical router %q; there are %s", a["ROUTER"], several(names))
	},
}

func planRouterChassis(z *snapshot.Zone, r *nb.LogicalRouter, wanted string) (*fixes.Plan, error) {
	rows, err := z.Southbound()
	if err != nil {
		return nil, err
	}
	is := r.Options["chassis"]
	if c := rows.ChassisNamed(is); c != nil && wanted == "" {
		return nil, fixes.Refuse("", "router %s is on chassis %s (%s), which is there", r.Name, is, c.Hostname)
	}
	c, err := chosenChassis(rows, wanted, RouterChassisMeant(rows, r))
	if err != nil {
		return nil, err
	}
	if c.Name == is {
		return nil, fixes.Refuse("", "router %s is on chassis %s", r.Name, c.Name)
	}
	change := fixes.Change{Table: "Logical_Router", UUID: r.UUID, Before: fixes.Row{"options:chassis": nil}, After: fixes.Row{"options:chassis": c.Name}}
	if is != "" {
		change.Before["options:chassis"] = is
	}
	what := fmt.Sprintf("put router %s on chassis %s (%s)", r.Name, c.Name, c.Hostname)
	plan := &fixes.Plan{
		Title: what, Touches: "all traffic through router " + r.Name,
		Steps: []fixes.Step{fixes.Rows{
			DB: "OVN_Northbound", Zone: z.Name, What: what, Changes: []fixes.Change{change},
			Classic: []string{fixes.Command("ovn-nbctl set Logical_Router %s options:chassis=%s", r.Name, c.Name)},
		}},
	}
	if strings.HasPrefix(r.Name, "GR_") {
		plan.Warnings = []string{"ovnkube owns the router and writes its chassis by the node's annotation k8s.ovn.org/node-chassis-id: if that is wrong, the fault returns"}
	}
	return plan, nil
}

// RouterChassisMeant is the chassis that a gateway router belongs on by what is
// written there now, or by its name; nil: that is not to be seen.
func RouterChassisMeant(rows *snapshot.Southbound, r *nb.LogicalRouter) *sb.Chassis {
	if is := r.Options["chassis"]; is != "" {
		if c := ChassisMeant(rows, is); c != nil {
			return c
		}
	}
	for i, ch := range r.Name {
		if ch == '_' || ch == '-' {
			if c := ChassisMeant(rows, r.Name[i+1:]); c != nil {
				return c
			}
		}
	}
	return nil
}
