package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
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

// GatewayChassisOf names a chassis that exists for a gateway port.
var GatewayChassisOf = &fixes.Repair{
	Name: "gateway-chassis",
	Doc: `Name a chassis that exists for a distributed gateway port

Replaces the chassis that does not exist among those that may hold the port by
the one whose hostname was written there, or by CHASSIS, with the same priority.
If that one is among them already, the wrong one is taken out. Of a port that
Neutron schedules it stays away.`,
	Params: []fixes.Param{
		{Name: "PORT", Doc: "the router port"},
		{Name: "CHASSIS", Doc: "the chassis, by system-id or hostname", Optional: true},
	},
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "dgp-chassis-not-bound",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		var names []string
		for _, z := range d.Zones {
			north, err := z.Northbound()
			if err != nil {
				return nil, err
			}
			south, err := z.Southbound()
			if err != nil {
				return nil, err
			}
			for _, g := range GatewayPorts(north, south) {
				names = append(names, g.Port.Name)
				if g.Port.Name == a["PORT"] {
					return g.plan(d, z, south, a["CHASSIS"])
				}
			}
		}
		return nil, fmt.Errorf("no distributed gateway port %q; there are %s", a["PORT"], several(names))
	},
}

func (g *GatewayPort) plan(d *snapshot.Deployment, z *snapshot.Zone, south *snapshot.Southbound, wanted string) (*fixes.Plan, error) {
	i := slices.IndexFunc(g.Candidates, func(c GatewayCandidate) bool { return c.Chassis == nil })
	switch {
	case g.Neutron:
		return nil, fixes.Refuse("let Neutron schedule it: `openstack network agent list --agent-type ovn-controller-gateway` shows which it knows",
			"port %s is scheduled by Neutron, which does not know rows that others write", g.Port.Name)
	case i < 0:
		return nil, fixes.Refuse("", "all chassis of port %s exist", g.Port.Name)
	}
	wrong := g.Candidates[i]
	c, err := chosenChassis(south, wanted, g.Proposal(south))
	if err != nil {
		return nil, err
	}
	table, in := "Gateway_Chassis", fixes.Ref{Table: "Logical_Router_Port", UUID: g.Port.UUID, Column: "gateway_chassis"}
	if wrong.group != "" {
		table, in = "HA_Chassis", fixes.Ref{Table: "HA_Chassis_Group", UUID: wrong.group, Column: "ha_chassis"}
	}
	step := fixes.Rows{DB: "OVN_Northbound", Zone: z.Name, What: fmt.Sprintf("let chassis %s (%s) hold port %s instead of %s", c.Name, c.Hostname, g.Port.Name, wrong.Name)}
	there := slices.ContainsFunc(g.Candidates, func(o GatewayCandidate) bool { return o.Name == c.Name })
	switch {
	case there:
		step.What = fmt.Sprintf("take chassis %s from those that may hold port %s", wrong.Name, g.Port.Name)
		db, err := z.NB()
		if err != nil {
			return nil, err
		}
		gone, err := fixes.DeleteRow(d.Context(), db, table, wrong.row, in)
		if err != nil {
			return nil, err
		}
		step.Changes = []fixes.Change{gone}
		step.Classic = []string{fixes.Command("ovn-nbctl lrp-del-gateway-chassis %s %s", g.Port.Name, wrong.Name)}
	case wrong.group != "":
		step.Changes = []fixes.Change{{Table: table, UUID: wrong.row, Before: fixes.Row{"chassis_name": wrong.Name}, After: fixes.Row{"chassis_name": c.Name}}}
		step.Classic = []string{fixes.Command("ovn-nbctl set HA_Chassis %s chassis_name=%s", wrong.row, c.Name)}
	default:
		before := fixes.Row{"chassis_name": wrong.Name}
		after := fixes.Row{"chassis_name": c.Name}
		if name := g.Port.Name + "-" + wrong.Name; g.rowName(z, wrong) == name {
			before["name"], after["name"] = name, g.Port.Name+"-"+c.Name
		} else if name := g.Port.Name + "_" + wrong.Name; g.rowName(z, wrong) == name {
			before["name"], after["name"] = name, g.Port.Name+"_"+c.Name
		}
		step.Changes = []fixes.Change{{Table: table, UUID: wrong.row, Before: before, After: after}}
		step.Classic = []string{fixes.Command("ovn-nbctl lrp-del-gateway-chassis %s %s -- lrp-set-gateway-chassis %s %s %d", g.Port.Name, wrong.Name, g.Port.Name, c.Name, wrong.Priority)}
	}
	return &fixes.Plan{Title: step.What, Touches: "all traffic through gateway port " + g.Port.Name, Steps: []fixes.Step{step}}, nil
}

// rowName is the name of a candidate's row.
func (g *GatewayPort) rowName(z *snapshot.Zone, c GatewayCandidate) string {
	if rows, err := z.Northbound(); err == nil {
		for _, r := range rows.GatewayChassis {
			if r.UUID == c.row {
				return r.Name
			}
		}
	}
	return ""
}

// Text is a candidate as it is written, for evidence.
func (c GatewayCandidate) Text() string {
	return strings.Join([]string{"chassis_name=" + c.Name, "priority=" + strconv.Itoa(c.Priority)}, " ")
}

// Row is the candidate's row in the Northbound.
func (c GatewayCandidate) Row() (table string, id ovsdb.UUID) {
	if c.group != "" {
		return "HA_Chassis", c.row
	}
	return "Gateway_Chassis", c.row
}
