package catalog

import (
	"slices"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
)

// AttachLoadBalancer attaches a load balancer to a switch, a router or a group.
var AttachLoadBalancer = &fixes.Repair{
	Name: "attach-load-balancer",
	Doc: `Attach a load balancer to the switch of its clients, to a gateway router or to a group

Adds it to load_balancer of the Logical_Switch, Logical_Router or Load_Balancer_Group.
Connections between pods are balanced where they start: on the clients' switch. Those
from outside are balanced on the gateway router. It refuses if another load balancer
there has one of its virtual IPs.`,
	Params: []fixes.Param{
		{Name: "LOAD-BALANCER", Doc: "its name or UUID"},
		{Name: "TO", Doc: "a switch, router or load balancer group; switch:NAME, router:NAME or group:NAME if the name is ambiguous"},
	},
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "lb-on-wrong-switch",
	Plan: loadBalancers.on("LOAD-BALANCER", func(f found[nb.LoadBalancer], a fixes.Args) (*fixes.Plan, error) {
		lb := f.row
		p, err := facts.PlacementOf(f.zone)
		if err != nil {
			return nil, err
		}
		to, err := findHolder(f.logical, p, a["TO"])
		if err != nil {
			return nil, err
		}
		if slices.Contains(to.balancers, lb.UUID) {
			return nil, fixes.Refuse("", "%s has load balancer %s", to, lb.Name)
		}
		for _, g := range p.GroupsOf[lb.UUID] {
			if slices.Contains(to.groups, g.UUID) {
				return nil, fixes.Refuse("", "%s has load balancer %s through group %s", to, lb.Name, g.Name)
			}
		}
		if other, vip := to.conflict(p, lb); other != nil {
			return nil, fixes.Refuse("delete the one that is not needed", "%s has load balancer %s with the same virtual IP %s", to, other.Name, vip)
		}
		if to.router != nil && to.router.Options["chassis"] == "" && !slices.ContainsFunc(f.logical.RouterPortsOf[to.id], isGatewayPort) {
			return nil, fixes.Refuse("", "router %s has no gateway: a load balancer has no effect there", to.name)
		}
		classic := map[string]string{
			"Logical_Switch":      fixes.Command("ovn-nbctl --may-exist ls-lb-add %s %s", to.name, lb.Name),
			"Logical_Router":      fixes.Command("ovn-nbctl --may-exist lr-lb-add %s %s", to.name, lb.Name),
			"Load_Balancer_Group": fixes.Command("ovn-nbctl add %s %s load_balancer %s", to.table, to.id, lb.UUID),
		}[to.table]
		return attach(f.zone, to, "load_balancer", fixes.Row{"load_balancer": append(slices.Clone(to.balancers), lb.UUID)}, lb.Name, classic,
			fixes.Guard{Table: "Load_Balancer", UUID: lb.UUID, Columns: fixes.Row{"vips": lb.VIPs}}, overwritten("load balancer "+lb.Name, lb.ExternalIDs)), nil
	}),
}
