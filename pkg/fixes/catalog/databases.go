package catalog

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// databaseParam is the parameter of repairs that change a database.
var databaseParam = fixes.Param{Name: "DATABASE", Doc: "OVN_Northbound or OVN_Southbound (nb, sb)"}

// databaseNamed returns the database that an argument names.
func databaseNamed(arg string) (string, error) {
	switch strings.ToLower(arg) {
	case "ovn_northbound", "nb", "northbound":
		return "OVN_Northbound", nil
	case "ovn_southbound", "sb", "southbound":
		return "OVN_Southbound", nil
	}
	return "", fmt.Errorf("no database %q; there are OVN_Northbound (nb) and OVN_Southbound (sb)", arg)
}

// localServer returns this host's server of a database.
func localServer(d *snapshot.Deployment, database string) (*snapshot.Host, *snapshot.Server, error) {
	h := d.Local()
	if h == nil {
		return nil, nil, fixes.Refuse("run it on the host of the database", "this is not a host of %s", database)
	}
	s, err := h.Server(database)
	if err != nil {
		return nil, nil, err
	}
	if s == nil {
		return nil, nil, fixes.Refuse("run it on the host of the database", "%s has no server of %s", h.Name, database)
	}
	if s.Liveness != snapshot.Answers {
		return nil, nil, fixes.Refuse("", "the server of %s on %s %s", database, h.Name, s.Liveness)
	}
	return h, s, nil
}

// onServer plans for this host's server of the database in DATABASE.
func onServer(plan func(*snapshot.Host, *snapshot.Server, fixes.Args) (*fixes.Plan, error)) planner {
	return func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		database, err := databaseNamed(a["DATABASE"])
		if err != nil {
			return nil, err
		}
		h, s, err := localServer(d, database)
		if err != nil {
			return nil, err
		}
		return plan(h, s, a)
	}
}

// onConnections plans for the Connection rows of the database in DATABASE.
func onConnections(plan func(*snapshot.Zone, string, []snapshot.Connection, fixes.Args) (*fixes.Plan, error)) planner {
	return func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		database, err := databaseNamed(a["DATABASE"])
		if err != nil {
			return nil, err
		}
		z, _, err := zoneOf(d, database)
		if err != nil {
			return nil, err
		}
		rows, err := z.Connections(database)
		if err != nil {
			return nil, err
		}
		return plan(z, database, rows, a)
	}
}

// onLeader plans for this host's member of the database in DATABASE, which must lead its cluster.
func onLeader(repair string, plan func(*snapshot.Host, *snapshot.Server, *snapshot.Member, fixes.Args) (*fixes.Plan, error)) planner {
	return onServer(func(h *snapshot.Host, s *snapshot.Server, a fixes.Args) (*fixes.Plan, error) {
		m, err := h.Member(s.Database)
		if err != nil {
			return nil, fmt.Errorf("%s on %s: %w", s.Database, h.Name, err)
		}
		if err := leading(m, repair); err != nil {
			return nil, err
		}
		return plan(h, s, m, a)
	})
}

// leading refuses unless a member leads its cluster.
func leading(m *snapshot.Member, repair string) error {
	if m.Leads() {
		return nil
	}
	for _, p := range m.Peers {
		if p.ID == m.Leader {
			return fixes.Refuse(fixes.Command("run it on the leader's host, %s: ovnctl fix %s …", p.Address, repair), "this host's member of %s is not the leader", m.Database)
		}
	}
	return fixes.Refuse("bring the cluster's other members up first", "%s has no leader", m.Database)
}

// zoneOf returns the zone whose database a repair of this host means, and that database. Each zone has a database of that
// name: with several of them it is the one of this host, also if that cannot be read.
func zoneOf(d *snapshot.Deployment, database string) (*snapshot.Zone, ovsdb.Reader, error) {
	if len(d.Zones) == 0 {
		return nil, nil, fmt.Errorf("no %s was read", database)
	}
	z, h := d.Zones[0], d.Local()
	if len(d.Zones) > 1 {
		if h == nil || h.Zone() == nil {
			return nil, nil, fixes.Refuse("run it on a node of the zone", "there are %d zones, each with its own %s, and this host is a node of none that was read", len(d.Zones), database)
		}
		z = h.Zone()
	}
	open := z.SB
	if database == "OVN_Northbound" {
		open = z.NB
	}
	db, err := open()
	return z, db, err
}

// globalTable returns the table with the one row about the database itself.
func globalTable(database string) string {
	if database == "OVN_Northbound" {
		return "NB_Global"
	}
	return "SB_Global"
}

// databaseTool returns the classic command for a database.
func databaseTool(database string) string {
	if database == "OVN_Northbound" {
		return "ovn-nbctl"
	}
	return "ovn-sbctl"
}
