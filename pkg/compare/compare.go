package compare

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// Options select what is compared.
type Options struct {
	Only []Group // none: all
	All  bool    // also compare counters, timestamps and every flow
	Near bool    // only nodes that were already read
	// Namer decodes a node's OpenFlow flows; nil: they are only counted by table.
	Namer func(ctx context.Context, c *cluster.Cluster, n *cluster.Node) (*decode.Namer, error)
}

func (o Options) wants(groups ...Group) bool {
	return len(o.Only) == 0 || slices.ContainsFunc(groups, func(g Group) bool { return slices.Contains(o.Only, g) })
}

// Run compares two states, a being the earlier. It fails only if the context ends.
func Run(ctx context.Context, a, b *cluster.Cluster, o Options) (*Comparison, error) {
	r := &run{a: a, b: b, options: o, result: Comparison{Changes: []Change{}, Flows: []FlowChange{}, NotCompared: []Gap{}}, zones: map[string]*zone{}}
	if o.wants(Nodes, OpenFlow) && !o.Near {
		both(func() { a.Gather(ctx) }, func() { b.Gather(ctx) })
	}
	r.compareZones(ctx)
	if o.wants(Nodes, OpenFlow) {
		r.compareNodes(ctx)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &r.result
	slices.SortStableFunc(c.Changes, compareChanges)
	slices.SortStableFunc(c.Flows, compareFlows)
	slices.SortFunc(c.NotCompared, func(x, y Gap) int { return cmp.Or(topology.CompareNames(x.What, y.What), cmp.Compare(x.Why, y.Why)) })
	c.NotCompared = slices.Compact(c.NotCompared)
	c.Equal = len(c.Changes) == 0 && len(c.Flows) == 0
	return c, nil
}

// A run is one comparison.
type run struct {
	a, b    *cluster.Cluster
	options Options
	result  Comparison
	zones   map[string]*zone
}

// A zone is both sides of a zone; what could not be read on both is nil.
type zone struct {
	name   string
	a, b   *cluster.Zone
	nb, sb *sides

	datapaths map[string]string // names by UUID in A, filled on demand
}

func both(a, b func()) {
	var wait sync.WaitGroup
	wait.Go(a)
	wait.Go(b)
	wait.Wait()
}

func (r *run) gap(what, why string, args ...any) {
	r.result.NotCompared = append(r.result.NotCompared, Gap{What: what, Why: fmt.Sprintf(why, args...)})
}

// gaps records why something on either side was not read.
func (r *run) gaps(what string, errA, errB error) {
	for i, err := range []error{errA, errB} {
		if err != nil {
			line, _, _ := strings.Cut(err.Error(), "\n")
			r.gap(what, "%c: %s", "AB"[i], line)
		}
	}
}

// lacking records the side on which something is missing, and reports whether it is missing at all.
func (r *run) lacking(what string, inA, inB bool, why string) bool {
	for i, has := range []bool{inA, inB} {
		if !has {
			r.gap(what, why, "AB"[i:i+1])
		}
	}
	return !inA || !inB
}

// compareZones compares the databases of the zones that both sides have.
func (r *run) compareZones(ctx context.Context) {
	single := len(r.a.Zones) == 1 && len(r.b.Zones) == 1
	known := map[string]bool{}
	for _, a := range r.a.Zones {
		i := slices.IndexFunc(r.b.Zones, func(b *cluster.Zone) bool { return single || a.Name == b.Name })
		if i < 0 {
			r.gap("zone "+a.Name, "not in B")
			continue
		}
		z := &zone{a: a, b: r.b.Zones[i]}
		known[z.b.Name] = true
		if !single {
			z.name = z.b.Name
		}
		r.zones[z.b.Name] = z
		r.compareZone(ctx, z)
	}
	for _, b := range r.b.Zones {
		if !known[b.Name] {
			r.gap("zone "+b.Name, "not in A")
		}
	}
}

func (r *run) compareZone(ctx context.Context, z *zone) {
	if r.options.wants(Configuration, LogicalFlows, OpenFlow) {
		z.nb = r.database(ctx, z, "OVN_Northbound", z.a.NB, z.b.NB, northbound.Get())
	}
	if r.options.wants(Nodes, Bindings, Learned, Derived, LogicalFlows, OpenFlow) {
		z.sb = r.database(ctx, z, "OVN_Southbound", z.a.SB, z.b.SB, southbound.Get())
	}
	for _, s := range []struct {
		*sides
		database string
	}{{z.nb, "OVN_Northbound"}, {z.sb, "OVN_Southbound"}} {
		if s.sides != nil {
			at := place{zone: z.name, database: s.database, copied: z.nb != nil && z.sb != nil}
			r.result.Changes = append(r.result.Changes, s.changes(at, r.options)...)
		}
	}
	if z.sb != nil && r.options.wants(LogicalFlows) {
		r.compareLogicalFlows(ctx, z)
	}
}

// database reads a database on both sides; nil if it cannot.
func (r *run) database(ctx context.Context, z *zone, what string, a, b ovsdb.Reader, kinds []*kind) *sides {
	if z.name != "" {
		what += " of zone " + z.name
	}
	if a == nil && b == nil {
		r.gap(what, "neither A nor B has it")
		return nil
	}
	if r.lacking(what, a != nil, b != nil, "not in %s") {
		return nil
	}
	s := newSides()
	var errA, errB error
	both(func() { s.a, errA = readRows(ctx, a, kinds) }, func() { s.b, errB = readRows(ctx, b, kinds) })
	if errA != nil || errB != nil {
		r.gaps(what, errA, errB)
		return nil
	}
	r.schemas(what, s)
	return s
}

// schemas reports columns that only one side's schema has.
func (r *run) schemas(what string, s *sides) {
	if n := s.a.unknownTo(s.b); n > 0 {
		r.gap("columns of "+what, "%d that have values in A are not known to B", n)
	}
	if n := s.b.unknownTo(s.a); n > 0 {
		r.gap("columns of "+what, "%d that have values in B are not known to A", n)
	}
}

// unknownTo returns how many columns have values but are unknown to the other side.
func (p *part) unknownTo(other *part) int {
	n := 0
	for _, k := range p.kinds {
		seen := map[string]bool{}
		for _, r := range p.records[k] {
			for column := range r.columns {
				seen[column] = true
			}
		}
		for column := range seen {
			if !slices.Contains(k.quiet, column) && !other.knows(k, column) {
				n++
			}
		}
	}
	return n
}

// compareNodes compares the nodes that both sides have.
func (r *run) compareNodes(ctx context.Context) {
	known := map[*cluster.Node]bool{}
	for _, a := range r.a.Hosts {
		b := sameNode(a, r.b)
		if b == nil {
			r.gap("node "+a.Name, "not in B")
			continue
		}
		known[b] = true
		if r.options.Near && (a.Vswitch() == nil || b.Vswitch() == nil) {
			continue
		}
		if !r.lacking("node "+b.Name, a.Vswitch() != nil, b.Vswitch() != nil, "not read in %s") {
			r.compareNode(ctx, a, b)
		}
	}
	for _, b := range r.b.Hosts {
		if !known[b] {
			r.gap("node "+b.Name, "not in A")
		}
	}
}

// sameNode returns a node's counterpart on the other side; nil if there is none.
func sameNode(n *cluster.Node, c *cluster.Cluster) *cluster.Node {
	if n.SystemID != "" {
		if same := c.Node(n.SystemID); same != nil {
			return same
		}
	}
	return c.Node(n.Name)
}

func (r *run) compareNode(ctx context.Context, a, b *cluster.Node) {
	at := place{node: b.Name, database: "Open_vSwitch"}
	rows := newSides()
	var errA, errB error
	both(func() { rows.a, errA = readRows(ctx, a.Vswitch(), openVswitch.Get()) }, func() { rows.b, errB = readRows(ctx, b.Vswitch(), openVswitch.Get()) })
	if errA != nil || errB != nil {
		r.gaps("Open_vSwitch of node "+b.Name, errA, errB)
		return
	}
	r.schemas("Open_vSwitch of node "+b.Name, rows)
	changes := rows.changes(at, r.options)
	var inA, inB hostState
	both(func() { inA = readHost(ctx, a) }, func() { inB = readHost(ctx, b) })
	if r.options.wants(Nodes) {
		r.gaps("links, addresses and routes of node "+b.Name, inA.why, inB.why)
		for _, daemon := range daemons {
			switch x, y := inA.releases[daemon], inB.releases[daemon]; {
			case x != "" && y == "":
				r.gap(fmt.Sprintf("%s of node %s", daemon, b.Name), "it replies in A but not in B")
			case x == "" && y != "":
				r.gap(fmt.Sprintf("%s of node %s", daemon, b.Name), "it replies in B but not in A")
			}
		}
		facts := newSides()
		facts.a, facts.b = inA.part(inB, r.options), inB.part(inA, r.options)
		changes = append(changes, withoutPorts(facts.changes(place{node: b.Name}, r.options), changes)...)
	}
	r.result.Changes = append(r.result.Changes, changes...)
	if !r.options.wants(OpenFlow) {
		return
	}
	x, y := inA.releases[controller], inB.releases[controller]
	if x != y && x != "" && y != "" && !r.options.All {
		r.gap("flows of node "+b.Name, "made by %s in A and %s in B: nearly all differ (--all compares them)", x, y)
		return
	}
	r.compareOpenFlow(ctx, rows, a, b)
}

// withoutPorts leaves out links that were added or removed with a bridge port.
func withoutPorts(changes, ports []Change) []Change {
	type coming struct {
		name string
		sign Sign
	}
	said := map[coming]bool{}
	for _, c := range ports {
		if c.Kind == bridgePort {
			said[coming{c.Name, c.Change}] = true
		}
	}
	return slices.DeleteFunc(changes, func(c Change) bool { return c.Kind == linkKind.name && said[coming{c.Name, c.Change}] })
}

// compareChanges orders by importance: the group, then the node, then the order of the kinds.
func compareChanges(x, y Change) int {
	return cmp.Or(
		cmp.Compare(slices.Index(Groups, x.Group), slices.Index(Groups, y.Group)),
		topology.CompareNames(x.Zone, y.Zone),
		topology.CompareNames(x.Node, y.Node),
		cmp.Compare(rank.Get()[x.Database+x.Kind], rank.Get()[y.Database+y.Kind]),
		topology.CompareNames(x.Name, y.Name),
		topology.CompareNames(x.On, y.On),
		cmp.Compare(x.Change, y.Change),
		cmp.Compare(x.UUIDA+x.UUIDB, y.UUIDA+y.UUIDB))
}

// rank is a kind's place, with kinds of a node's database before the node's others.
var rank = lazy.Value[map[string]int]{Make: func() map[string]int {
	ranks := map[string]int{}
	for _, source := range []struct {
		database string
		kinds    []*kind
	}{{"OVN_Southbound", southbound.Get()}, {"OVN_Northbound", northbound.Get()}, {"Open_vSwitch", openVswitch.Get()}, {"", host}} {
		for _, k := range source.kinds {
			ranks[source.database+k.name] = len(ranks)
		}
	}
	return ranks
}}
