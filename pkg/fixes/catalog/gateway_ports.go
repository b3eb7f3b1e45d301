package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A GatewayPort is a distributed gateway port with the chassis that may hold it.
type GatewayPort struct {
	Port       *nb.LogicalRouterPort
	Router     *nb.LogicalRouter
	Networks   []string // physical networks behind it
	Candidates []GatewayCandidate
	Neutron    bool // Neutron schedules it
}

// A GatewayCandidate is a chassis that may hold a gateway port.
type GatewayCandidate struct {
	Name     string // as it is written
	Priority int
	Chassis  *sb.Chassis // nil: none has that name
	Meant    *sb.Chassis // the one that was meant instead, if that is certain

	row   ovsdb.UUID
	group ovsdb.UUID // HA_Chassis_Group; empty: it is a Gateway_Chassis of the port
}

// GatewayPorts are a zone's distributed gateway ports.
func GatewayPorts(north *snapshot.Northbound, south *snapshot.Southbound) []GatewayPort {
	l := snapshot.NewLogical(north)
	gcs := map[ovsdb.UUID]nb.GatewayChassis{}
	for _, g := range north.GatewayChassis {
		gcs[g.UUID] = g
	}
	has := map[ovsdb.UUID]nb.HAChassis{}
	for _, c := range north.HAChassis {
		has[c.UUID] = c
	}
	groups := map[ovsdb.UUID]nb.HAChassisGroup{}
	for _, g := range north.HAGroups {
		groups[g.UUID] = g
	}
	chassis := map[string]*sb.Chassis{}
	for i := range south.Chassis {
		chassis[south.Chassis[i].Name] = &south.Chassis[i]
	}
	var out []GatewayPort
	for i := range north.RouterPorts {
		p := &north.RouterPorts[i]
		g := GatewayPort{Port: p, Router: l.RouterOf[p.UUID], Networks: Localnets(l, SwitchAt(l, p.Name))}
		for _, u := range p.GatewayChassis {
			g.Candidates = append(g.Candidates, GatewayCandidate{Name: gcs[u].ChassisName, Priority: gcs[u].Priority, row: u})
		}
		if group, ok := groups[p.HAChassisGroup.Get()]; ok {
			for _, u := range group.HAChassis {
				g.Candidates = append(g.Candidates, GatewayCandidate{Name: has[u].ChassisName, Priority: has[u].Priority, row: u, group: group.UUID})
			}
		}
		if len(g.Candidates) == 0 || g.Router == nil {
			continue
		}
		for j := range g.Candidates {
			c := &g.Candidates[j]
			if c.Chassis = chassis[c.Name]; c.Chassis == nil {
				c.Meant = ChassisMeant(south, c.Name)
			}
		}
		slices.SortFunc(g.Candidates, func(a, b GatewayCandidate) int { return b.Priority - a.Priority })
		g.Neutron = NeutronOwns(g.Router.Name, g.Router.ExternalIDs)
		out = append(out, g)
	}
	return out
}

// Proposal is the chassis that should stand where there is one that does not
// exist: the one that was meant, or the only one that could hold the port.
func (g *GatewayPort) Proposal(south *snapshot.Southbound) *sb.Chassis {
	for _, c := range g.Candidates {
		if c.Chassis != nil {
			continue
		}
		if c.Meant != nil {
			return c.Meant
		}
	}
	if slices.ContainsFunc(g.Candidates, func(c GatewayCandidate) bool { return c.Chassis != nil }) || len(g.Networks) == 0 {
		return nil
	}
	var able []*sb.Chassis
	for i := range south.Chassis {
		if c := &south.Chassis[i]; !snapshot.Elsewhere(c) && !slices.ContainsFunc(g.Networks, func(n string) bool { return !Maps(c, n) }) {
			able = append(able, c)
		}
	}
	if len(able) == 1 {
		return able[0]
	}
	return nil
}

// Text is a candidate as it is written, for evidence.
func (c GatewayCandidate) Text() string {
	return strings.Join([]string{"chassis_name=" + c.Name, "priority=" + strconv.Itoa(c.Priority)}, " ")
}

// Source names a candidate's row.
func (c GatewayCandidate) Source() string {
	if c.group != "" {
		return fmt.Sprintf("Northbound HA_Chassis %.8s", c.row)
	}
	return fmt.Sprintf("Northbound Gateway_Chassis %.8s", c.row)
}
