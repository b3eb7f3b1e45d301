package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// attach returns the plan that adds a load balancer, or a group, to a holder.
func attach(z *snapshot.Zone, to *holder, column string, columns fixes.Row, name, classic string, guard fixes.Guard, warnings []string) *fixes.Plan {
	what := strings.ReplaceAll(column, "_", " ") + " " + name
	return &fixes.Plan{
		Title:    fmt.Sprintf("attach %s to %s", what, to),
		Touches:  fmt.Sprintf("connections through %s to virtual IPs of %s", to, what),
		Warnings: warnings,
		Steps: []fixes.Step{fixes.Set{
			DB: "OVN_Northbound", Zone: z.Name, What: fmt.Sprintf("add %s to %s", what, to),
			Row: to.row, Columns: columns, Guards: []fixes.Guard{guard}, Classic: []string{classic},
		}.Step()},
	}
}

// A holder is what load balancers are attached to.
type holder struct {
	table, name string
	id          ovsdb.UUID
	balancers   []ovsdb.UUID
	groups      []ovsdb.UUID
	ids         map[string]string
	router      *nb.LogicalRouter // nil if not a router
	row         ovsdb.Row
}

func (h *holder) String() string {
	return map[string]string{"Logical_Switch": "switch ", "Logical_Router": "router ", "Load_Balancer_Group": "load balancer group "}[h.table] + h.name
}

// conflict returns a load balancer of the holder that shares a virtual IP with another one.
func (h *holder) conflict(p *facts.Placement, lb *nb.LoadBalancer) (*nb.LoadBalancer, string) {
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

// findHolder finds a switch, router or group by name or UUID.
func findHolder(l *facts.Logical, p *facts.Placement, name string) (*holder, error) {
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
			found = append(found, &holder{s.Table(), s.Name, s.UUID, s.LoadBalancer, s.LoadBalancerGroup, s.ExternalIDs, nil, s})
		}
	}
	for i := range l.Routers {
		if r := &l.Routers[i]; is("router", r.Name, r.UUID) {
			found = append(found, &holder{r.Table(), r.Name, r.UUID, r.LoadBalancer, r.LoadBalancerGroup, r.ExternalIDs, r, r})
		}
	}
	for i := range p.Groups {
		if g := &p.Groups[i]; is("group", g.Name, g.UUID) {
			found = append(found, &holder{g.Table(), g.Name, g.UUID, g.LoadBalancer, nil, nil, nil, g})
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no switch, router or load balancer group %q", name)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%q is ambiguous: %s and %s; name it switch:NAME, router:NAME or group:NAME, or by its UUID", name, found[0], found[1])
}

func isGatewayPort(rp *nb.LogicalRouterPort) bool {
	return len(rp.GatewayChassis) > 0 || len(rp.HAChassisGroup) > 0 || rp.Options["redirect-chassis"] != ""
}

// setLoadBalancer returns the plan that sets a column of a load balancer, or a key of one; text is the value for people
// and ovn-nbctl.
func setLoadBalancer(f found[nb.LoadBalancer], column string, value any, text, touches string) *fixes.Plan {
	name := "load balancer " + f.row.Name
	return &fixes.Plan{
		Title:    fmt.Sprintf("set %s of %s to %s", column, name, text),
		Touches:  touches,
		Warnings: overwritten(name, f.row.ExternalIDs),
		Steps: []fixes.Step{fixes.Set{
			DB: "OVN_Northbound", Zone: f.zone.Name, What: fmt.Sprintf("set %s to %s", column, text),
			Row: f.row, Columns: fixes.Row{column: value},
			Classic: []string{fixes.Command("ovn-nbctl set Load_Balancer %s %s=%s", f.row.UUID, column, text)},
		}.Step()},
	}
}
