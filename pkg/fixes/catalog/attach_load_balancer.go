package catalog

import (
	"slices"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// AttachLoadBalancer gives a load balancer to a switch, a router or a group.
var AttachLoadBalancer = &fixes.Repair{
	Name: "attach-load-balancer",
	Doc: `Give a load balancer to the switch of its clients, to a gateway router or to a group

Adds it to Logical_Switch.load_balancer, Logical_Router.load_balancer or
Load_Balancer_Group.load_balancer. Connections between pods are balanced where they start: the
clients' switch needs it. From outside, the gateway router does. Nothing is done if another
load balancer there has one of its virtual addresses.`,
	Params: []fixes.Param{
		{Name: "LOAD-BALANCER", Doc: "its name or UUID"},
		{Name: "TO", Doc: "a switch, router or load balancer group; switch:NAME, router:NAME or group:NAME where a name is more than one"},
	},
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "lb-on-wrong-switch",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		z, l, p, lb, err := findLoadBalancer(d, a["LOAD-BALANCER"])
		if err != nil {
			return nil, err
		}
		to, err := findHolder(l, p, a["TO"])
		if err != nil {
			return nil, err
		}
		if slices.Contains(to.balancers, lb.UUID) {
			return nil, fixes.Refuse("", "%s has load balancer %s", to, lb.Name)
		}
		for _, g := range p.GroupsOf[lb.UUID] {
			if slices.Contains(to.groups, g.UUID) {
				return nil, fixes.Refuse("", "%s has load balancer %s by group %s", to, lb.Name, g.Name)
			}
		}
		if other, vip := to.clash(p, lb); other != nil {
			return nil, fixes.Refuse("delete the one that is left over", "%s has load balancer %s with the same virtual address %s", to, other.Name, vip)
		}
		if to.router != nil && to.router.Options["chassis"] == "" && !slices.ContainsFunc(l.RouterPortsOf[to.id], isGatewayPort) {
			return nil, fixes.Refuse("", "router %s has no gateway: a load balancer has no effect there", to.name)
		}
		classic := fixes.Command("ovn-nbctl add %s %s load_balancer %s", to.table, to.id, lb.UUID)
		switch to.table {
		case "Logical_Switch":
			classic = fixes.Command("ovn-nbctl --may-exist ls-lb-add %s %s", to.name, lb.Name)
		case "Logical_Router":
			classic = fixes.Command("ovn-nbctl --may-exist lr-lb-add %s %s", to.name, lb.Name)
		}
		return attach(z, to, "load_balancer", to.balancers, lb.UUID, "load balancer "+lb.Name, classic,
			fixes.Guard{Table: "Load_Balancer", UUID: lb.UUID, Columns: fixes.Row{"vips": lb.VIPs}}, overwritten("load balancer "+lb.Name, lb.ExternalIDs)), nil
	},
}
