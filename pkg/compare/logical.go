package compare

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// lastTable is the highest table in schemas up to 25.03: a condition must not name a higher one.
const lastTable = 32

// logicalFlows reads all flows. A server is asked for one table at a time: while it collects them all it serves no
// other client.
func logicalFlows(ctx context.Context, db ovsdb.Reader) ([]sb.LogicalFlowRule, error) {
	if db.Status() == (ovsdb.Status{}) { // a file
		return ovsdb.Find[sb.LogicalFlowRule](ctx, db)
	}
	var all []sb.LogicalFlowRule
	for _, pipeline := range []string{"ingress", "egress"} {
		for table := range lastTable + 1 {
			function := "=="
			if table == lastTable {
				function = ">="
			}
			rows, err := ovsdb.Find[sb.LogicalFlowRule](ctx, db, ovsdb.Where("pipeline", "==", pipeline), ovsdb.Where("table_id", function, table))
			if err != nil {
				return nil, err
			}
			all = append(all, rows...)
		}
	}
	return all, nil
}

// A datapathSets finds the datapaths of flows, from one side's rows.
type datapathSets struct {
	groups map[ovsdb.UUID][]string
	as     func(ovsdb.UUID) string // a datapath's UUID in A
}

func newDatapathSets(ctx context.Context, db ovsdb.Reader, as func(ovsdb.UUID) string) (*datapathSets, error) {
	rows, err := ovsdb.Find[sb.LogicalDPGroup](ctx, db)
	d := &datapathSets{groups: make(map[ovsdb.UUID][]string, len(rows)), as: as}
	for _, g := range rows {
		d.groups[g.UUID] = d.canonical(g.Datapaths)
	}
	return d, err
}

func (d *datapathSets) canonical(ids []ovsdb.UUID) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = d.as(id)
	}
	slices.Sort(out)
	return out
}

// of returns a flow's datapaths, as in A.
func (d *datapathSets) of(f *sb.LogicalFlowRule) []string {
	if g := f.LogicalDPGroup.Get(); g != "" {
		return d.groups[g]
	}
	return d.canonical(f.LogicalDatapath)
}

// A logicalKey is what two flows must share to be the same.
type logicalKey struct {
	pipeline        string
	table, priority int
	match, actions  string
}

// An apart is a flow that has more datapaths on one side than on the other.
type apart struct {
	logicalKey
	datapaths []string
	uuid      ovsdb.UUID // of a row on that side
}

func (x apart) compare(y apart) int {
	return cmp.Or(cmp.Compare(y.pipeline, x.pipeline), cmp.Compare(x.table, y.table), cmp.Compare(y.priority, x.priority),
		cmp.Compare(x.match, y.match), slices.Compare(x.datapaths, y.datapaths), cmp.Compare(x.actions, y.actions))
}

// compareLogicalFlows compares the logical flows of a zone.
func (r *run) compareLogicalFlows(ctx context.Context, z *zone) {
	what := "logical flows"
	if z.name != "" {
		what += " of zone " + z.name
	}
	if a, b := z.sb.a.northd(), z.sb.b.northd(); a != b && !r.options.All {
		r.gap(what, "made by ovn-northd %s in A and %s in B: nearly all differ (--all compares them)", cmp.Or(a, "of an unknown release"), cmp.Or(b, "of an unknown release"))
		return
	}
	var rowsA, rowsB []sb.LogicalFlowRule
	var setsA, setsB *datapathSets
	var errA, errB error
	both(func() {
		if rowsA, errA = logicalFlows(ctx, z.a.SB); errA == nil {
			setsA, errA = newDatapathSets(ctx, z.a.SB, func(id ovsdb.UUID) string { return string(id) })
		}
	}, func() {
		if rowsB, errB = logicalFlows(ctx, z.b.SB); errB == nil {
			setsB, errB = newDatapathSets(ctx, z.b.SB, func(id ovsdb.UUID) string { return z.sb.canonical(string(id), true) })
		}
	})
	if errA != nil || errB != nil {
		r.gaps(what, errA, errB)
		return
	}
	onlyA, onlyB := logicalApart(rowsA, rowsB, setsA, setsB)
	if len(onlyA)+len(onlyB) == 0 {
		return
	}
	hintsA, hintsB := hintsOf(ctx, z.a.SB, onlyA), hintsOf(ctx, z.b.SB, onlyB)
	objectsA, objectsB := decode.NewObjects(z.a.NB), decode.NewObjects(z.b.NB)
	groups := flowGroups{all: r.options.All, common: FlowChange{Zone: z.name}}
	add := func(f ChangedFlow, x apart, hints map[string]string, objects *decode.Objects, inB bool) {
		f.Stage, f.Table, f.Priority, f.Match = cmp.Or(hints["stage-name"], fmt.Sprintf("%s table %d", x.pipeline, x.table)), x.table, x.priority, x.match
		f.Datapath = z.datapathNames(x.datapaths)
		found, _ := objects.Of(ctx, hints["stage-name"], hints["stage-hint"])
		groups.add(z.cause(found, inB), f)
	}
	// A flow with different actions counts as one removed and one added.
	type place struct {
		pipeline        string
		table, priority int
		match           string
		datapaths       string
	}
	at := func(x apart) place {
		return place{x.pipeline, x.table, x.priority, x.match, strings.Join(x.datapaths, " ")}
	}
	gone := map[place][]apart{}
	for _, x := range onlyA {
		gone[at(x)] = append(gone[at(x)], x)
	}
	for _, x := range onlyB {
		f := ChangedFlow{Change: Added, B: x.actions}
		if before := gone[at(x)]; len(before) > 0 {
			gone[at(x)] = before[1:]
			f.Change, f.A = Changed, before[0].actions
		}
		add(f, x, hintsB[x.uuid], objectsB, true)
	}
	for _, x := range onlyA {
		if left := gone[at(x)]; len(left) > 0 && left[0].logicalKey == x.logicalKey {
			gone[at(x)] = left[1:]
			add(ChangedFlow{Change: Removed, A: x.actions}, x, hintsA[x.uuid], objectsA, false)
		}
	}
	r.result.Flows = append(r.result.Flows, groups.changes()...)
}

// northd returns ovn-northd's release, from the Southbound.
func (p *part) northd() string {
	for _, r := range p.records[southboundKind] {
		return r.columns["options"].pairs["northd_internal_version"]
	}
	return ""
}

// logicalApart returns the flows that only one side has, or has for more datapaths.
func logicalApart(a, b []sb.LogicalFlowRule, setsA, setsB *datapathSets) (onlyA, onlyB []apart) {
	// Nearly all rows are the same under the same UUID: ovn-northd only changes the datapaths of one.
	rows := make(map[ovsdb.UUID]*sb.LogicalFlowRule, len(a))
	for i := range a {
		rows[a[i].UUID] = &a[i]
	}
	type sides struct {
		a, b         map[string]bool
		uuidA, uuidB ovsdb.UUID
	}
	flows := map[logicalKey]*sides{}
	of := func(f *sb.LogicalFlowRule) *sides {
		key := logicalKey{f.Pipeline, f.TableID, f.Priority, f.Match, f.Actions}
		if flows[key] == nil {
			flows[key] = &sides{a: map[string]bool{}, b: map[string]bool{}}
		}
		return flows[key]
	}
	for i := range b {
		f := &b[i]
		datapaths := setsB.of(f)
		if same := rows[f.UUID]; same != nil && slices.Equal(setsA.of(same), datapaths) {
			delete(rows, f.UUID)
			continue
		}
		s := of(f)
		s.uuidB = first(s.uuidB, f.UUID)
		for _, d := range datapaths {
			s.b[d] = true
		}
	}
	for _, f := range rows {
		s := of(f)
		s.uuidA = first(s.uuidA, f.UUID)
		for _, d := range setsA.of(f) {
			s.a[d] = true
		}
	}
	for key, s := range flows {
		less := func(all, other map[string]bool) []string {
			return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(d string) bool { return other[d] })
		}
		if d := less(s.a, s.b); len(d) > 0 {
			onlyA = append(onlyA, apart{key, d, s.uuidA})
		}
		if d := less(s.b, s.a); len(d) > 0 {
			onlyB = append(onlyB, apart{key, d, s.uuidB})
		}
	}
	slices.SortFunc(onlyA, apart.compare)
	slices.SortFunc(onlyB, apart.compare)
	return onlyA, onlyB
}

// first picks the same of several rows in every run.
func first(known, id ovsdb.UUID) ovsdb.UUID {
	if known == "" {
		return id
	}
	return min(known, id)
}

// batch is how many rows one request asks for.
const batch = 256

// hintsOf returns flows' external_ids; unreadable ones are missing.
func hintsOf(ctx context.Context, db ovsdb.Reader, flows []apart) map[ovsdb.UUID]map[string]string {
	hints := make(map[ovsdb.UUID]map[string]string, len(flows))
	for some := range slices.Chunk(flows, batch) {
		found := make([][]sb.LogicalFlowHints, len(some))
		queries := make([]*ovsdb.Query, len(some))
		for i, f := range some {
			queries[i] = &ovsdb.Query{Rows: &found[i], Where: []ovsdb.Condition{ovsdb.Where("_uuid", "==", f.uuid)}}
		}
		if db.Select(ctx, queries...) != nil {
			continue
		}
		for _, rows := range found {
			for _, row := range rows {
				hints[row.UUID] = row.ExternalIDs
			}
		}
	}
	return hints
}

// mostNames is how many of a flow's datapaths are named.
const mostNames = 3

// datapathNames returns datapaths, as in A, in words.
func (z *zone) datapathNames(ids []string) string {
	if z.datapaths == nil {
		z.datapaths = map[string]string{}
		for _, r := range z.sb.b.records[datapathKind] {
			z.datapaths[z.sb.canonical(string(r.uuid), true)] = z.sb.b.title(r, 0)
		}
		for _, r := range z.sb.a.records[datapathKind] {
			z.datapaths[string(r.uuid)] = z.sb.a.title(r, 0)
		}
	}
	var names []string
	for _, id := range ids {
		names = append(names, cmp.Or(z.datapaths[id], id))
	}
	slices.Sort(names)
	if more := len(names) - mostNames; more > 0 {
		names = append(names[:mostNames], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
