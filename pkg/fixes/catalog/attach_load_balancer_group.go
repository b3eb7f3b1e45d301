package catalog

import (
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
)

// AttachLoadBalancerGroup attaches a group of load balancers to a switch or router.
var AttachLoadBalancerGroup = &fixes.Repair{
	Name: "attach-load-balancer-group",
	Doc: `Attach a group of load balancers to the switch of its clients or to a gateway router

Adds it to load_balancer_group of the switch or router.`,
	Params: []fixes.Param{
		{Name: "GROUP", Doc: "the load balancer group"},
		{Name: "TO", Doc: "a switch or router; switch:NAME or router:NAME if the name is ambiguous"},
	},
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "lb-on-wrong-switch",
	Plan: loadBalancerGroups.on("GROUP", func(f found[nb.LoadBalancerGroup], a fixes.Args) (*fixes.Plan, error) {
		p, err := facts.PlacementOf(f.zone)
		if err != nil {
			return nil, err
		}
		g := f.row
		to, err := findHolder(f.logical, p, a["TO"])
		switch {
		case err != nil:
			return nil, err
		case to.table == "Load_Balancer_Group":
			return nil, fmt.Errorf("%s is a group: a group is attached to a switch or router", a["TO"])
		case slices.Contains(to.groups, g.UUID):
			return nil, fixes.Refuse("", "%s has load balancer group %s", to, g.Name)
		}
		return attach(f.zone, to, "load_balancer_group", fixes.Row{"load_balancer_group": append(slices.Clone(to.groups), g.UUID)}, g.Name,
			fixes.Command("ovn-nbctl add %s %s load_balancer_group %s", to.table, to.name, g.UUID),
			fixes.Guard{Table: "Load_Balancer_Group", UUID: g.UUID, Columns: fixes.Row{"name": g.Name}}, overwritten(to.String(), to.ids)), nil
	}),
}
