package cause

import (
	"context"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A Lookup finds the flow that a packet hits, as [logicalflow.Network.Lookup] does.
type Lookup func(ctx context.Context, t logicalflow.Table, p *packet.Flow, r logicalflow.Resident) (logicalflow.Hit, error)

// An overlay is a network in which something is otherwise than in the database.
type overlay struct {
	net *logicalflow.Network
	// absent are flows that are not there, nor others of the objects that they were made for.
	absent []*logicalflow.Flow
	// supposed are flows that are hit although part of their match fails.
	supposed []supposition
	// added are flows that are not in the database, with the table that each is in.
	added []addition
}

// A supposition is that parts of a flow's match hold, in one datapath.
type supposition struct {
	datapath *logicalflow.Datapath
	flow     *logicalflow.Flow
	holds    []ovnexpr.Span
}

type addition struct {
	table logicalflow.Table
	flow  *logicalflow.Flow
}

// lookup is a Lookup in the changed network.
func (o *overlay) lookup(ctx context.Context, t logicalflow.Table, p *packet.Flow, r logicalflow.Resident) (logicalflow.Hit, error) {
	hit, err := o.net.Lookup(ctx, t, p, r)
	if err != nil || !o.changes(t, hit) {
		return hit, err
	}
	flows, err := o.net.Flows(ctx, t)
	if err != nil {
		return logicalflow.Hit{}, err
	}
	hit = logicalflow.Hit{}
	for _, a := range o.added {
		if holds, _ := a.flow.Explain(t.Datapath, p, r); same(a.table, t) && holds && above(a.flow, hit.Flow) {
			hit.Flow = a.flow
		}
	}
	for _, f := range flows {
		if above(f, hit.Flow) && f.Err() == nil && !o.isAbsent(f) && o.matches(f, t.Datapath, p, r) {
			hit.Flow = f
			break
		}
	}
	return hit, nil
}

// same reports whether two tables are one, on whatever chassis.
func same(a, b logicalflow.Table) bool {
	return a.Datapath == b.Datapath && a.Pipeline == b.Pipeline && a.ID == b.ID
}

func above(f, than *logicalflow.Flow) bool { return than == nil || f.Row.Priority > than.Row.Priority }

// changes reports whether a lookup in a table may end otherwise than it does.
func (o *overlay) changes(t logicalflow.Table, hit logicalflow.Hit) bool {
	if hit.Flow != nil && o.isAbsent(hit.Flow) {
		return true
	}
	return slices.ContainsFunc(o.supposed, func(s supposition) bool {
		return s.datapath == t.Datapath && s.flow.Row.Pipeline == t.Pipeline && s.flow.Row.TableID == t.ID
	}) || slices.ContainsFunc(o.added, func(a addition) bool { return same(a.table, t) })
}

// isAbsent reports whether a flow is left out, or made for the same object as one that is.
func (o *overlay) isAbsent(f *logicalflow.Flow) bool {
	hint := f.Row.ExternalIDs["stage-hint"]
	return slices.ContainsFunc(o.absent, func(of *logicalflow.Flow) bool {
		return f == of || hint != "" && of.Row.ExternalIDs["stage-hint"] == hint
	})
}

// matches reports whether a packet hits a flow, if what is supposed of it holds.
func (o *overlay) matches(f *logicalflow.Flow, d *logicalflow.Datapath, p *packet.Flow, r logicalflow.Resident) bool {
	holds, _ := f.Explain(d, p, r)
	return holds || slices.ContainsFunc(o.supposed, func(s supposition) bool {
		return s.flow == f && s.datapath == d && s.covers(f.Missing(d, p, r))
	})
}

// covers reports whether no more is missing than what is supposed to hold.
func (s supposition) covers(missing []ovnexpr.Decision) bool {
	return len(missing) > 0 && !slices.ContainsFunc(missing, func(d ovnexpr.Decision) bool {
		return d.Leaf == nil || !slices.Contains(s.holds, d.Leaf.Range())
	})
}

// without is a try that leaves a flow out, and all of the object that it was made for.
func without(f *logicalflow.Flow) func(context.Context, *overlay) {
	return func(_ context.Context, o *overlay) { o.absent = append(o.absent, f) }
}

// suppose is a try that lets a rule that came near allow the packet.
func suppose(m miss) func(context.Context, *overlay) {
	s := supposition{datapath: m.visit.Datapath, flow: m.flow}
	for _, d := range m.missing { // near rules miss nothing but parts of their match
		s.holds = append(s.holds, d.Leaf.Range())
	}
	return func(_ context.Context, o *overlay) { o.supposed = append(o.supposed, s) }
}
