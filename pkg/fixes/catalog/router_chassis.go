package catalog

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// RouterChassis puts a gateway router on a chassis.
var RouterChassis = &fixes.Repair{
	Name: "router-chassis",
	Doc: `Put a gateway router on its chassis

Sets Logical_Router.options:chassis to the chassis' name, which is its system-id.
Without CHASSIS it is the one whose hostname is there now, or in the router's name.`,
	Params: []fixes.Param{
		{Name: "ROUTER", Doc: "the gateway router"},
		{Name: "CHASSIS", Doc: "the chassis, by system-id or hostname", Optional: true},
	},
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "gateway-router-without-chassis",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		f, err := findRouter(d, a["ROUTER"])
		if err != nil {
			return nil, err
		}
		r := f.row
		rows, err := f.zone.Southbound()
		if err != nil {
			return nil, err
		}
		is := r.Options["chassis"]
		if c := rows.ChassisNamed(is); c != nil && a["CHASSIS"] == "" {
			return nil, fixes.Refuse("", "router %s is on chassis %s, which exists", r.Name, chassisText(*c))
		}
		c, err := chosenChassis(rows, a["CHASSIS"], facts.RouterChassisMeant(rows, r))
		if err != nil {
			return nil, err
		}
		if c.Name == is {
			return nil, fixes.Refuse("", "router %s is on chassis %s", r.Name, c.Name)
		}
		what := fmt.Sprintf("put router %s on chassis %s", r.Name, chassisText(*c))
		plan := &fixes.Plan{
			Title: what, Touches: "all traffic through router " + r.Name,
			Steps: []fixes.Step{fixes.Set{
				DB: "OVN_Northbound", Zone: f.zone.Name, What: what,
				Row: r, Name: r.Name, Columns: fixes.Row{"options:chassis": c.Name},
			}.Step()},
		}
		if strings.HasPrefix(r.Name, "GR_") {
			plan.Warnings = []string{"ovnkube owns the router and sets its chassis from the node's annotation k8s.ovn.org/node-chassis-id: if that is wrong, the fault returns"}
		}
		return plan, nil
	},
}
