package decode

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// LogicalFlows finds the logical flow behind an OpenFlow flow. It reads the flows of one datapath or datapath group
// at a time, and only on demand: the whole table may hold hundreds of thousands of rows, and a server collecting them
// serves nobody else meanwhile. What was read is cached; a failed read is not retried. It is safe for concurrent use.
type LogicalFlows struct {
	reader ovsdb.Reader

	mu      sync.Mutex
	groups  map[ovsdb.UUID][]ovsdb.UUID // of a datapath; nil until read
	grouped map[ovsdb.UUID]bool         // UUIDs of groups
	sets    map[ovsdb.UUID]flowSet      // by datapath or group
	stages  map[stageKey]string
	failure string
	matches Matches
}

// Matches has read what flows of some datapaths match, and can name those behind a cookie without a look at the others. known is
// false for other datapaths. See [logicalflow.Network.ByCookie].
type Matches interface {
	ByCookie(ctx context.Context, datapath ovsdb.UUID, cookie uint32) (rows []sb.LogicalFlow, known bool, err error)
}

// A flowSet indexes flows by the first 32 bits of their UUIDs.
type flowSet map[uint32][]sb.LogicalFlowNames

// NewLogicalFlows reads from a Southbound database. A nil reader finds no flow.
func NewLogicalFlows(r ovsdb.Reader) *LogicalFlows {
	return &LogicalFlows{reader: r, sets: map[ovsdb.UUID]flowSet{}, stages: map[stageKey]string{}}
}

// Beside has f ask matches that somebody else has read before it reads flows itself.
func (f *LogicalFlows) Beside(matches Matches) { f.matches = matches }

// named returns the flows that matches name; known is false if they do not, and the flows must be read.
func (f *LogicalFlows) named(ctx context.Context, datapath ovsdb.UUID, cookie uint64) (rows []sb.LogicalFlowNames, known bool) {
	if f.matches == nil {
		return nil, false
	}
	found, known, err := f.matches.ByCookie(ctx, datapath, uint32(cookie))
	if !known || err != nil || len(found) == 0 {
		return nil, false // one that is not there may be newer than what was read
	}
	for _, r := range found {
		rows = append(rows, sb.LogicalFlowNames{
			UUID: r.UUID, Pipeline: r.Pipeline, TableID: r.TableID, Match: r.Match, Actions: r.Actions, Priority: r.Priority, FlowDesc: r.FlowDesc, ExternalIDs: r.ExternalIDs,
		})
	}
	f.learnStages(rows)
	return rows, true
}

// A FlowKey is what is known of the wanted logical flow. If the tables of the chassis are still unknown, Pipeline is
// empty and Table and Priority are ignored.
type FlowKey struct {
	Datapath ovsdb.UUID // of the Datapath_Binding
	Cookie   uint64
	Pipeline Pipeline
	Table    int
	Priority int
}

// Lookup returns the logical flows that a cookie may refer to: those of the datapath and of its groups whose UUID
// begins with the cookie. If there are several, only those that fit the rest of the key are returned, if any do. If
// none is found, unknown is the reason.
func (f *LogicalFlows) Lookup(ctx context.Context, key FlowKey) (rows []sb.LogicalFlowNames, unknown string) {
	if key.Cookie == 0 {
		return nil, "the flow has no cookie"
	}
	if key.Cookie > 0xffffffff {
		return nil, fmt.Sprintf("cookie 0x%x is not ovn-controller's: it uses 32 bits", key.Cookie)
	}
	if f == nil || f.reader == nil {
		return nil, "OVN_Southbound was not read"
	}
	if key.Datapath == "" {
		return nil, "the flow's datapath is unknown"
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	named, known := f.named(ctx, key.Datapath, key.Cookie)
	if known {
		return key.among(named), ""
	}
	for _, owner := range f.owners(ctx, key.Datapath) {
		rows = append(rows, f.set(ctx, owner)[uint32(key.Cookie)]...)
		// The groups need not be read if the match is certain.
		if key.Pipeline != "" && slices.ContainsFunc(rows, key.fits) {
			break
		}
		if key.Pipeline == "" && len(rows) > 0 {
			break
		}
	}
	switch {
	case len(rows) > 0:
		return key.among(rows), ""
	case f.failure != "":
		return nil, f.failure
	}
	return nil, fmt.Sprintf("no logical flow of the datapath begins with %08x: the flow is stale, or another controller's", key.Cookie)
}

// Lacks reports whether all rows of the datapath were read and none has the key's cookie.
func (f *LogicalFlows) Lacks(ctx context.Context, key FlowKey) bool {
	if rows, _ := f.Lookup(ctx, key); len(rows) > 0 || key.Cookie == 0 || key.Cookie > 0xffffffff || key.Datapath == "" || f == nil || f.reader == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failure == ""
}

// among returns the rows that fit the key; all if none does.
func (k FlowKey) among(rows []sb.LogicalFlowNames) []sb.LogicalFlowNames {
	if fitting := slices.DeleteFunc(slices.Clone(rows), func(r sb.LogicalFlowNames) bool { return !k.fits(r) }); len(fitting) > 0 {
		return fitting
	}
	return rows
}

// fits reports whether a row agrees with all that the key gives.
func (k FlowKey) fits(row sb.LogicalFlowNames) bool {
	return k.Pipeline == "" ||
		Pipeline(row.Pipeline) == k.Pipeline && row.TableID == k.Table && row.Priority == k.Priority
}

// stage returns the stage-name of a logical table in datapaths of d's kind, empty if it has no flow in d or d is nil.
func (f *LogicalFlows) stage(ctx context.Context, d *Datapath, pipeline Pipeline, table int) string {
	if f == nil || d == nil {
		return ""
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key := stageKey{d.Kind, pipeline, table}
	stage, known := f.stages[key]
	if known || f.reader == nil {
		return stage
	}
	for _, owner := range f.owners(ctx, d.UUID) {
		f.set(ctx, owner)
		if stage = f.stages[key]; stage != "" {
			break
		}
	}
	f.stages[key] = stage // also if it is empty
	return stage
}

// owners returns the datapath, then its groups, largest first: those hold what all switches or all routers have in
// common.
func (f *LogicalFlows) owners(ctx context.Context, datapath ovsdb.UUID) []ovsdb.UUID {
	if f.groups == nil {
		f.join(ovsdb.Find[sb.LogicalDPGroup](ctx, f.reader))
	}
	return append([]ovsdb.UUID{datapath}, f.groups[datapath]...)
}

// join records the groups of each datapath.
func (f *LogicalFlows) join(groups []sb.LogicalDPGroup, err error) {
	if err != nil {
		f.fail(err)
	}
	slices.SortFunc(groups, func(a, b sb.LogicalDPGroup) int {
		return cmp.Or(cmp.Compare(len(b.Datapaths), len(a.Datapaths)), cmp.Compare(a.UUID, b.UUID))
	})
	f.groups, f.grouped = map[ovsdb.UUID][]ovsdb.UUID{}, map[ovsdb.UUID]bool{}
	for _, g := range groups {
		f.grouped[g.UUID] = true
		for _, member := range g.Datapaths {
			f.groups[member] = append(f.groups[member], g.UUID)
		}
	}
}

// set returns the flows of a datapath or group, read on first use.
func (f *LogicalFlows) set(ctx context.Context, owner ovsdb.UUID) flowSet {
	if _, ok := f.sets[owner]; !ok && f.failure == "" {
		f.read(ctx, owner)
	}
	return f.sets[owner]
}

// atOnce is how many requests are outstanding at the server at a time. Each is for one datapath or group, so that
// other clients get their turn in between.
const atOnce = 8

// read reads the flows of datapaths or groups concurrently.
func (f *LogicalFlows) read(ctx context.Context, owners ...ovsdb.UUID) {
	found, errs := make([][]sb.LogicalFlowNames, len(owners)), make([]error, len(owners))
	var reads errgroup.Group
	reads.SetLimit(atOnce)
	for i, owner := range owners {
		column := "logical_datapath"
		if f.grouped[owner] {
			column = "logical_dp_group"
		}
		reads.Go(func() error {
			found[i], errs[i] = ovsdb.Find[sb.LogicalFlowNames](ctx, f.reader, ovsdb.Where(column, "==", owner))
			return nil
		})
	}
	_ = reads.Wait()
	for i, owner := range owners {
		if errs[i] != nil {
			f.fail(errs[i])
			continue
		}
		f.sets[owner] = f.index(found[i])
	}
}

// index indexes flows by cookie, and learns the names of their stages.
func (f *LogicalFlows) index(rows []sb.LogicalFlowNames) flowSet {
	set := flowSet{}
	for _, row := range rows {
		if prefix, ok := Prefix(row.UUID); ok {
			set[prefix] = append(set[prefix], row)
		}
	}
	f.learnStages(rows)
	return set
}

// learnStages learns the names of the stages that flows are in.
func (f *LogicalFlows) learnStages(rows []sb.LogicalFlowNames) {
	for _, row := range rows {
		stage := row.ExternalIDs["stage-name"]
		if kind, pipeline, ok := stageOf(stage); ok && pipeline == Pipeline(row.Pipeline) {
			f.stages[stageKey{kind, pipeline, row.TableID}] = stage
		}
	}
}

// prefetch reads what Lookup will need for many flows, in few rounds: first the datapaths' own flows together with
// the groups, then one more group for each flow not yet found, so that the flows of a datapath do not wait for its
// groups one after another.
func (f *LogicalFlows) prefetch(ctx context.Context, keys []FlowKey) {
	if f == nil || f.reader == nil || len(keys) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	keys = slices.DeleteFunc(keys, func(k FlowKey) bool {
		_, known := f.named(ctx, k.Datapath, k.Cookie)
		return known
	})
	if len(keys) == 0 {
		return
	}
	f.readOwn(ctx, keys)
	for f.failure == "" {
		var wanted []ovsdb.UUID
		keys = slices.DeleteFunc(keys, func(k FlowKey) bool {
			open := false
			for _, owner := range f.owners(ctx, k.Datapath) {
				set, known := f.sets[owner]
				switch {
				case known && len(set[uint32(k.Cookie)]) > 0:
					return !open
				case known:
				case slices.Contains(wanted, owner):
					open = true
				default:
					wanted = append(wanted, owner)
					return false
				}
			}
			return !open
		})
		if len(wanted) == 0 {
			return
		}
		f.read(ctx, wanted...)
	}
}

// readOwn reads the flows that datapaths do not share, and the list of groups.
func (f *LogicalFlows) readOwn(ctx context.Context, keys []FlowKey) {
	var datapaths []ovsdb.UUID
	for _, k := range keys {
		if _, known := f.sets[k.Datapath]; !known && !slices.Contains(datapaths, k.Datapath) {
			datapaths = append(datapaths, k.Datapath)
		}
	}
	if f.groups != nil {
		f.read(ctx, datapaths...)
		return
	}
	var (
		wait   sync.WaitGroup
		groups []sb.LogicalDPGroup
		err    error
	)
	wait.Go(func() { groups, err = ovsdb.Find[sb.LogicalDPGroup](ctx, f.reader) })
	f.read(ctx, datapaths...)
	wait.Wait()
	f.join(groups, err)
}

func (f *LogicalFlows) fail(err error) {
	if f.failure == "" {
		f.failure = fmt.Sprintf("OVN_Southbound could not be read: %v", err)
	}
}

// joinRows finds the rows behind flows, for Calibrate. A flow has no rows if it has no cookie or its row is not
// found, or if its cookie belongs to another Southbound row, for which all groups would be read in vain.
func (f *LogicalFlows) joinRows(ctx context.Context, l *Logical, flows []Seen) []Evidence {
	evidence := make([]Evidence, len(flows))
	keys := make([]FlowKey, len(flows))
	for i, seen := range flows {
		evidence[i].Seen = seen
		if d := l.Datapath(seen.Metadata); d != nil && seen.Cookie != 0 && len(l.Rows(seen.Cookie, "")) == 0 {
			keys[i] = FlowKey{Datapath: d.UUID, Cookie: seen.Cookie}
		}
	}
	f.prefetch(ctx, slices.DeleteFunc(slices.Clone(keys), func(k FlowKey) bool { return k.Cookie == 0 || k.Cookie > 0xffffffff }))
	for i, key := range keys {
		if key.Cookie != 0 {
			evidence[i].Rows, _ = f.Lookup(ctx, key)
		}
	}
	return evidence
}
