package evidence

import (
	"fmt"
	"slices"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// What of a server's time the logical flows of a node are worth: for every datapath or group it looks at all of them.
const (
	requestTime  = 50 * time.Millisecond   // for one request
	fewDatapaths = 200                     // of a Southbound: with so many the logical flows of one are enough for a first request
	mostlyHere   = 16                      // of a Southbound: with so few nearly all are on any node
	serverTime   = 2500 * time.Millisecond // for all of them
)

// A LogicalFlow is a row of Logical_Flow, as far as a node's flows are held against it.
type LogicalFlow struct {
	UUID     ovsdb.UUID `ovsdb:"_uuid"`
	Pipeline string     `ovsdb:"pipeline"`
	TableID  int        `ovsdb:"table_id"`
	Priority int        `ovsdb:"priority"`
	Match    string     `ovsdb:"match"`
	Actions  string     `ovsdb:"actions"`

	Owner ovsdb.UUID // the datapath or the group of datapaths that it is for
}

// Table returns Logical_Flow.
func (LogicalFlow) Table() string { return "Logical_Flow" }

// DatapathGroups are the groups of datapaths that logical flows are for; none where the Southbound knows no groups.
func (z *Zone) DatapathGroups() ([]sb.LogicalDPGroup, error) {
	return remember(&z.memo, "evidence.DatapathGroups", func() ([]sb.LogicalDPGroup, error) {
		db, err := z.SB()
		if err != nil || !db.Has("Logical_Flow", "logical_dp_group") {
			return nil, err
		}
		return ovsdb.Find[sb.LogicalDPGroup](z.d.ctx, db)
	})
}

// AllLogicalFlows are those of a Southbound with so few datapaths that a node has most of them: they can be read before
// it is known which it has. Of a larger one there are none.
func (z *Zone) AllLogicalFlows() ([]LogicalFlow, error) {
	return remember(&z.memo, "evidence.LogicalFlows", func() ([]LogicalFlow, error) {
		s, err := z.Southbound()
		if err != nil || len(s.Datapaths) > mostlyHere {
			return nil, err
		}
		shared, err := z.DatapathGroups()
		if err != nil {
			return nil, err
		}
		var datapaths, groups []ovsdb.UUID
		for _, d := range s.Datapaths {
			datapaths = append(datapaths, d.UUID)
		}
		for _, g := range shared {
			groups = append(groups, g.UUID)
		}
		return z.LogicalFlows(datapaths, groups)
	})
}

// LogicalFlows reads the logical flows of datapaths and of groups of them: as many in one request as the server answers
// in requestTime. It is an error if it needs more than serverTime for all.
func (z *Zone) LogicalFlows(datapaths, groups []ovsdb.UUID) ([]LogicalFlow, error) {
	db, err := z.SB()
	if err != nil {
		return nil, err
	}
	s, err := z.Southbound()
	if err != nil {
		return nil, err
	}
	owners := slices.Concat(datapaths, groups)
	answers := make([][]LogicalFlow, len(owners))
	batch := max(1, fewDatapaths/max(1, len(s.Datapaths))) // a first guess
	began := time.Now()
	for at := 0; at < len(owners); {
		if time.Since(began) > serverTime {
			return nil, fmt.Errorf("logical flows of %d datapaths and groups were asked for, and those of %d read in %s: the Southbound is not kept busy for longer", len(owners), at, serverTime)
		}
		var queries []*ovsdb.Query
		for i := at; i < min(at+batch, len(owners)); i++ {
			column := "logical_datapath"
			if i >= len(datapaths) {
				column = "logical_dp_group"
			}
			queries = append(queries, &ovsdb.Query{Rows: &answers[i], Where: []ovsdb.Condition{ovsdb.Where(column, "==", owners[i])}})
		}
		start := time.Now()
		if err := db.Select(z.d.ctx, queries...); err != nil {
			return nil, err
		}
		at += len(queries)
		batch = max(1, min(4*batch, int(time.Duration(len(queries))*requestTime/max(1, time.Since(start)))))
	}
	for i, rows := range answers {
		for j := range rows {
			rows[j].Owner = owners[i]
		}
	}
	return slices.Concat(answers...), nil
}
