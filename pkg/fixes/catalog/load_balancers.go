package catalog

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

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

func isBackend(vips []snapshot.VIP, a netip.Addr) bool {
	for _, v := range vips {
		for _, b := range v.Backends {
			if b.Addr() == a {
				return true
			}
		}
	}
	return false
}

func backendsOf(vips []snapshot.VIP) []string {
	var out []string
	seen := map[netip.Addr]bool{}
	for _, v := range vips {
		for _, b := range v.Backends {
			if !seen[b.Addr()] {
				seen[b.Addr()] = true
				out = append(out, b.Addr().String())
			}
		}
	}
	return out
}
