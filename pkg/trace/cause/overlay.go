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

// An overlay is a network that differs from the database.
type overlay struct {
	net *logicalflow.Network
	// absent are flows to leave out, with all others of their objects.
	absent []*logicalflow.Flow
	// supposed are flows that are hit although part of their match fails.
	supposed []supposition
	// added are flows that are not in the database, each with its table.
	added []addition
}

// A supposition assumes that parts of a flow's match hold, in one datapath.
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

// same reports whether two tables are the same, on any chassis.
func same(a, b logicalflow.Table) bool {
	return a.Datapath == b.Datapath && a.Pipeline == b.Pipeline && a.ID == b.ID
}

func above(f, than *logicalflow.Flow) bool { return than == nil || f.Row.Priority > than.Row.Priority }

// changes reports whether the overlay may change the result of a lookup in a table.
func (o *overlay) changes(t logicalflow.Table, hit logicalflow.Hit) bool {
	if hit.Flow != nil && o.isAbsent(hit.Flow) {
		return true
	}
	return slices.ContainsFunc(o.supposed, func(s supposition) bool {
		return s.datapath == t.Datapath && s.flow.Row.Pipeline == t.Pipeline && s.flow.Row.TableID == t.ID
	}) || slices.ContainsFunc(o.added, func(a addition) bool { return same(a.table, t) })
}

// isAbsent reports whether a flow, or another of the same object, is left out.
func (o *overlay) isAbsent(f *logicalflow.Flow) bool {
	hint := f.Row.ExternalIDs["stage-hint"]
	return slices.ContainsFunc(o.absent, func(of *logicalflow.Flow) bool {
		return f == of || hint != "" && of.Row.ExternalIDs["stage-hint"] == hint
	})
}

// matches reports whether a packet hits a flow, given what is supposed of it.
func (o *overlay) matches(f *logicalflow.Flow, d *logicalflow.Datapath, p *packet.Flow, r logicalflow.Resident) bool {
	holds, _ := f.Explain(d, p, r)
	return holds || slices.ContainsFunc(o.supposed, func(s supposition) bool {
		return s.flow == f && s.datapath == d && s.covers(f.Missing(d, p, r))
	})
}

// covers reports whether the supposition covers everything missing.
func (s supposition) covers(missing []ovnexpr.Decision) bool {
	return len(missing) > 0 && !slices.ContainsFunc(missing, func(d ovnexpr.Decision) bool {
		return d.Leaf == nil || !slices.Contains(s.holds, d.Leaf.Range())
	})
}

// without returns a try that leaves out a flow and all others of its object.
func without(f *logicalflow.Flow) func(context.Context, *overlay) {
	return func(_ context.Context, o *overlay) { o.absent = append(o.absent, f) }
}

// suppose returns a try that makes a near rule allow the packet.
func suppose(m miss) func(context.Context, *overlay) {
	s := supposition{datapath: m.visit.Datapath, flow: m.flow}
	for _, d := range m.missing { // near rules lack nothing but parts of their match
		s.holds = append(s.holds, d.Leaf.Range())
	}
	return func(_ context.Context, o *overlay) { o.supposed = append(o.supposed, s) }
}
