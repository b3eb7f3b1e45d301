package snapshot

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// What of a server's time the logical flows of a node are worth: for every datapath or group it looks at all of them.
const (
	requestTime  = 50 * time.Millisecond   // for one request
	fewDatapaths = 200                     // of a Southbound: with so many the logical flows of one are enough for a first request
	readAhead    = 16                      // of a Southbound: with so few their logical flows are read before it is known that they are needed
	serverTime   = 2500 * time.Millisecond // for all of them
)

// DatapathGroups are the groups of datapaths that logical flows are for; none where the Southbound knows no groups.
func (z *Zone) DatapathGroups() ([]sb.LogicalDPGroup, error) {
	return read(&z.memo, question{"rows of", "DatapathGroups"}, func() ([]sb.LogicalDPGroup, error) {
		db, err := z.SB()
		if err != nil || !db.Has("Logical_Flow", "logical_dp_group") {
			return nil, err
		}
		return ovsdb.Find[sb.LogicalDPGroup](z.d.ctx, db)
	})
}

// likelyDatapaths are those that a chassis has flows of, as its ports tell: their own, and all that ovn-controller
// comes to from there by patch ports. It stops at a distributed gateway port of another chassis where that always has
// packets sent there. (The flows themselves say it for sure, and take longer.)
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

// groupsWith are the HA_Chassis_Groups that a chassis is a member of.
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

// Likely are the logical flows of the datapaths that a chassis most likely has.
type Likely struct {
	Datapaths []ovsdb.UUID
	Rows      []sb.LogicalFlowBrief
}

// LikelyFlows can be read while the flows that tell what a chassis has are still on their way. Of a large Southbound
// there are none.
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

// groupsOf are the groups that have one of some datapaths.
func groupsOf(groups []sb.LogicalDPGroup, datapaths []ovsdb.UUID) []ovsdb.UUID {
	var with []ovsdb.UUID
	for _, g := range groups {
		if slices.ContainsFunc(g.Datapaths, func(d ovsdb.UUID) bool { return slices.Contains(datapaths, d) }) {
			with = append(with, g.UUID)
		}
	}
	return with
}

// LogicalFlows reads the logical flows of datapaths and of groups of them, each once, and as many in one request as the
// server answers in requestTime. It is an error if it needs more than serverTime for all.
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
		if err := db.Select(z.d.ctx, queries...); err != nil {
			return nil, err
		}
		z.memo.timed(question{"rows of", "LogicalFlows"}, time.Since(start))
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

// logicalFlows are those that were read, by the datapath or group that they are for.
type logicalFlows struct {
	sync.Mutex
	of map[ovsdb.UUID][]sb.LogicalFlowBrief
}

// An owner is a datapath or a group of them, and the column of Logical_Flow that names it.
type owner struct {
	column string
	id     ovsdb.UUID
}

// missing are those that were not read.
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
