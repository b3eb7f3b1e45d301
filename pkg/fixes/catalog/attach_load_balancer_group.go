package catalog

import (
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// AttachLoadBalancerGroup gives a group of load balancers to a switch or router.
var AttachLoadBalancerGroup = &fixes.Repair{
	Name: "attach-load-balancer-group",
	Doc: `Give a group of load balancers to the switch of its clients or to a gateway router

Adds it to load_balancer_group of the switch or router.`,
	Params: []fixes.Param{
		{Name: "GROUP", Doc: "the load balancer group"},
		{Name: "TO", Doc: "a switch or router; switch:NAME or router:NAME where a name is both"},
	},
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "lb-on-wrong-switch",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		var there []string
		var plan *fixes.Plan
		err := inZones(d, func(z *snapshot.Zone, l *snapshot.Logical) (bool, error) {
			p, err := z.Placement()
			if err != nil {
				return false, err
			}
			for i := range p.Groups {
				g := &p.Groups[i]
				there = append(there, g.Name)
				if g.Name != a["GROUP"] && string(g.UUID) != a["GROUP"] {
					continue
				}
				to, err := findHolder(l, p, a["TO"])
				if err != nil {
					return true, err
				}
				switch {
				case to.table == "Load_Balancer_Group":
					return true, fmt.Errorf("%s is a group: a group is given to a switch or router", a["TO"])
				case slices.Contains(to.groups, g.UUID):
					return true, fixes.Refuse("", "%s has load balancer group %s", to, g.Name)
				}
				plan = attach(z, to, "load_balancer_group", to.groups, g.UUID, "load balancer group "+g.Name,
					fixes.Command("ovn-nbctl add %s %s load_balancer_group %s", to.table, to.name, g.UUID),
					fixes.Guard{Table: "Load_Balancer_Group", UUID: g.UUID, Columns: fixes.Row{"name": g.Name}}, overwritten(to.String(), to.ids))
				return true, nil
			}
			return false, nil
		})
		if err == nil && plan == nil {
			err = fmt.Errorf("no load balancer group %q; there are %s", a["GROUP"], several(there))
		}
		return plan, err
	},
}
