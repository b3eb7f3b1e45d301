package decode

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// A Decoder finds what the flows of one chassis are for. Flows and Objects may be nil and may be shared between
// decoders; Names may not.
type Decoder struct {
	Names       *Names
	Calibration Calibration
	Flows       *LogicalFlows
	Objects     *Objects
}

// A Meaning is what an OpenFlow flow of the integration bridge stands for.
type Meaning struct {
	Place
	Datapath *Datapath // the flow's; nil if it matches on none or an unknown one
	// Flow is the logical flow, nil if none was found.
	Flow *sb.LogicalFlowNames
	// Rows are the Southbound rows of a flow outside the logical pipelines.
	Rows []Row
	// Objects are what the flow is for; usually one, often none.
	Objects []Object
	// Unknown is why there is neither flow nor row, or what is inconsistent; empty for flows that come from no row.
	Unknown string
	// UnknownObject is why an object that the flow refers to was not found.
	UnknownObject string
}

// Decode returns the meaning of a flow.
func (d *Decoder) Decode(ctx context.Context, seen Seen) Meaning {
	m := Meaning{Datapath: d.Names.Datapath(seen.Metadata)}
	var kind Kind
	if m.Datapath != nil {
		kind = m.Datapath.Kind
	}
	m.Place = d.Calibration.Table(seen.Table, kind)
	if seen.Cookie != 0 {
		if m.Pipeline == "" {
			d.physical(seen, &m)
		}
		if len(m.Rows) == 0 && m.Physical == "" {
			d.logical(ctx, seen, &m)
		}
	}
	if m.Pipeline != "" && m.Stage == "" {
		m.Stage = d.Flows.stage(ctx, m.Datapath, m.Pipeline, m.Table)
	}
	return m
}

// logical finds the logical flow and the objects that it is for.
func (d *Decoder) logical(ctx context.Context, seen Seen, m *Meaning) {
	key := FlowKey{Cookie: seen.Cookie, Pipeline: m.Pipeline, Table: m.Table, Priority: seen.Priority}
	if m.Datapath != nil {
		key.Datapath = m.Datapath.UUID
	}
	rows, unknown := d.Flows.Lookup(ctx, key)
	if m.Unknown = unknown; len(rows) == 0 {
		return
	}
	m.Flow = &rows[0]
	switch {
	case len(rows) > 1:
		m.Unknown = fmt.Sprintf("%d logical flows begin with %08x; the first is shown", len(rows), seen.Cookie)
	case !key.fits(rows[0]):
		m.Unknown = fmt.Sprintf("its logical flow is of %s table %d, priority %d: the flow is stale",
			m.Flow.Pipeline, m.Flow.TableID, m.Flow.Priority)
	}
	m.Stage = cmp.Or(m.Flow.ExternalIDs["stage-name"], m.Stage)
	m.Objects, m.UnknownObject = d.Objects.Of(ctx, m.Stage, m.Flow.ExternalIDs["stage-hint"])
	if m.UnknownObject != "" {
		if acl, ok := d.Objects.ACL(ctx, m.Stage, m.Flow.Match, m.Flow.Priority); ok {
			m.Objects, m.UnknownObject = []Object{acl}, ""
		}
	}
}

// physical finds the row behind a flow in ovn-controller's own tables.
func (d *Decoder) physical(seen Seen, m *Meaning) {
	m.Rows = d.Names.Rows(seen.Cookie, m.Physical)
	if len(m.Rows) == 0 {
		m.Unknown = "no row of OVN_Southbound begins with the flow's cookie"
	}
	for _, row := range m.Rows {
		m.Objects = append(m.Objects, row.object())
	}
}

// Calibrate learns the tables of a chassis from its flows and from what else is known of it.
func (d *Decoder) Calibrate(ctx context.Context, flows []Seen) {
	version := d.Names.Version
	if version == (release.Version{}) {
		version = d.Names.northd
	}
	evidence := d.Flows.joinRows(ctx, d.Names.Logical, distinct(flows))
	d.Calibration = calibrate(evidence, version)
	d.Objects.prefetch(ctx, evidence)
}

// distinct drops flows that add no information, since steps of a trace repeat.
func distinct(flows []Seen) []Seen {
	type id struct {
		table, priority  int
		cookie, metadata uint64
	}
	seen := map[id]bool{}
	return slices.DeleteFunc(slices.Clone(flows), func(f Seen) bool {
		k := id{f.Table, f.Priority, f.Cookie, f.Metadata}
		again := seen[k] && f.Cookie != 0
		seen[k] = true
		return again
	})
}
