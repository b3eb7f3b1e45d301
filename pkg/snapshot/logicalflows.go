package snapshot

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// Limits on server time for a node's logical flows: for every datapath or group the server scans all of them.
const (
	requestTime  = 50 * time.Millisecond   // for one request
	fewDatapaths = 200                     // datapaths: from that many on, a first request reads the logical flows of one
	readAhead    = 16                      // datapaths: up to that many, their logical flows are read in advance
	serverTime   = 2500 * time.Millisecond // for all of them
)

// DatapathGroups returns the datapath groups of logical flows; none if the Southbound has no groups.
func (z *Zone) DatapathGroups() ([]sb.LogicalDPGroup, error) {
	return read(&z.memo, question{"rows of", "DatapathGroups"}, func() ([]sb.LogicalDPGroup, error) {
		db, err := z.SB()
		if err != nil || !db.Has("Logical_Flow", "logical_dp_group") {
			return nil, err
		}
		return ovsdb.Find[sb.LogicalDPGroup](z.d.ctx, db)
	})
}

// likelyDatapaths returns the datapaths that a chassis has flows of, judged by its ports: their own, and all that
// ovn-controller reaches from there through patch ports. It stops at a distributed gateway port of another chassis if
// packets are always sent there. (Only the flows are certain, and they take longer.)
func (s *Southbound) likelyDatapaths(c *sb.Chassis) []ovsdb.UUID {
	ports := map[ovsdb.UUID][]*sb.PortBindingBrief{}
	named := make(map[string]*sb.PortBindingBrief, len(s.PortBindings))
	for i := range s.PortBindings {
		b := &s.PortBindings[i]
		ports[b.Datapath] = append(ports[b.Datapath], b)
		named[b.LogicalPort] = b
	}
	groups := s.groupsWith(c)
	resident := func(b *sb.PortBindingBrief) bool {
		return b.Chassis.Has(c.UUID) || b.AdditionalChassis.Has(c.UUID) || slices.ContainsFunc(b.HAChassisGroup, groups.Has)
	}
	var all []ovsdb.UUID
	seen := map[ovsdb.UUID]bool{}
	reach := func(d ovsdb.UUID) {
		if !seen[d] {
			seen[d] = true
			all = append(all, d)
		}
	}
	for i := range s.PortBindings {
		if resident(&s.PortBindings[i]) {
			reach(s.PortBindings[i].Datapath)
		}
	}
	for at := 0; at < len(all); at++ {
		for _, b := range ports[all[at]] {
			peer := named[b.Options["peer"]]
			gateway := named[b.Options["chassis-redirect-port"]]
			if b.Type != "patch" || peer == nil || gateway != nil && gateway.Options["always-redirect"] == "true" && !resident(gateway) {
				continue
			}
			reach(peer.Datapath)
		}
	}
	return all
}

// groupsWith returns the HA_Chassis_Groups that a chassis is in.
func (s *Southbound) groupsWith(c *sb.Chassis) ovsdb.Set[ovsdb.UUID] {
	var members, groups ovsdb.Set[ovsdb.UUID]
	for _, m := range s.HAChassis {
		if m.Chassis.Has(c.UUID) {
			members = append(members, m.UUID)
		}
	}
	for _, g := range s.HAGroups {
		if slices.ContainsFunc(g.HAChassis, members.Has) {
			groups = append(groups, g.UUID)
		}
	}
	return groups
}

// Likely has the logical flows of a chassis' likely datapaths.
type Likely struct {
	Datapaths []ovsdb.UUID
	Rows      []sb.LogicalFlowBrief
}

// LikelyFlows can run while the flows that show a chassis' actual datapaths are still being read. For a large
// Southbound it returns none.
func (z *Zone) LikelyFlows(chassis string) (*Likely, error) {
	return Derive(z, chassis, func() (*Likely, error) {
		s, err := z.Southbound()
		if err != nil {
			return nil, err
		}
		c := s.ChassisNamed(chassis)
		if c == nil || len(s.Datapaths) > readAhead {
			return &Likely{}, nil
		}
		groups, err := z.DatapathGroups()
		if err != nil {
			return nil, err
		}
		of := s.likelyDatapaths(c)
		rows, err := z.LogicalFlows(of, groupsOf(groups, of))
		return &Likely{of, rows}, err
	})
}

// groupsOf returns the groups that contain one of the datapaths.
func groupsOf(groups []sb.LogicalDPGroup, datapaths []ovsdb.UUID) []ovsdb.UUID {
	var with []ovsdb.UUID
	for _, g := range groups {
		if slices.ContainsFunc(g.Datapaths, func(d ovsdb.UUID) bool { return slices.Contains(datapaths, d) }) {
			with = append(with, g.UUID)
		}
	}
	return with
}

// LogicalFlows reads the logical flows of datapaths and groups, each once, with as many in one request as the server
// handles in requestTime. It fails if all would take more than serverTime.
func (z *Zone) LogicalFlows(datapaths, groups []ovsdb.UUID) ([]sb.LogicalFlowBrief, error) {
	db, err := z.SB()
	if err != nil {
		return nil, err
	}
	s, err := z.Southbound()
	if err != nil {
		return nil, err
	}
	z.flows.Lock()
	defer z.flows.Unlock()
	if z.flows.of == nil {
		z.flows.of = map[ovsdb.UUID][]sb.LogicalFlowBrief{}
	}
	began := time.Now()
	batch := max(1, fewDatapaths/max(1, len(s.Datapaths))) // a first guess
	for missing := z.flows.missing(datapaths, groups); len(missing) > 0; {
		if time.Since(began) > serverTime {
			return nil, fmt.Errorf("reading the logical flows of %d datapaths and groups stopped with %d left after %s, to spare the Southbound", len(datapaths)+len(groups), len(missing), serverTime)
		}
		now := missing[:min(batch, len(missing))]
		answers, queries := make([][]sb.LogicalFlowBrief, len(now)), make([]*ovsdb.Query, len(now))
		for i, o := range now {
			queries[i] = &ovsdb.Query{Rows: &answers[i], Where: []ovsdb.Condition{ovsdb.Where(o.column, "==", o.id)}}
		}
		start := time.Now()
		err := db.Select(z.d.ctx, queries...)
		z.memo.note(question{"rows of", "LogicalFlows"}, time.Since(start), err)
		if err != nil {
			return nil, err
		}
		for i, o := range now {
			for j := range answers[i] {
				answers[i][j].Owner = o.id
			}
			z.flows.of[o.id] = answers[i]
		}
		missing = missing[len(now):]
		batch = max(1, min(4*batch, int(time.Duration(len(now))*requestTime/max(1, time.Since(start)))))
	}
	var rows []sb.LogicalFlowBrief
	for _, id := range slices.Concat(datapaths, groups) {
		rows = append(rows, z.flows.of[id]...)
	}
	return rows, nil
}

// logicalFlows are the flows read so far, by datapath or group.
type logicalFlows struct {
	sync.Mutex
	of map[ovsdb.UUID][]sb.LogicalFlowBrief
}

// An owner is a datapath or datapath group, and the column of Logical_Flow that refers to it.
type owner struct {
	column string
	id     ovsdb.UUID
}

// missing returns the owners not read yet.
func (f *logicalFlows) missing(datapaths, groups []ovsdb.UUID) []owner {
	var owners []owner
	for _, id := range datapaths {
		owners = append(owners, owner{"logical_datapath", id})
	}
	for _, id := range groups {
		owners = append(owners, owner{"logical_dp_group", id})
	}
	return slices.DeleteFunc(owners, func(o owner) bool {
		_, known := f.of[o.id]
		return known
	})
}
