package cluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// A partial Southbound lacks some logical flows. Queries for those fail: an empty result would be wrong.
type partial struct {
	*ovsdb.Snapshot
	datapaths []string // datapaths or groups with flows
	why       string
}

// whole returns a capture's database, partial unless its index says it is whole.
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

// Select fails for flows that were not saved.
func (p *partial) Select(ctx context.Context, queries ...*ovsdb.Query) error {
	for _, q := range queries {
		if q.Table() == logicalFlow && !p.covers(q.Where) {
			return fmt.Errorf("%s: the capture lacks logical flows, %s: %w", p.Origin(), p.why, node.ErrUnavailable)
		}
	}
	return p.Snapshot.Select(ctx, queries...)
}

// covers reports whether all flows that the conditions may match were saved.
func (p *partial) covers(where []ovsdb.Condition) bool {
	for _, c := range where {
		id, ok := c.Value.(ovsdb.UUID)
		switch {
		case !ok || c.Function != "==" || p.datapaths == nil:
		case c.Column == "logical_datapath":
			return slices.Contains(p.datapaths, string(id))
		case c.Column == "logical_dp_group", c.Column == "_uuid":
			// Nobody else asks for a group without a saved datapath.
			return true
		}
	}
	return false
}
