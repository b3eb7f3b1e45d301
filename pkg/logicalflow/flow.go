package logicalflow

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// A datapath's pipelines.
const (
	Ingress = "ingress"
	Egress  = "egress"
)

// A Flow is a parsed row of Logical_Flow. Each row has one, however many packets hit it; a row with template variables
// has one per chassis.
type Flow struct {
	Row sb.LogicalFlow

	condition *ovnexpr.Condition
	actions   ovnexpr.Actions
	needs     *ovnexpr.Condition // prerequisites of the actions; nil if none
	err       error              // not understood

	once    sync.Once
	program any
}

// Stage is the stage-name of the flow's table, such as ls_in_acl_eval.
func (f *Flow) Stage() string { return f.Row.ExternalIDs["stage-name"] }

// Actions are the flow's actions.
func (f *Flow) Actions() ovnexpr.Actions { return f.actions }

// Err is why the flow is not understood; nil if it is.
func (f *Flow) Err() error { return f.err }

// Unread is the flow's text that could not be read, its match or its actions; empty if the flow is understood.
func (f *Flow) Unread() string {
	var e *ovnexpr.SyntaxError
	if errors.As(f.err, &e) {
		return e.Text
	}
	return ""
}

// Templated reports whether the flow differs by chassis: it has template variables.
func (f *Flow) Templated() bool { return hasTemplate(&f.Row) }

// Program caches what the caller derives from the flow: compile is called the first time. A flow has one program, so
// all callers must derive the same.
func (f *Flow) Program(compile func(*Flow) any) any {
	f.once.Do(func() { f.program = compile(f) })
	return f.program
}

// Explain reports whether a packet in a datapath matches a flow, and which parts of the match decided.
func (f *Flow) Explain(d *Datapath, p *packet.Flow, resident Resident) (holds bool, why []ovnexpr.Decision) {
	return f.condition.Evaluate(p, newEnvironment(context.Background(), d, resident))
}

// Missing is the smallest set of parts of the match that would have to differ for a packet in a datapath to match; nil
// if it does. See [ovnexpr.Condition.Missing].
func (f *Flow) Missing(d *Datapath, p *packet.Flow, resident Resident) []ovnexpr.Decision {
	return f.condition.Missing(p, newEnvironment(context.Background(), d, resident))
}

// A Table is one table of a datapath.
type Table struct {
	Datapath *Datapath
	Pipeline string   // Ingress or Egress
	ID       int      // 0 is the pipeline's first
	Chassis  *Chassis // provides values for template variables; if nil, flows that use any are not understood
}

// A Hit is a table lookup's result.
type Hit struct {
	Flow *Flow   // the matching flow of highest priority; nil if none matches: the packet is dropped
	Ties []*Flow // other matches of the same priority: which one is hit is undefined
	// Unknown are flows of this or a higher priority that are not understood: any may be the one hit.
	Unknown []*Flow
}

// A Resident reports whether a port resides on the packet's chassis.
type Resident func(port string) bool

// Lookup finds the flow that a packet hits. It holds no lock while calling resident.
func (n *Network) Lookup(ctx context.Context, t Table, p *packet.Flow, resident Resident) (Hit, error) {
	v, err := n.view(ctx, t)
	if err != nil {
		return Hit{}, err
	}
	if f := v.only.Load(); f != nil {
		return Hit{Flow: f}, nil
	}
	s := searches.Get().(*search)
	defer searches.Put(s)
	s.environment.reset(ctx, t.Datapath, resident)
	if err := s.find(v, &s.environment, p); err != nil {
		return Hit{}, err
	}
	h, err := n.first(s, t, p)
	if err == nil && h.Flow != nil {
		v.settle(h.Flow)
	}
	return h, err
}

// A search is the reusable memory of a lookup.
type search struct {
	environment
	candidates
}

var searches = sync.Pool{New: func() any { return new(search) }}

// first finds the flow that is hit among a search's candidates.
func (n *Network) first(s *search, t Table, p *packet.Flow) (Hit, error) {
	var h Hit
	for {
		e := s.next()
		if e == nil || h.Flow != nil && e.priority < h.Flow.Row.Priority {
			break
		}
		f, err := n.hits(&s.environment, e, p, t.Chassis)
		switch {
		case err != nil:
			return Hit{}, err
		case f == nil:
		case f.err != nil:
			h.Unknown = append(h.Unknown, f)
		case h.Flow == nil:
			h.Flow = f
		default:
			h.Ties = append(h.Ties, f)
		}
	}
	return h, nil
}

// Flows are all flows of a table by descending priority, independent of any packet.
func (n *Network) Flows(ctx context.Context, t Table) ([]*Flow, error) {
	v, err := n.view(ctx, t)
	if err != nil {
		return nil, err
	}
	var flows []*Flow
	for _, e := range v.entries() {
		f, err := n.understood(ctx, e, t.Chassis)
		if err != nil {
			return nil, err
		}
		flows = append(flows, f)
	}
	return flows, nil
}

// Stage is a table's stage-name, empty if it has no flow in the datapath.
func (n *Network) Stage(ctx context.Context, t Table) (string, error) {
	v, err := n.view(ctx, t)
	if err != nil || len(v.tables) == 0 {
		return "", err
	}
	f, err := n.understood(ctx, v.tables[0].entries[0], nil)
	if err != nil {
		return "", err
	}
	return f.Stage(), nil
}

// An entry is a logical flow with its row unread: only what decides whether a packet hits it, since tables are large.
type entry struct {
	owner     *owner
	id        ovsdb.UUID
	match     string
	priority  int
	pipeline  uint8
	table     uint8
	conntrack bool // tagged acl_ct_translation

	parsing   sync.Once
	condition *ovnexpr.Condition
	err       error

	mu        sync.Mutex // held while the flow is read
	flow      atomic.Pointer[Flow]
	onChassis map[string]*Flow // of a flow with template variables
}

// row returns the entry's row, given the rest of it.
func (e *entry) row(rest sb.LogicalFlowRest) sb.LogicalFlow {
	row := sb.LogicalFlow{
		LogicalFlowMatch: sb.LogicalFlowMatch{UUID: e.id, Pipeline: pipelines[e.pipeline], TableID: int(e.table), Priority: e.priority, Match: e.match},
		Actions:          rest.Actions, ControllerMeter: rest.ControllerMeter, FlowDesc: rest.FlowDesc, Tags: rest.Tags, ExternalIDs: rest.ExternalIDs,
	}
	if owner := (ovsdb.Set[ovsdb.UUID]{e.owner.id}); e.owner.column == ofGroup {
		row.LogicalDPGroup = owner
	} else {
		row.LogicalDatapath = owner
	}
	return row
}

// inOrder sorts by falling priority.
func inOrder(a, b *entry) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), strings.Compare(string(a.id), string(b.id)))
}

// hits returns an entry's flow if a packet hits it, or may hit it because it is not understood.
func (n *Network) hits(env *environment, e *entry, p *packet.Flow, c *Chassis) (*Flow, error) {
	if e.flow.Load() != nil {
		return n.hitsUnderstood(env, e, p, c)
	}
	if condition, err := n.parse(e); err == nil {
		holds, err := condition.Holds(p, env)
		switch {
		case err != nil:
			return n.unclear(env.ctx, e, c, err)
		case !holds:
			return nil, nil
		}
	}
	return n.hitsUnderstood(env, e, p, c)
}

// hitsUnderstood is hits for a flow that is read in full, or must be.
func (n *Network) hitsUnderstood(env *environment, e *entry, p *packet.Flow, c *Chassis) (*Flow, error) {
	f, err := n.understood(env.ctx, e, c)
	if err != nil || f.err != nil {
		return f, err
	}
	holds, err := f.condition.Holds(p, env)
	switch {
	case err != nil:
		return n.unclear(env.ctx, e, c, err)
	case !holds:
		return nil, nil
	}
	return f, nil
}

// unclear returns an entry's flow whose match proves invalid with the sets it names. Other errors are sets that could
// not be read.
func (n *Network) unclear(ctx context.Context, e *entry, c *Chassis, reason error) (*Flow, error) {
	var invalid *ovnexpr.SyntaxError
	if !errors.As(reason, &invalid) {
		return nil, reason
	}
	f, err := n.understood(ctx, e, c)
	if err != nil || f.err != nil {
		return f, err
	}
	return &Flow{Row: f.Row, actions: f.actions, err: invalid}, nil
}

// parse parses an entry's match.
func (n *Network) parse(e *entry) (*ovnexpr.Condition, error) {
	e.parsing.Do(func() { e.condition, e.err = n.condition(e.match, e.conntrack) })
	return e.condition, e.err
}

func (n *Network) condition(match string, conntrack bool) (*ovnexpr.Condition, error) {
	m, err := ovnexpr.ParseMatch(match)
	if err != nil {
		return nil, err
	}
	return m.Annotate(n.symbols(conntrack), ovnexpr.Lazy)
}

func (n *Network) symbols(conntrack bool) *ovnexpr.Symbols {
	return ovnexpr.SymbolsOf(ovnexpr.Profile{Version: n.version, Conntrack: conntrack})
}

// understood returns an entry's flow.
func (n *Network) understood(ctx context.Context, e *entry, c *Chassis) (*Flow, error) {
	f := e.flow.Load()
	if f == nil {
		var err error
		if f, err = n.read(ctx, e); err != nil {
			return nil, err
		}
	}
	if c == nil || !hasTemplate(&f.Row) {
		return f, nil
	}
	return n.onChassis(ctx, e, c)
}

// read reads the rest of an entry, along with flows of the same owner that a packet crossing the tables is likely to
// hit: each would be a request.
func (n *Network) read(ctx context.Context, e *entry) (*Flow, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if f := e.flow.Load(); f != nil {
		return f, nil
	}
	wanted := append([]*entry{e}, e.owner.likely(e)...)
	queries, rest := make([]*ovsdb.Query, len(wanted)), make([][]sb.LogicalFlowRest, len(wanted))
	for i, w := range wanted {
		queries[i] = &ovsdb.Query{Rows: &rest[i], Where: []ovsdb.Condition{ovsdb.Where("_uuid", "==", w.id)}}
	}
	if err := n.db.Select(ctx, queries...); err != nil {
		return nil, err
	}
	for i, w := range wanted {
		for _, r := range rest[i] {
			w.flow.CompareAndSwap(nil, n.compile(w.row(r), w.conntrack))
		}
	}
	if f := e.flow.Load(); f != nil {
		return f, nil
	}
	return nil, &goneError{e.id}
}

// always is the match that every packet meets.
const always = "1"

// A goneError means a flow was removed while the network was read.
type goneError struct{ id ovsdb.UUID }

func (e *goneError) Error() string {
	return "Logical_Flow " + string(e.id) + " has gone while it was read: ovn-northd is at work; ask again"
}

// Compile parses a row, in the database or not.
func (n *Network) Compile(_ context.Context, row sb.LogicalFlow) *Flow {
	return n.compile(row, row.Tags["acl_ct_translation"] == "true")
}

func (n *Network) compile(row sb.LogicalFlow, conntrack bool) *Flow {
	f := &Flow{Row: row}
	if f.actions, f.err = ovnexpr.ParseActions(row.Actions); f.err != nil {
		return f
	}
	if f.needs, f.err = f.actions.Annotate(row.Actions, n.symbols(conntrack)); f.err != nil {
		return f
	}
	if f.condition, f.err = n.condition(row.Match, conntrack); f.err == nil {
		f.condition = ovnexpr.Both(f.condition, f.needs)
	}
	return f
}
