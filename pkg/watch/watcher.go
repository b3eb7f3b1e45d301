package watch

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/replica"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// Northbound and Southbound are the rows that a Watcher is told of. Logical_Flow is not among them: it is most of a
// Southbound, and what ovn-northd makes of rows that are.
var (
	Northbound = []ovsdb.Row{
		nb.Global{}, nb.LogicalSwitchContents{}, nb.PortGroupContents{}, nb.LogicalSwitchPortBrief{}, nb.ACLBrief{}, nb.LoadBalancer{},
		nb.LogicalRouterContents{}, nb.LogicalRouterPort{}, nb.StaticRoute{}, nb.Policy{}, nb.NAT{},
	}
	Southbound = []ovsdb.Row{
		sb.Global{}, sb.Chassis{}, sb.ChassisPrivate{}, sb.PortBindingBrief{}, sb.MACBinding{}, sb.BFD{},
	}
)

// A Watcher follows one zone. Its memory grows with the objects of the zone, not with time.
type Watcher struct {
	zone     string
	ports    map[string]*port // by name
	restless map[string]bool  // names of those that flap
	holders  map[ovsdb.UUID]holder
	chassis  map[ovsdb.UUID]sb.Chassis
	origins  map[string]origin // by database
	progress
}

// A holder is what has an ACL, a port or a route.
type holder struct {
	decode.Holder
	owner decode.Owner
}

// An origin is the server that a database is read from.
type origin struct {
	remote string
	leader bool
	lost   time.Time
}

// New returns the Watcher of a zone; its name may be empty.
func New(zone string) *Watcher {
	return &Watcher{
		zone: zone, ports: map[string]*port{}, restless: map[string]bool{}, holders: map[ovsdb.UUID]holder{}, chassis: map[ovsdb.UUID]sb.Chassis{}, origins: map[string]origin{},
		progress: progress{behind: map[string]*standing{}},
	}
}

// A report collects the events of one update.
type report struct {
	*Watcher
	now    time.Time
	silent bool // the rows were there before
	events []Event
}

// add adds an event; the object is the first of the names.
func (r *report) add(e Event) {
	if r.silent {
		return
	}
	e.Time, e.Zone = r.now, r.zone
	r.events = append(r.events, e)
}

// Take returns the events of an update of a database.
func (w *Watcher) Take(db string, u replica.Update) []Event {
	r := &report{Watcher: w, now: u.Time}
	r.connection(db, u)
	r.silent = u.State == replica.Initial
	r.index(u.Changes)
	var rules []rule
	for _, c := range u.Changes {
		switch row := cmp.Or(c.New, c.Old).(type) {
		case nb.Global:
			r.northGlobal(row)
		case sb.Global:
			r.southGlobal(row)
		case sb.ChassisPrivate:
			r.reached(both[sb.ChassisPrivate](c))
		case sb.Chassis:
			r.chassisChanged(both[sb.Chassis](c))
		case nb.LogicalSwitchPortBrief:
			r.portChanged(both[nb.LogicalSwitchPortBrief](c))
		case sb.PortBindingBrief:
			r.bindingChanged(both[sb.PortBindingBrief](c))
		case nb.ACLBrief:
			rules = append(rules, r.rule(both[nb.ACLBrief](c)))
		case nb.LoadBalancer:
			r.balancerChanged(both[nb.LoadBalancer](c))
		case nb.StaticRoute:
			r.routeChanged(both[nb.StaticRoute](c))
		case nb.Policy:
			r.routerPolicyChanged(both[nb.Policy](c))
		case nb.NAT:
			r.natChanged(both[nb.NAT](c))
		case nb.LogicalRouterPort:
			r.routerPortChanged(both[nb.LogicalRouterPort](c))
		case sb.MACBinding:
			r.neighbourChanged(both[sb.MACBinding](c))
		case sb.BFD:
			r.bfdChanged(both[sb.BFD](c))
		}
	}
	r.policies(rules)
	r.echoed()
	r.forget(u.Changes)
	return r.events
}

// Tick returns the events that only the passing of time brings. Call it about once a second.
func (w *Watcher) Tick(now time.Time) []Event {
	r := &report{Watcher: w, now: now}
	r.overdue()
	r.echoed()
	r.settled()
	slices.SortStableFunc(r.events, func(a, b Event) int { return cmp.Compare(a.Object, b.Object) })
	return r.events
}

// connection reports what became of the connection to a database.
func (r *report) connection(db string, u replica.Update) {
	was := r.origins[db]
	now := origin{remote: u.Origin, leader: u.Clustered && u.Leader}
	switch u.State {
	case replica.Changed:
		return
	case replica.Lost:
		was.lost = r.now
		r.origins[db] = was
		r.add(Event{Kind: Database, Action: "lost", Object: db, Message: fmt.Sprintf("connection to %s lost: %v", u.Origin, u.Err),
			Effect: "what changes meanwhile is shown when it is back", Names: []string{db}})
		return
	case replica.Resumed:
		r.add(Event{Kind: Database, Action: "restored", Object: db, Message: fmt.Sprintf("connected to %s again, after %s%s", u.Origin, span(r.now.Sub(was.lost)), changed(len(u.Changes))), Names: []string{db}})
		if now.leader && was.leader && now.remote != was.remote {
			r.add(Event{Kind: Database, Action: "leader", Object: db, Message: fmt.Sprintf("the leader of the cluster is now %s, was %s", now.remote, was.remote), Names: []string{db}})
		}
	}
	r.origins[db] = now
}

func changed(rows int) string {
	switch rows {
	case 0:
		return "; nothing changed meanwhile"
	case 1:
		return "; 1 row changed meanwhile"
	}
	return fmt.Sprintf("; %d rows changed meanwhile", rows)
}

// index learns the names that events need, before what they name is reported.
func (r *report) index(changes []replica.Change) {
	for _, c := range changes {
		switch row := c.New.(type) {
		case nb.LogicalSwitchContents:
			h := holder{decode.Holder{Kind: decode.SwitchHolder, Name: row.Name}, decode.OwnerOf(row.ExternalIDs)}
			for _, id := range slices.Concat(row.Ports, row.ACLs) {
				r.holders[id] = h
			}
		case nb.PortGroupContents:
			h := holder{decode.Holder{Kind: decode.GroupHolder, Name: row.Name}, decode.GroupOwner(row.Name, row.ExternalIDs)}
			for _, id := range row.ACLs {
				r.holders[id] = h
			}
		case nb.LogicalRouterContents:
			h := holder{decode.Holder{Kind: decode.RouterHolder, Name: row.Name}, decode.OwnerOf(row.ExternalIDs)}
			for _, id := range slices.Concat(row.NAT, row.Policies, row.StaticRoutes, row.Ports) {
				r.holders[id] = h
			}
		case sb.Chassis:
			r.chassis[c.UUID] = row
		}
	}
}

// forget drops the names of what is gone.
func (r *report) forget(changes []replica.Change) {
	for _, c := range changes {
		if c.New != nil {
			continue
		}
		switch row := c.Old.(type) {
		case nb.ACLBrief, nb.LogicalSwitchPortBrief, nb.LogicalRouterPort, nb.StaticRoute, nb.Policy, nb.NAT:
			delete(r.holders, c.UUID)
		case sb.Chassis:
			delete(r.chassis, c.UUID)
		case sb.ChassisPrivate:
			delete(r.behind, row.Name)
		}
	}
}

// at returns the name of the chassis that a port binding refers to; empty if none.
func (r *report) at(ref ovsdb.Set[ovsdb.UUID]) string {
	row, ok := r.chassis[ref.Get()]
	if !ok {
		return ""
	}
	return called(row)
}

// called returns the name of a chassis by which its node is known.
func called(c sb.Chassis) string {
	if c.Hostname != "" {
		return c.Hostname
	}
	return c.Name
}

// both returns a row before and after; nil if there was or is none.
func both[T ovsdb.Row](c replica.Change) (id ovsdb.UUID, old, now *T) {
	if row, ok := c.Old.(T); ok {
		old = &row
	}
	if row, ok := c.New.(T); ok {
		now = &row
	}
	return c.UUID, old, now
}

// span formats a time as somebody would say it.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", max(d, 0).Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return fmt.Sprintf("%d min", int(d.Minutes()))
}
