package lflow

import (
	"cmp"
	"context"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/expr"
	"github.com/ovnctl/ovnctl/pkg/flow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// Pipelines of a datapath.
const (
	Ingress = "ingress"
	Egress  = "egress"
)

// A Flow is a logical flow.
type Flow struct {
	Row sb.LogicalFlow

	condition *expr.Condition
	actions   expr.Actions
	err       error // it is not understood
}

// Stage is the stage-name of the flow's table, such as ls_in_acl_eval.
func (f *Flow) Stage() string { return f.Row.ExternalIDs["stage-name"] }

// Condition is what a packet has to meet; the prerequisites of the actions are part of it.
func (f *Flow) Condition() *expr.Condition { return f.condition }

// Actions are what the flow does.
func (f *Flow) Actions() expr.Actions { return f.actions }

// Err says why the flow is not understood; nil if it is.
func (f *Flow) Err() error { return f.err }

// A Table is one table of a datapath.
type Table struct {
	Datapath *Datapath
	Pipeline string // Ingress or Egress
	ID       int    // 0 is the first of the pipeline
}

// A Hit is what a packet meets in a table.
type Hit struct {
	Flow *Flow   // of the highest priority that matches; nil if none does, so that the packet is dropped
	Ties []*Flow // others of the same priority that match too: which of them is hit is not defined
	// Unknown are flows of this priority or a higher one that are not understood: each may be the one that is hit.
	Unknown []*Flow
}

// A Resident says whether a port resides on the chassis that a packet is on.
type Resident func(port string) bool

type flowSet map[Table][]*Flow // with a nil Datapath; by falling priority

// Lookup finds the flow that a packet hits.
func (n *Network) Lookup(ctx context.Context, t Table, p *flow.Flow, resident Resident) (Hit, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	flows, err := n.table(ctx, t)
	if err != nil {
		return Hit{}, err
	}
	env := &environment{t.Datapath, resident}
	var h Hit
	for _, f := range flows {
		if h.Flow != nil && f.Row.Priority < h.Flow.Row.Priority {
			break
		}
		switch {
		case f.err != nil:
			h.Unknown = append(h.Unknown, f)
		case !f.condition.Matches(p, env):
		case h.Flow == nil:
			h.Flow = f
		default:
			h.Ties = append(h.Ties, f)
		}
	}
	return h, nil
}

// Explain says on which parts of its match the answer of a flow rests, for a packet in a datapath.
func (f *Flow) Explain(d *Datapath, p *flow.Flow, resident Resident) (holds bool, why []expr.Decision) {
	return f.condition.Evaluate(p, &environment{d, resident})
}

// table returns the flows of a table by falling priority.
func (n *Network) table(ctx context.Context, t Table) ([]*Flow, error) {
	d := t.Datapath
	if err := n.loadFlows(ctx, d); err != nil {
		return nil, err
	}
	var flows []*Flow
	for _, owner := range d.owners {
		flows = append(flows, n.flows[owner][Table{Pipeline: t.Pipeline, ID: t.ID}]...)
	}
	slices.SortStableFunc(flows, byPriority)
	return flows, nil
}

func byPriority(a, b *Flow) int {
	return cmp.Or(b.Row.Priority-a.Row.Priority, cmp.Compare(a.Row.UUID, b.Row.UUID))
}

// loadFlows reads the flows of a datapath and of the groups that it is in.
func (n *Network) loadFlows(ctx context.Context, d *Datapath) error {
	if d.loaded {
		return nil
	}
	if err := n.loadPorts(ctx, d); err != nil {
		return err
	}
	if n.groups == nil {
		groups, err := ovsdb.Find[sb.LogicalDPGroup](ctx, n.db)
		if err != nil {
			return err
		}
		n.groups = append([]sb.LogicalDPGroup{}, groups...)
	}
	owners := []ovsdb.UUID{d.Row.UUID}
	columns := []string{"logical_datapath"}
	for _, g := range n.groups {
		if g.Datapaths.Has(d.Row.UUID) {
			owners, columns = append(owners, g.UUID), append(columns, "logical_dp_group")
		}
	}
	for i, owner := range owners {
		if _, ok := n.flows[owner]; ok {
			continue
		}
		rows, err := ovsdb.Find[sb.LogicalFlow](ctx, n.db, ovsdb.Where(columns[i], "==", owner))
		if err != nil {
			return err
		}
		set := flowSet{}
		for _, row := range rows {
			t := Table{Pipeline: row.Pipeline, ID: row.TableID}
			set[t] = append(set[t], n.compile(ctx, row))
		}
		n.flows[owner] = set
	}
	d.owners, d.loaded = owners, true
	return nil
}

// compile understands a flow.
func (n *Network) compile(ctx context.Context, row sb.LogicalFlow) *Flow {
	f := &Flow{Row: row}
	table := expr.SymbolsOf(expr.Profile{Version: n.version, Conntrack: row.Tags["acl_ct_translation"] == "true"})
	match, err := expr.ParseMatch(row.Match)
	if err != nil {
		f.err = err
		return f
	}
	var needs *expr.Condition
	if f.actions, f.err = expr.ParseActions(row.Actions); f.err != nil {
		return f
	}
	if needs, f.err = f.actions.Annotate(row.Actions, table); f.err != nil {
		return f
	}
	if f.condition, f.err = match.Annotate(table, n.sets.in(ctx)); f.err == nil {
		f.condition = expr.Both(f.condition, needs)
	}
	return f
}

// An environment tells a condition what it asks about ports.
type environment struct {
	datapath *Datapath
	resident Resident
}

func (e *environment) PortName(key uint64) (string, bool) {
	if key == 0 {
		return "none", true // OVN's name for no port
	}
	if p := e.datapath.byKey[int(key)]; p != nil {
		return p.Name(), true
	}
	if g := e.datapath.groups[int(key)]; g != nil {
		return g.Row.Name, true
	}
	return "", false
}

func (e *environment) Resident(port string) bool { return e.resident != nil && e.resident(port) }
