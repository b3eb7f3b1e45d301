package cause

import (
	"context"

	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A Lookup finds the flow that a packet hits, as [logicalflow.Network.Lookup] does.
type Lookup func(ctx context.Context, t logicalflow.Table, p *packet.Flow, r logicalflow.Resident) (logicalflow.Hit, error)

// An overlay is a network in which something is otherwise than in the database.
type overlay struct {
	net *logicalflow.Network
	// absent says which flows are not there.
	absent []func(*logicalflow.Flow) bool
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
	for _, s := range o.supposed {
		if s.datapath == t.Datapath && s.flow.Row.Pipeline == t.Pipeline && s.flow.Row.TableID == t.ID {
			return true
		}
	}
	for _, a := range o.added {
		if same(a.table, t) {
			return true
		}
	}
	return false
}

func (o *overlay) isAbsent(f *logicalflow.Flow) bool {
	for _, absent := range o.absent {
		if absent(f) {
			return true
		}
	}
	return false
}

// matches reports whether a packet hits a flow, if what is supposed of it holds.
func (o *overlay) matches(f *logicalflow.Flow, d *logicalflow.Datapath, p *packet.Flow, r logicalflow.Resident) bool {
	holds, _ := f.Explain(d, p, r)
	if holds {
		return true
	}
	for _, s := range o.supposed {
		if s.flow == f && s.datapath == d && s.covers(f.Missing(d, p, r)) {
			return true
		}
	}
	return false
}

// covers reports whether no more is missing than what is supposed to hold.
func (s supposition) covers(missing []ovnexpr.Decision) bool {
	for _, d := range missing {
		found := false
		for _, at := range s.holds {
			found = found || d.Leaf != nil && at == d.Leaf.Range()
		}
		if !found {
			return false
		}
	}
	return len(missing) > 0
}

// without leaves the flows of an object out: those of its stages whose hint it is.
func (o *overlay) without(of *logicalflow.Flow) {
	hint := of.Row.ExternalIDs["stage-hint"]
	o.absent = append(o.absent, func(f *logicalflow.Flow) bool {
		return f == of || hint != "" && f.Row.ExternalIDs["stage-hint"] == hint
	})
}

// suppose lets a rule that came near allow the packet.
func (o *overlay) suppose(m miss) {
	s := supposition{datapath: m.visit.Datapath, flow: m.flow}
	for _, d := range m.missing { // near rules miss nothing but parts of their match
		s.holds = append(s.holds, d.Leaf.Range())
	}
	o.supposed = append(o.supposed, s)
}
