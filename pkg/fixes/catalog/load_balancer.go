package catalog

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
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

// attach is the plan that adds a UUID to a column of a holder.
func attach(z *snapshot.Zone, to *holder, column string, before []ovsdb.UUID, id ovsdb.UUID, what, classic string, guard fixes.Guard, warnings []string) *fixes.Plan {
	return &fixes.Plan{
		Title:    fmt.Sprintf("give %s to %s", what, to),
		Touches:  fmt.Sprintf("connections through %s to virtual addresses of %s", to, what),
		Warnings: warnings,
		Steps: []fixes.Step{fixes.Rows{
			DB: "OVN_Northbound", Zone: z.Name, What: fmt.Sprintf("add %s to %s", what, to),
			Changes: []fixes.Change{{
				Table: to.table, UUID: to.id,
				Before: fixes.Row{column: slices.Clone(before)},
				After:  fixes.Row{column: append(slices.Clone(before), id)},
			}},
			Guards:  []fixes.Guard{guard},
			Classic: []string{classic},
		}},
	}
}

// A holder is what load balancers are given to.
type holder struct {
	table, name string
	id          ovsdb.UUID
	balancers   []ovsdb.UUID
	groups      []ovsdb.UUID
	ids         map[string]string
	router      *nb.LogicalRouter
}

func (h *holder) String() string {
	return map[string]string{"Logical_Switch": "switch ", "Logical_Router": "router ", "Load_Balancer_Group": "load balancer group "}[h.table] + h.name
}

// clash is a load balancer that a holder has already, with a virtual address of another.
func (h *holder) clash(p *snapshot.Placement, lb *nb.LoadBalancer) (*nb.LoadBalancer, string) {
	has := slices.Clone(h.balancers)
	for _, g := range h.groups {
		if group := p.Group[g]; group != nil {
			has = append(has, group.LoadBalancer...)
		}
	}
	for _, id := range has {
		other := p.LB[id]
		if other == nil || other.Protocol.Get() != lb.Protocol.Get() {
			continue
		}
		for _, vip := range slices.Sorted(maps.Keys(lb.VIPs)) {
			if backends, ok := other.VIPs[vip]; ok && backends != lb.VIPs[vip] {
				return other, vip
			}
		}
	}
	return nil, ""
}

// findHolder finds a switch, router or group by name.
func findHolder(l *snapshot.Logical, p *snapshot.Placement, name string) (*holder, error) {
	kind, rest, named := strings.Cut(name, ":")
	if named && slices.Contains([]string{"switch", "router", "group"}, kind) {
		name = rest
	} else {
		kind = ""
	}
	var found []*holder
	is := func(want, n string, id ovsdb.UUID) bool {
		return (kind == "" || kind == want) && (n == name || string(id) == name)
	}
	for i := range l.Switches {
		if s := &l.Switches[i]; is("switch", s.Name, s.UUID) {
			found = append(found, &holder{"Logical_Switch", s.Name, s.UUID, s.LoadBalancer, s.LoadBalancerGroup, s.ExternalIDs, nil})
		}
	}
	for i := range l.Routers {
		if r := &l.Routers[i]; is("router", r.Name, r.UUID) {
			found = append(found, &holder{"Logical_Router", r.Name, r.UUID, r.LoadBalancer, r.LoadBalancerGroup, r.ExternalIDs, r})
		}
	}
	for i := range p.Groups {
		if g := &p.Groups[i]; is("group", g.Name, g.UUID) {
			found = append(found, &holder{"Load_Balancer_Group", g.Name, g.UUID, g.LoadBalancer, nil, nil, nil})
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no switch, router or load balancer group %q", name)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%q is more than one: %s and %s; name it switch:NAME, router:NAME or group:NAME, or by its UUID", name, found[0], found[1])
}

func isGatewayPort(rp *nb.LogicalRouterPort) bool {
	return len(rp.GatewayChassis) > 0 || len(rp.HAChassisGroup) > 0 || rp.Options["redirect-chassis"] != ""
}

// findLoadBalancer finds a load balancer by name or UUID.
func findLoadBalancer(d *snapshot.Deployment, name string) (*snapshot.Zone, *snapshot.Logical, *snapshot.Placement, *nb.LoadBalancer, error) {
	var zone *snapshot.Zone
	var logical *snapshot.Logical
	var placement *snapshot.Placement
	var found *nb.LoadBalancer
	err := inZones(d, func(z *snapshot.Zone, l *snapshot.Logical) (bool, error) {
		p, err := z.Placement()
		if err != nil {
			return false, err
		}
		for i := range p.LoadBalancers {
			lb := &p.LoadBalancers[i]
			if lb.Name != name && string(lb.UUID) != name {
				continue
			}
			if found != nil {
				return true, fmt.Errorf("two load balancers are named %q: name one by its UUID, %s or %s", name, found.UUID, lb.UUID)
			}
			zone, logical, placement, found = z, l, p, lb
		}
		return found != nil, nil
	})
	if err == nil && found == nil {
		err = fmt.Errorf("no load balancer %q", name)
	}
	return zone, logical, placement, found, err
}

// SetLoadBalancerProtocol sets what protocol a load balancer's ports are of.
var SetLoadBalancerProtocol = &fixes.Repair{
	Name: "set-load-balancer-protocol",
	Doc: `Set the protocol of a load balancer

Sets Load_Balancer.protocol. Without one OVN takes its ports for TCP.`,
	Params: []fixes.Param{
		{Name: "LOAD-BALANCER", Doc: "its name or UUID"},
		{Name: "PROTOCOL", Doc: "tcp, udp or sctp"},
	},
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "lb-on-wrong-switch",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		z, _, _, lb, err := findLoadBalancer(d, a["LOAD-BALANCER"])
		if err != nil {
			return nil, err
		}
		protocol := a["PROTOCOL"]
		if !slices.Contains([]string{"tcp", "udp", "sctp"}, protocol) {
			return nil, fmt.Errorf("protocol %q: it is tcp, udp or sctp", protocol)
		}
		if lb.Protocol.Get() == protocol {
			return nil, fixes.Refuse("", "the protocol of load balancer %s is %s", lb.Name, protocol)
		}
		return setLoadBalancer(z, lb, "protocol", []string(lb.Protocol), []string{protocol}, protocol, "connections to its virtual addresses"), nil
	},
}

// SetHairpinAddress sets from which address a load balancer sends a backend's own connections back to it.
var SetHairpinAddress = &fixes.Repair{
	Name: "set-hairpin-address",
	Doc: `Set the address from which a load balancer sends a backend its own connections

Sets Load_Balancer.options:hairpin_snat_ip. A backend that calls its own service gets the
packet back from this address; network policies of the cluster admit it.`,
	Params: []fixes.Param{
		{Name: "LOAD-BALANCER", Doc: "its name or UUID"},
		{Name: "ADDRESSES", Doc: "an address, or one of each family with a blank between"},
	},
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "lb-on-wrong-switch",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		z, _, _, lb, err := findLoadBalancer(d, a["LOAD-BALANCER"])
		if err != nil {
			return nil, err
		}
		addresses := a["ADDRESSES"]
		for _, word := range strings.Fields(addresses) {
			if _, err := netip.ParseAddr(word); err != nil {
				return nil, fmt.Errorf("%q is no address", word)
			}
		}
		was, has := lb.Options["hairpin_snat_ip"]
		if was == addresses {
			return nil, fixes.Refuse("", "hairpin_snat_ip of load balancer %s is %q", lb.Name, addresses)
		}
		var before any
		if has {
			before = was
		}
		return setLoadBalancer(z, lb, "options:hairpin_snat_ip", before, addresses, strconv.Quote(addresses), "connections of its backends to themselves"), nil
	},
}

// setLoadBalancer is the plan that sets a column of a load balancer, or a key of one; text is what it becomes, for people and ovn-nbctl.
func setLoadBalancer(z *snapshot.Zone, lb *nb.LoadBalancer, column string, before, after any, text, touches string) *fixes.Plan {
	name := "load balancer " + lb.Name
	return &fixes.Plan{
		Title:    fmt.Sprintf("set %s of %s to %s", column, name, text),
		Touches:  touches,
		Warnings: overwritten(name, lb.ExternalIDs),
		Steps: []fixes.Step{fixes.Rows{
			DB: "OVN_Northbound", Zone: z.Name, What: fmt.Sprintf("set %s to %s", column, text),
			Changes: []fixes.Change{{Table: "Load_Balancer", UUID: lb.UUID, Before: fixes.Row{column: before}, After: fixes.Row{column: after}}},
			Classic: []string{fixes.Command("ovn-nbctl set Load_Balancer %s %s=%s", lb.UUID, column, text)},
		}},
	}
}
