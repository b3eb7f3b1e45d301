package facts

import (
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A GatewayPort is a distributed gateway port with its gateway chassis.
type GatewayPort struct {
	Port       *nb.LogicalRouterPort
	Router     *nb.LogicalRouter
	Networks   []string // physical networks behind it
	Candidates []GatewayCandidate
	Neutron    bool // Neutron schedules it
}

// A GatewayCandidate is a gateway chassis of a port: a row of Gateway_Chassis or HA_Chassis.
type GatewayCandidate struct {
	Name     string // chassis_name
	Priority int
	Chassis  *sb.Chassis // nil: none has that name
	Meant    *sb.Chassis // the one that was meant instead, if that is certain
	Row      ovsdb.Row
	UUID     ovsdb.UUID // of Row
	Group    ovsdb.UUID // HA_Chassis_Group of an HA_Chassis
}

// GatewayPorts are a zone's distributed gateway ports.
func GatewayPorts(north *snapshot.Northbound, south *snapshot.Southbound) []GatewayPort {
	l := NewLogical(north)
	gcs := map[ovsdb.UUID]*nb.GatewayChassis{}
	for i, g := range north.GatewayChassis {
		gcs[g.UUID] = &north.GatewayChassis[i]
	}
	has := map[ovsdb.UUID]*nb.HAChassis{}
	for i, c := range north.HAChassis {
		has[c.UUID] = &north.HAChassis[i]
	}
	groups := map[ovsdb.UUID]nb.HAChassisGroup{}
	for _, g := range north.HAGroups {
		groups[g.UUID] = g
	}
	var out []GatewayPort
	for i := range north.RouterPorts {
		p := &north.RouterPorts[i]
		g := GatewayPort{Port: p, Router: l.RouterOf[p.UUID], Networks: l.Localnets(l.SwitchAt(p.Name))}
		for _, u := range p.GatewayChassis {
			if c := gcs[u]; c != nil {
				g.Candidates = append(g.Candidates, GatewayCandidate{Name: c.ChassisName, Priority: c.Priority, Row: c, UUID: u})
			}
		}
		group := groups[p.HAChassisGroup.Get()]
		for _, u := range group.HAChassis {
			if c := has[u]; c != nil {
				g.Candidates = append(g.Candidates, GatewayCandidate{Name: c.ChassisName, Priority: c.Priority, Row: c, UUID: u, Group: group.UUID})
			}
		}
		if len(g.Candidates) == 0 || g.Router == nil {
			continue
		}
		for j := range g.Candidates {
			c := &g.Candidates[j]
			if c.Chassis = south.ChassisNamed(c.Name); c.Chassis == nil {
				c.Meant = ChassisMeant(south, c.Name)
			}
		}
		slices.SortFunc(g.Candidates, func(a, b GatewayCandidate) int { return b.Priority - a.Priority })
		g.Neutron = decode.NeutronOwns(g.Router.Name, g.Router.ExternalIDs)
		out = append(out, g)
	}
	return out
}

// Proposal is the chassis that should replace one that does not exist: the one that was
// meant, or the only one that could hold the port.
func (g *GatewayPort) Proposal(south *snapshot.Southbound) *sb.Chassis {
	for _, c := range g.Candidates {
		if c.Chassis == nil && c.Meant != nil {
			return c.Meant
		}
	}
	if slices.ContainsFunc(g.Candidates, func(c GatewayCandidate) bool { return c.Chassis != nil }) || len(g.Networks) == 0 {
		return nil
	}
	var able []*sb.Chassis
	for c := range south.OwnChassis() {
		if !slices.ContainsFunc(g.Networks, func(n string) bool { return !Maps(c, n) }) {
			able = append(able, c)
		}
	}
	if len(able) == 1 {
		return able[0]
	}
	return nil
}

// Text shows a candidate's columns, as evidence.
func (c GatewayCandidate) Text() string {
	return fmt.Sprintf("chassis_name=%s priority=%d", c.Name, c.Priority)
}
