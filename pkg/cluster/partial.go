package cluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// A partial Southbound is one of which not all logical flows were saved. What asks
// for others gets an error: no flow would be a wrong answer.
type partial struct {
	*ovsdb.Snapshot
	datapaths []string // whose flows, or groups, are there
	why       string
}

// whole is the database of a capture as far as its index says that it is whole.
func whole(db *ovsdb.Snapshot, x *archive.Index, name string) ovsdb.Reader {
	if !db.Has(logicalFlow, "") || x == nil {
		return db
	}
	p := &partial{Snapshot: db, why: "reading them was not finished"}
	for _, d := range x.Databases {
		if d.File != name {
			continue
		}
		switch LogicalFlows(d.LogicalFlows) {
		case AllFlows:
			return db
		case LocalFlows:
			p.datapaths, p.why = d.Datapaths, "it was written with --logical-flows local"
		case NoFlows:
			p.why = "it was written with --logical-flows none"
		}
	}
	return p
}

// Select refuses to answer for flows that are not there.
func (p *partial) Select(ctx context.Context, queries ...*ovsdb.Query) error {
	for _, q := range queries {
		if q.Table() == logicalFlow && !p.covers(q.Where) {
			return fmt.Errorf("%s: the capture lacks logical flows, %s: %w", p.Origin(), p.why, node.ErrUnavailable)
		}
	}
	return p.Snapshot.Select(ctx, queries...)
}

// covers reports whether all flows for which the conditions may hold are there.
func (p *partial) covers(where []ovsdb.Condition) bool {
	for _, c := range where {
		id, ok := c.Value.(ovsdb.UUID)
		switch {
		case !ok || c.Function != "==" || p.datapaths == nil:
		case c.Column == "logical_datapath":
			return slices.Contains(p.datapaths, string(id))
		case c.Column == "logical_dp_group", c.Column == "_uuid":
			// A group without a datapath that is there is asked for by nobody else.
			return true
		}
	}
	return false
}
