package topology

import (
	"context"
	"slices"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// A Source has the databases of a deployment.
type Source interface {
	// EachZone calls f with each zone's databases; one that could not be read is nil.
	EachZone(f func(name string, north, south ovsdb.Reader))
	// EachNode calls f with the database of each open node.
	EachNode(f func(name, zone string, vswitch ovsdb.Reader))
}

// Load reads and joins a source's databases. A part that fails becomes a note; an error means that nothing could be
// read.
func Load(ctx context.Context, s Source) (*Graph, error) {
	return load(ctx, s, readZone, false)
}

// A zoneReader reads the databases of a zone.
type zoneReader func(ctx context.Context, name string, north, south ovsdb.Reader) (zoneData, []error)

func load(ctx context.Context, s Source, readZone zoneReader, ways bool) (*Graph, error) {
	var zones []zoneData
	var notes []string
	var failed error
	var reads []func() (zoneData, []error)
	s.EachZone(func(name string, north, south ovsdb.Reader) {
		reads = append(reads, func() (zoneData, []error) { return readZone(ctx, name, north, south) })
	})
	all := make([]zoneData, len(reads))
	errs := make([][]error, len(reads))
	var nodes []*physicalNode
	var unread []string
	var err error
	var beside sync.WaitGroup
	beside.Go(func() { nodes, unread, err = readNodes(ctx, s, nil, ways) })
	inParallel(len(reads), readers, func(i int) { all[i], errs[i] = reads[i]() })
	beside.Wait()
	for i, data := range all {
		for _, err := range errs[i] {
			notes, failed = append(notes, err.Error()), err
		}
		if data.nb != nil || data.sb != nil {
			zones = append(zones, data)
		}
	}
	if err != nil {
		failed = err
	}
	if len(zones) == 0 && len(nodes) == 0 && failed != nil {
		return nil, failed
	}
	g := build(zones, nodes, ways)
	g.addNotes(append(notes, unread...))
	g.failed = failed != nil
	return g, nil
}

// WithNodes returns the Graph with the nodes opened since. The zones are not read again.
func (g *Graph) WithNodes(ctx context.Context, s Source) (*Graph, error) {
	nodes, notes, err := readNodes(ctx, s, g.had, g.ways)
	if len(nodes) == len(g.had) {
		return g, err
	}
	more := build(g.read, nodes, g.ways)
	more.addNotes(append(notes, g.loadNotes...))
	more.failed = g.failed || err != nil
	return more, nil
}

// Failed reports whether an open database could not be read; Notes list which.
func (g *Graph) Failed() bool { return g.failed }

func (g *Graph) addNotes(notes []string) {
	g.loadNotes = notes
	g.Notes = append(g.Notes, notes...)
	slices.Sort(g.Notes)
	g.Notes = slices.Compact(g.Notes)
}

// readNodes reads the open nodes that have not been read yet.
func readNodes(ctx context.Context, s Source, have []*physicalNode, ways bool) (nodes []*physicalNode, notes []string, failed error) {
	known := make(map[string]bool, len(have))
	for _, n := range have {
		known[n.name] = true
	}
	var more []*physicalNode
	var databases []ovsdb.Reader
	s.EachNode(func(name, zone string, vswitch ovsdb.Reader) {
		if !known[name] {
			more = append(more, &physicalNode{name: name, zone: zone})
			databases = append(databases, vswitch)
		}
	})
	errs := make([]error, len(more))
	inParallel(len(more), readers, func(i int) { errs[i] = more[i].read(ctx, databases[i], ways) })
	nodes = slices.Clone(have)
	for i, n := range more {
		if errs[i] != nil {
			failed = errs[i]
			notes = append(notes, "node "+n.name+": "+failed.Error())
			continue
		}
		nodes = append(nodes, n)
	}
	return nodes, notes, failed
}
