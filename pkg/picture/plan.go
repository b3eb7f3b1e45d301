package picture

import (
	"slices"

	"github.com/ovnctl/ovnctl/pkg/topology"
)

// A Plan is a map in words, for what cannot show a picture.
type Plan struct {
	Troubles []string
	Shared   []Box // logical routers and switches that are on no single chassis
	Columns  []Column
	Tunnels  []Tunnel
}

// A Column is a chassis, or a host without one.
type Column struct {
	Name, Note string
	Broken     bool
	Logical    []Box
	Bridges    []Box
	Uplinks    []Item // "br-ex eth0"; a broken one says what it lacks
}

// A Box is a logical router or switch, the part of a switch on a chassis, or a bridge.
type Box struct {
	Router, Bridge bool
	Name, Note     string
	Items          []Item
	Links          []string // the names of the boxes that it is joined to
}

// An Item is a workload or an uplink.
type Item struct {
	Name, Note string
	Mark       Mark
}

// A Mark is a state that has a shape.
type Mark int

// Marks.
const (
	NoMark Mark = iota
	Up
	Doubtful
	Degraded
	Broken
)

// A Tunnel joins two columns.
type Tunnel struct {
	A, B, Type string
	Mark       Mark
}

// NewPlan returns the map of a deployment in words.
func NewPlan(t *topology.Topology) *Plan {
	s := stage(t)
	links := map[*card][]string{}
	for _, l := range s.links {
		links[l.a] = append(links[l.a], l.b.name)
		links[l.b] = append(links[l.b], l.a.name)
	}
	boxes := func(cards []*card) (all []Box) {
		for _, c := range cards {
			b := Box{Router: c.kind == routerCard, Bridge: c.kind == bridgeCard, Name: c.name, Note: c.note}
			for _, r := range c.rows {
				b.Items = append(b.Items, Item{r.name, r.note, Mark(r.state)})
			}
			b.Links = links[c]
			slices.SortFunc(b.Links, topology.CompareNames)
			b.Links = slices.DeleteFunc(slices.Compact(b.Links), func(n string) bool { return n == c.name }) // parts of a switch
			all = append(all, b)
		}
		return all
	}
	p := &Plan{Troubles: s.troubles, Shared: boxes(s.shared)}
	for _, c := range s.columns {
		col := Column{Name: c.name, Note: c.note, Broken: c.state == bad, Logical: boxes(c.cards), Bridges: boxes(c.bridges)}
		for _, u := range c.uplinks {
			col.Uplinks = append(col.Uplinks, Item{u.bridge.name + " " + u.name, u.note, Mark(u.state)})
		}
		p.Columns = append(p.Columns, col)
	}
	for _, w := range s.tunnels {
		p.Tunnels = append(p.Tunnels, Tunnel{w.a.name, w.b.name, w.label, Mark(w.state)})
	}
	return p
}
