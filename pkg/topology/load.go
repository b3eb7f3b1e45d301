package topology

import (
	"context"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// Load reads and joins what the cluster offers: its zones, and the nodes that
// have been opened ([cluster.Cluster.Gather] opens the others). A part that
// fails becomes a note; the error is for when nothing could be read.
func Load(ctx context.Context, c *cluster.Cluster) (*Graph, error) {
	return load(ctx, c, readZone)
}

// A zoneReader reads the databases of a zone.
type zoneReader func(ctx context.Context, name string, north, south ovsdb.Reader) (zoneData, []error)

func load(ctx context.Context, c *cluster.Cluster, readZone zoneReader) (*Graph, error) {
	var zones []zoneData
	var notes []string
	var failed error
	all := make([]zoneData, len(c.Zones))
	errs := make([][]error, len(c.Zones))
	inParallel(len(c.Zones), func(i int) {
		z := c.Zones[i]
		all[i], errs[i] = readZone(ctx, z.Name, z.NB, z.SB)
	})
	for i, data := range all {
		for _, err := range errs[i] {
			notes, failed = append(notes, err.Error()), err
		}
		if data.nb != nil || data.sb != nil {
			zones = append(zones, data)
		}
	}
	nodes, unread, err := readNodes(ctx, c, nil)
	if err != nil {
		failed = err
	}
	if len(zones) == 0 && len(nodes) == 0 && failed != nil {
		return nil, failed
	}
	g := build(zones, nodes)
	g.addNotes(append(notes, unread...))
	g.failed = failed != nil
	return g, nil
}

// WithNodes returns the Graph with the nodes that have been opened since. The
// zones are not read again.
func (g *Graph) WithNodes(ctx context.Context, c *cluster.Cluster) (*Graph, error) {
	nodes, notes, err := readNodes(ctx, c, g.had)
	if len(nodes) == len(g.had) {
		return g, err
	}
	more := build(g.read, nodes)
	more.addNotes(append(notes, g.loadNotes...))
	more.failed = g.failed || err != nil
	return more, nil
}

// Failed reports whether a database that is open could not be read: Notes say
// which.
func (g *Graph) Failed() bool { return g.failed }

func (g *Graph) addNotes(notes []string) {
	g.loadNotes = notes
	g.Notes = append(g.Notes, notes...)
	slices.Sort(g.Notes)
	g.Notes = slices.Compact(g.Notes)
}

// readNodes reads the nodes that are open and not among those that were read.
func readNodes(ctx context.Context, c *cluster.Cluster, have []nodeData) (nodes []nodeData, notes []string, failed error) {
	var more []*cluster.Node
	for _, h := range c.Hosts {
		known := slices.ContainsFunc(have, func(n nodeData) bool { return n.name == h.Name })
		if h.Vswitch != nil && !known {
			more = append(more, h)
		}
	}
	tables := make([]*vsTables, len(more))
	errs := make([]error, len(more))
	inParallel(len(more), func(i int) {
		tables[i], errs[i] = read[vsTables](ctx, more[i].Vswitch)
	})
	nodes = slices.Clone(have)
	for i, h := range more {
		if errs[i] != nil {
			failed = errs[i]
			notes = append(notes, "node "+h.Name+": "+failed.Error())
			continue
		}
		nodes = append(nodes, nodeData{name: h.Name, zone: h.Zone, vs: tables[i]})
	}
	return nodes, notes, failed
}
