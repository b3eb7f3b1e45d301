package doctor

import (
	"slices"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// A Scope is the part of a deployment around some objects.
type Scope struct {
	rows  map[ovsdb.UUID]bool // Northbound rows of switches, routers and load balancers
	names map[string]bool     // other logical objects
	asked map[string]bool     // nodes that were named: everything that is said of them, too
	nodes map[string]bool     // that hold or carry something
	all   map[string]bool     // all nodes of the deployment
}

// NewScope returns the part of a topology around the named objects, with the paths of traces between them.
func NewScope(g *topology.Graph, named []topology.Match, traces ...*journey.Trace) *Scope {
	s := &Scope{rows: map[ovsdb.UUID]bool{}, names: map[string]bool{}, asked: map[string]bool{}, nodes: map[string]bool{}, all: map[string]bool{}}
	for _, c := range g.Chassis {
		s.all[c.Hostname], s.all[c.Name] = true, true
	}
	for _, m := range named {
		s.around(g, g.Narrow(m), m)
		if len(traces) == 0 {
			s.outside(g, m)
		}
	}
	for _, t := range traces {
		s.path(t.Forward)
		s.path(t.Reply)
		for _, b := range t.Branches {
			s.path(b.Forward)
			s.path(b.Reply)
		}
	}
	return s
}

// around adds a match's surroundings: its datapaths, its rules, its node. Of a pod's switch only the router ports are
// on its path.
func (s *Scope) around(g *topology.Graph, t topology.Topology, m topology.Match) {
	s.names[m.Name] = true
	if m.Port != nil {
		s.names[m.Port.Name] = true
	}
	for _, sw := range t.Switches {
		s.row(sw.UUID, sw.Name)
		for _, p := range g.PortsOn(sw.UUID) {
			if p.Type == "router" || p.Type == "localnet" || m.Switch == sw && m.Port == nil {
				s.names[p.Name] = true
			}
		}
	}
	for _, r := range t.Routers {
		s.row(r.UUID, r.Name)
		for _, p := range g.PortsOn(r.UUID) {
			s.names[p.Name] = true
		}
	}
	for _, lb := range t.LoadBalancers {
		s.row(lb.UUID, lb.Name)
	}
	for _, pg := range t.PortGroups {
		s.names[pg.Name] = true
	}
	if m.Chassis != nil {
		s.nodes[m.Chassis.Hostname], s.nodes[m.Chassis.Name] = true, true
		if m.Port == nil {
			s.asked[m.Chassis.Hostname], s.asked[m.Chassis.Name] = true, true
		}
		for _, name := range m.Chassis.Ports {
			if m.Port == nil { // a named node: everything it holds
				s.names[name] = true
			}
		}
	}
	if m.Node != nil {
		s.nodes[m.Node.Name] = true
		s.asked[m.Node.Name] = s.asked[m.Node.Name] || m.Port == nil
	}
	delete(s.asked, "")
	delete(s.nodes, "")
	delete(s.names, "")
}

// outside adds the gateway routers on the chassis of a port: its way out.
func (s *Scope) outside(g *topology.Graph, m topology.Match) {
	if m.Port == nil || m.Port.Chassis == "" {
		return
	}
	for _, r := range g.Routers {
		if r.Chassis == m.Port.Chassis {
			s.row(r.UUID, r.Name)
			for _, p := range g.PortsOn(r.UUID) {
				s.names[p.Name] = true
			}
		}
	}
}

// row adds a row whose name others may have. The name stands for it in findings that know no row.
func (s *Scope) row(id, name string) {
	s.rows[ovsdb.UUID(id)], s.names[name] = true, true
}

// path adds what a packet crosses.
func (s *Scope) path(d *journey.Direction) {
	if d == nil {
		return
	}
	for _, h := range d.Hops {
		if h.Node != "" {
			s.nodes[h.Node] = true
		}
		if h.Row == "" {
			continue // of a node's own: a bridge, its host, a tunnel
		}
		s.rows[ovsdb.UUID(h.Row)] = true
		s.names[h.From], s.names[h.To] = true, true
	}
	delete(s.names, "")
}

// Within returns the part of a report that concerns a scope: findings about its objects, its nodes, and the deployment
// as a whole. Findings that explain one in scope are kept, too.
func (r Report) Within(s *Scope) Report {
	out := Report{Findings: []Finding{}, Passed: r.Passed}
	for _, f := range r.Findings {
		if s.concerns(&f) {
			out.Findings = append(out.Findings, f)
		}
	}
	return out
}

// Whole returns the part of a report that concerns a deployment as a whole: all but what a user of the CMS chose.
func (r Report) Whole() Report {
	out := Report{Findings: []Finding{}, Passed: slices.Clone(r.Passed)}
	for _, f := range r.Findings {
		if !f.Chosen {
			out.Findings = append(out.Findings, f)
		}
	}
	for _, f := range r.Findings {
		left := slices.ContainsFunc(out.Findings, func(o Finding) bool { return o.Check == f.Check })
		if f.Chosen && !left && !slices.Contains(out.Passed, f.Check) {
			out.Passed = append(out.Passed, f.Check)
		}
	}
	return out
}

// ofNode are the kinds of objects that belong to a node itself, not to a workload.
var ofNode = []string{"node", "bridge", "interface", "link", "file", "daemon", "chassis", "tunnel", "database", "zone", "route", "sysctl", "address"}

func (s *Scope) concerns(f *Finding) bool {
	for i := range f.Consequences {
		if s.concerns(&f.Consequences[i]) {
			return true
		}
	}
	logical := false
	for _, o := range f.objects() {
		switch {
		case o.Row != "" && s.rows[o.Row], o.Row == "" && o.Kind != "node" && s.names[o.Name], o.Kind == "node" && s.asked[o.Name]:
			return true // a switch often has the name of its node
		}
		logical = logical || o.Name != "" && !slices.Contains(ofNode, o.Kind)
	}
	if logical {
		return false
	}
	nodes := f.Nodes()
	for _, n := range nodes {
		if s.nodes[n] || !s.all[n] { // a host that is no chassis, such as a database host, serves all
			return true
		}
	}
	return len(nodes) == 0
}
