package logicalflow

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// A loader reads what decides whether each logical flow is hit. For any request the server compares every row of
// Logical_Flow and does nothing else meanwhile. So one request covers all of an owner's tables if that is quick, else
// some of them.
type loader struct {
	shared sync.Map      // UUID of a datapath group to its *owner
	asking chan struct{} // limits concurrent requests: while one reply is read, the server works on another
	once   sync.Once
	cost   atomic.Int64 // nanoseconds of a request that finds nothing
	rows   atomic.Int64 // what CountFlows found

	translated struct {
		mu   sync.Mutex
		rows map[ovsdb.UUID]bool // flows tagged acl_ct_translation; nil until read
	}
}

const (
	atOnce    = 2                     // requests
	firstStep = 10                    // tables in the first request
	quick     = 80 * time.Millisecond // if a request that finds nothing takes less, even the largest is soon done
	manyRows  = 25000                 // most rows that a request should find: they take the server 0.3 s
	perRow    = 15 * time.Microsecond // what a row costs the server, about
	maxTables = 64                    // of a pipeline; ovn-northd has less than 40
	lastTable = 32                    // of the schema up to 25.03: a condition may name no higher one
)

// An owner is what flows belong to: a datapath or a datapath group.
type owner struct {
	column string // of Logical_Flow: ofDatapath or ofGroup
	id     ovsdb.UUID

	mu     sync.Mutex   // held while flows are read
	loaded atomic.Int32 // all tables below are loaded
	step   int          // tables in the next request
	tables [2][maxTables]*table

	indexing sync.Once
	byCookie map[uint32][]*entry // all of them, once all tables are loaded
}

// The columns of Logical_Flow that name the owner of a flow.
const (
	ofDatapath = "logical_datapath"
	ofGroup    = "logical_dp_group"
)

// grouped reports whether datapaths share flows: OVN 20.12 and later.
func (n *Network) grouped() bool { return n.db.Has("Logical_Flow", ofGroup) }

// owners returns the owners of a datapath's flows.
func (n *Network) owners(d *Datapath, groups []ovsdb.Key[sb.LogicalDPGroup]) []*owner {
	owners := []*owner{{column: ofDatapath, id: d.Row.UUID}}
	for _, g := range groups {
		o, _ := n.shared.LoadOrStore(g.UUID, &owner{column: ofGroup, id: g.UUID})
		owners = append(owners, o.(*owner))
	}
	return owners
}

// load loads a table's flows, in parallel for all owners.
func (n *Network) load(ctx context.Context, owners []*owner, table int) error {
	n.once.Do(func() { n.asking = make(chan struct{}, atOnce) })
	if n.cost.Load() == 0 { // the first one's cost is useful for the others
		if err := n.loadOwner(ctx, owners[0], table); err != nil {
			return err
		}
	}
	errs := make([]error, len(owners))
	var wait sync.WaitGroup
	for i, o := range owners {
		if int(o.loaded.Load()) > table {
			continue
		}
		wait.Go(func() { errs[i] = n.loadOwner(ctx, o, table) })
	}
	wait.Wait()
	return cmp.Or(errs...)
}

func (n *Network) loadOwner(ctx context.Context, o *owner, table int) error {
	n.asking <- struct{}{}
	defer func() { <-n.asking }()
	o.mu.Lock()
	defer o.mu.Unlock()
	for int(o.loaded.Load()) <= table {
		if err := n.loadTables(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// loadTables reads an owner's flows in the next tables.
func (n *Network) loadTables(ctx context.Context, o *owner) error {
	from := int(o.loaded.Load())
	to := n.upTo(o, from)
	where := []ovsdb.Condition{ovsdb.Where(o.column, "==", o.id)}
	if from > 0 {
		where = append(where, ovsdb.Where("table_id", ">=", from))
	}
	if to < maxTables {
		where = append(where, ovsdb.Where("table_id", "<", to))
	}
	start := time.Now()
	rows, err := ovsdb.Find[sb.LogicalFlowMatch](ctx, n.db, where...)
	if err != nil {
		return err
	}
	n.learn(o, time.Since(start), len(rows), to-from)
	translated, err := n.translatedFlows(ctx)
	if err != nil {
		return err
	}
	o.fill(n, rows, from, to, translated)
	return nil
}

// fill stores the flows of tables [from, to). It needs o.mu.
func (o *owner) fill(n *Network, rows []sb.LogicalFlowMatch, from, to int, translated map[ovsdb.UUID]bool) {
	var tables [2][maxTables][]*entry
	for i := range rows {
		r := &rows[i]
		if r.TableID < from || r.TableID >= to {
			continue
		}
		pipeline := pipelineIndex(r.Pipeline)
		at := &tables[pipeline][r.TableID]
		*at = append(*at, &entry{
			owner: o, id: r.UUID, match: r.Match, priority: r.Priority, pipeline: uint8(pipeline), table: uint8(r.TableID), conntrack: translated[r.UUID],
		})
	}
	for p := range tables {
		for t, entries := range tables[p] {
			if len(entries) > 0 {
				o.tables[p][t] = newTable(n, entries)
			}
		}
	}
	o.loaded.Store(int32(to))
}

// likely returns flows, except but, that are not read in full and that a packet is likely to hit: those in tables with
// few flows and those every packet hits.
func (o *owner) likely(but *entry) []*entry {
	var found []*entry
	for table := range o.loaded.Load() {
		for p := range o.tables {
			found = append(found, o.tables[p][table].likely(but)...)
		}
	}
	return found[:min(len(found), maxAtOnce)]
}

func (t *table) likely(but *entry) (found []*entry) {
	if t == nil {
		return nil
	}
	for _, i := range t.rest {
		e := t.entries[i]
		if e != but && (len(t.entries) <= fewFlows || e.match == always) && e.flow.Load() == nil {
			found = append(found, e)
		}
	}
	return found
}

// maxAtOnce bounds the rows read along with another.
const maxAtOnce = 100

// upTo is the first table after the next request.
func (n *Network) upTo(o *owner, from int) int {
	if n.cost.Load() > 0 && time.Duration(n.cost.Load()) < quick {
		return maxTables
	}
	if from == 0 {
		o.step = firstStep
	}
	if to := from + o.step; to <= lastTable {
		return to
	}
	return maxTables
}

// learn sets the owner's next step from the last request's results.
func (n *Network) learn(o *owner, took time.Duration, rows, tables int) {
	cost := max(1, int64(took-time.Duration(rows)*perRow))
	if least := n.cost.Load(); least == 0 || cost < least {
		n.cost.Store(cost)
	}
	o.step = maxTables
	if rows > manyRows {
		o.step = max(1, tables*manyRows/rows)
	}
}

// translatedFlows returns the flows in which tcp, udp and sctp mean conntrack's view of the connection.
func (n *Network) translatedFlows(ctx context.Context) (map[ovsdb.UUID]bool, error) {
	n.translated.mu.Lock()
	defer n.translated.mu.Unlock()
	if n.translated.rows != nil {
		return n.translated.rows, nil
	}
	found := map[ovsdb.UUID]bool{}
	if n.version.Has(release.TranslatedACLs) && n.db.Has("Logical_Flow", "tags") {
		rows, err := ovsdb.Find[ovsdb.Key[sb.LogicalFlow]](ctx, n.db, ovsdb.Where("tags", "includes", map[string]string{"acl_ct_translation": "true"}))
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			found[r.UUID] = true
		}
	}
	n.translated.rows = found
	return found, nil
}

// IgnoreTags makes tcp, udp and sctp mean the packet's own headers in all flows, as in ovn-trace. Call it before the
// first lookup.
func (n *Network) IgnoreTags() {
	n.translated.mu.Lock()
	defer n.translated.mu.Unlock()
	n.translated.rows = map[ovsdb.UUID]bool{}
}

// pipelines are the names by pipelineIndex.
var pipelines = [2]string{Ingress, Egress}

func pipelineIndex(pipeline string) int {
	if pipeline == Egress {
		return 1
	}
	return 0
}

// A view is a table as one datapath has it: the flows of all owners.
type view struct {
	tables []*table
	only   atomic.Pointer[Flow] // the flow that every packet hits; nil if none, or not read
}

// settle remembers a flow that every packet hits, on any chassis.
func (v *view) settle(f *Flow) {
	if len(v.tables) == 1 && len(v.tables[0].entries) == 1 && f.Row.Match == always && f.needs == nil && !hasTemplate(&f.Row) {
		v.only.Store(f)
	}
}

// view returns a table of a datapath.
func (n *Network) view(ctx context.Context, t Table) (*view, error) {
	if t.ID < 0 || t.ID >= maxTables {
		return &view{}, nil
	}
	p := pipelineIndex(t.Pipeline)
	known := &t.Datapath.views[p][t.ID]
	if v := known.Load(); v != nil {
		return v, nil
	}
	if n.inFile() {
		if err := n.Preload(ctx, nil, nil); err != nil {
			return nil, err
		}
	}
	c, err := t.Datapath.contents(ctx)
	if err != nil {
		return nil, err
	}
	if err := n.load(ctx, c.owners, t.ID); err != nil {
		return nil, err
	}
	v := &view{}
	for _, o := range c.owners {
		if table := o.tables[p][t.ID]; table != nil {
			v.tables = append(v.tables, table)
		}
	}
	known.Store(v)
	return v, nil
}

// entries returns the view's flows by descending priority, then by UUID.
func (v *view) entries() []*entry {
	var all []*entry
	for _, t := range v.tables {
		all = append(all, t.entries...)
	}
	slices.SortFunc(all, inOrder)
	return all
}
