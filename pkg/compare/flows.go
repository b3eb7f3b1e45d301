package compare

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/pattern"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// listed is how many flows of a group are listed.
const listed = 20

// flowGroups collects flows by what they were made for.
type flowGroups struct {
	of     map[string]*FlowChange
	order  []string
	all    bool
	common FlowChange // what the groups have in common
}

// A purpose is what a flow was made for.
type purpose struct {
	id    string
	name  string
	owner string // of a row
}

// add counts a flow made for something.
func (g *flowGroups) add(p purpose, f ChangedFlow) {
	if g.of == nil {
		g.of = map[string]*FlowChange{}
	}
	c := g.of[p.id]
	if c == nil {
		copied := g.common
		c = &copied
		c.For, c.Owner, c.Stages, c.Flows = p.name, p.owner, []string{}, []ChangedFlow{}
		g.of[p.id] = c
		g.order = append(g.order, p.id)
	}
	switch f.Change {
	case Added:
		c.Added++
	case Removed:
		c.Removed++
	default:
		c.Changed++
	}
	if !slices.Contains(c.Stages, f.Stage) {
		c.Stages = append(c.Stages, f.Stage)
	}
	if g.all || len(c.Flows) < listed {
		c.Flows = append(c.Flows, f)
	}
}

func (g *flowGroups) changes() []FlowChange {
	var out []FlowChange
	for _, id := range g.order {
		out = append(out, *g.of[id])
	}
	return out
}

// compareFlows sorts logical flows before those of nodes.
func compareFlows(x, y FlowChange) int {
	return cmp.Or(
		topology.CompareNames(x.Zone, y.Zone),
		topology.CompareNames(x.Node, y.Node),
		topology.CompareNames(x.Bridge, y.Bridge),
		topology.CompareNames(x.For, y.For))
}

// cause returns what a flow was made for: the row as named in the changes, which matches both sides, else the decoder's
// words.
func (z *zone) cause(objects []decode.Object, inB bool) purpose {
	if len(objects) == 0 {
		return purpose{}
	}
	o := objects[0]
	for _, s := range []*sides{z.nb, z.sb} {
		if s == nil {
			continue
		}
		p, uuid, key := s.a, o.UUID, string(o.UUID)
		if counterpart := s.counterpart[o.UUID]; !inB && counterpart != "" {
			p, uuid = s.b, counterpart // its current name
		} else if inB {
			p, key = s.b, s.canonical(key, true)
		}
		if r := p.rows[uuid]; r != nil {
			name := r.kind.name + " " + p.title(r, 0)
			if on := p.holderText(r, 0); on != "" {
				name += " on " + on
			}
			return purpose{key, name, ownerOf(r)}
		}
	}
	return purpose{id: o.Text, name: o.Text}
}

// A bridgeFlow is a flow of a bridge for comparison: without counters and cookie, and without the numbers that
// ovn-controller assigns to conjunctions and groups.
type bridgeFlow struct {
	actions string // what is compared
	shown   string
	match   string
	entry   openflow.FlowEntry
}

type flowKey struct {
	table, priority int
	match           string
}

var (
	conjunction = pattern.New(`conj_id=\d+`)
	clause      = pattern.New(`conjunction\(\d+,`)
	group       = pattern.New(`\bgroup:(\d+)`)
)

// bridgeFlows parses the flows of a dump: all flows, and those to compare.
func bridgeFlows(dump, groups string, o Options) ([]openflow.FlowEntry, map[flowKey][]bridgeFlow, error) {
	buckets := map[string]string{}
	for line := range strings.Lines(groups) {
		if g, err := openflow.ParseGroupEntry(strings.TrimSpace(line)); err == nil {
			id := fmt.Sprint(g.ID)
			g.ID = 0
			buckets[id] = g.String()
		}
	}
	var all []openflow.FlowEntry
	flows := map[flowKey][]bridgeFlow{}
	var r openflow.Reader
	for line := range strings.Lines(dump) {
		if !strings.Contains(line, "actions=") {
			continue
		}
		e, err := r.FlowEntry(strings.TrimRight(line, "\r\n"))
		if err != nil {
			return nil, nil, err
		}
		all = append(all, e)
		if !o.All && (e.IdleTimeout != 0 || e.HardTimeout != 0) { // learned from a packet
			continue
		}
		f := bridgeFlow{match: e.Match.String(), shown: e.Actions.String(), entry: e}
		f.actions = clause.Get().ReplaceAllString(f.shown, "conjunction(")
		f.actions = group.Get().ReplaceAllStringFunc(f.actions, func(text string) string {
			if b, ok := buckets[text[len("group:"):]]; ok {
				return "group:" + b
			}
			return text
		})
		key := flowKey{max(e.Table.Number, 0), e.Priority, conjunction.Get().ReplaceAllString(f.match, "conj_id")}
		flows[key] = append(flows[key], f)
	}
	return all, flows, nil
}

// A difference is a flow of A, one of B, or both.
type difference struct {
	key  flowKey
	a, b *bridgeFlow
}

// differing returns the flows that are not the same.
func differing(a, b map[flowKey][]bridgeFlow) []difference {
	var out []difference
	for key, inA := range a {
		onlyA, onlyB := unlike(inA, b[key])
		for i := range max(len(onlyA), len(onlyB)) {
			d := difference{key: key}
			if i < len(onlyA) {
				d.a = &onlyA[i]
			}
			if i < len(onlyB) {
				d.b = &onlyB[i]
			}
			out = append(out, d)
		}
	}
	for key, inB := range b {
		if _, known := a[key]; !known {
			for i := range inB {
				out = append(out, difference{key: key, b: &inB[i]})
			}
		}
	}
	slices.SortFunc(out, func(x, y difference) int {
		return cmp.Or(cmp.Compare(x.key.table, y.key.table), cmp.Compare(y.key.priority, x.key.priority), cmp.Compare(x.key.match, y.key.match))
	})
	return out
}

// unlike removes the flows that both have.
func unlike(a, b []bridgeFlow) (onlyA, onlyB []bridgeFlow) {
	onlyB = slices.Clone(b)
	for _, f := range a {
		i := slices.IndexFunc(onlyB, func(g bridgeFlow) bool { return g.actions == f.actions })
		if i < 0 {
			onlyA = append(onlyA, f)
			continue
		}
		onlyB = slices.Delete(onlyB, i, i+1)
	}
	return onlyA, onlyB
}

// compareOpenFlow compares the flows of bridges that a node has on both sides.
func (r *run) compareOpenFlow(ctx context.Context, rows *sides, a, b *cluster.Node) {
	names := map[string]bool{}
	for _, bridge := range rows.a.records[bridgeKind] {
		names[rows.a.title(bridge, 0)] = true
	}
	for _, bridge := range rows.b.records[bridgeKind] {
		if name := rows.b.title(bridge, 0); names[name] {
			r.compareBridge(ctx, a, b, name)
		}
	}
}

// A dump is a bridge's flows on one side.
type dump struct {
	cluster *cluster.Cluster
	node    *cluster.Node
	entries []openflow.FlowEntry
	flows   map[flowKey][]bridgeFlow
	err     error
}

func (d *dump) read(ctx context.Context, bridge string, o Options) {
	text, err := d.node.Host.Dump(ctx, bridge, node.Flows)
	if err != nil {
		d.err = err
		return
	}
	groups, err := d.node.Host.Dump(ctx, bridge, node.Groups)
	if err != nil { // then compare by number
		groups = ""
	}
	d.entries, d.flows, d.err = bridgeFlows(text, groups, o)
}

func (r *run) compareBridge(ctx context.Context, a, b *cluster.Node, bridge string) {
	inA, inB := &dump{cluster: r.a, node: a}, &dump{cluster: r.b, node: b}
	both(func() { inA.read(ctx, bridge, r.options) }, func() { inB.read(ctx, bridge, r.options) })
	if inA.err != nil || inB.err != nil {
		r.gaps(fmt.Sprintf("flows of bridge %s of node %s", bridge, b.Name), inA.err, inB.err)
		return
	}
	found := differing(inA.flows, inB.flows)
	if len(found) == 0 {
		return
	}
	namerA, namerB := r.namer(ctx, inA), r.namer(ctx, inB)
	z := r.zones[b.Zone]
	if z == nil {
		z = &zone{}
	}
	groups := flowGroups{all: r.options.All, common: FlowChange{Node: b.Name, Bridge: bridge}}
	for _, d := range found {
		f := ChangedFlow{Change: Changed, Table: d.key.table, Priority: d.key.priority}
		var p purpose
		if d.a != nil {
			f.Match, f.A = d.a.match, d.a.shown
			f.Stage, p = meaning(ctx, namerA, bridge, d.a, z, false)
		}
		if d.b != nil {
			f.Match, f.B = d.b.match, d.b.shown
			f.Stage, p = meaning(ctx, namerB, bridge, d.b, z, true)
		}
		switch {
		case d.a == nil:
			f.Change = Added
		case d.b == nil:
			f.Change = Removed
		}
		if f.Stage == "" {
			f.Stage = fmt.Sprintf("table %d", d.key.table)
		}
		groups.add(p, f)
	}
	r.result.Flows = append(r.result.Flows, groups.changes()...)
}

// namer returns a namer that has seen all flows of the bridge; nil: their meaning is unknown.
func (r *run) namer(ctx context.Context, d *dump) *decode.Namer {
	if r.options.Namer == nil {
		return nil
	}
	n, err := r.options.Namer(ctx, d.cluster, d.node)
	if err != nil {
		return nil
	}
	for i := range d.entries {
		n.Learn(decode.SeenIn(&d.entries[i]))
	}
	n.Calibrate(ctx)
	return n
}

// meaning returns a flow's stage and what it was made for.
func meaning(ctx context.Context, n *decode.Namer, bridge string, flow *bridgeFlow, z *zone, inB bool) (stage string, p purpose) {
	if n == nil {
		return "", purpose{}
	}
	f := n.Entry(ctx, bridge, &flow.entry)
	if f == nil {
		return "", purpose{}
	}
	if p = z.cause(f.Objects, inB); p.id == "" {
		p.name = f.For()
		p.id = p.name
	}
	return f.StageName(), p
}
