package watch

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// patience is how long somebody may take to catch up before it is an event.
const patience = 15 * time.Second

// mostGoals bounds the goals that are not reached yet.
const mostGoals = 256

// A progress follows nb_cfg: a client counts it up in the Northbound to ask for an echo. ovn-northd copies it to the
// Southbound and to sb_cfg, each chassis to its row of Chassis_Private, and ovn-northd the least of these to hv_cfg.
type progress struct {
	asked     goal                 // by the last client
	pending   []goal               // not in force everywhere yet, the oldest first
	inForce   *goal                // everywhere, and not reported yet
	north     int                  // sb_cfg: what ovn-northd has carried out
	overdueNB bool                 // ovn-northd is reported as behind
	south     goal                 // what ovn-northd asks of the chassis
	behind    map[string]*standing // by Chassis.name
}

// A goal is an nb_cfg and since when it is wanted.
type goal struct {
	cfg     int
	since   time.Time
	northd  time.Duration // how long ovn-northd took
	carried bool          // ovn-northd has reached it
	all     time.Time     // when every chassis had
}

// A standing is how far a chassis is.
type standing struct {
	name  string // by which the node is known
	cfg   int
	at    time.Time // when it got there
	tardy bool      // reported as silent
}

// northGlobal follows what is asked of ovn-northd, and what has become of it.
func (r *report) northGlobal(now nb.Global) {
	if now.NBCfg != r.asked.cfg {
		r.asked = goal{cfg: now.NBCfg, since: r.now}
		if !r.silent && len(r.pending) < mostGoals {
			r.pending = append(r.pending, r.asked)
		}
	}
	r.north = now.SBCfg
	for i := range r.pending {
		if g := &r.pending[i]; !g.carried && g.cfg <= r.north {
			g.carried, g.northd = true, r.now.Sub(g.since)
		}
	}
	if r.overdueNB && r.north >= r.asked.cfg {
		r.overdueNB = false
		r.add(Event{Kind: Progress, Action: "caught-up", Object: "ovn-northd", Names: []string{"ovn-northd"},
			Message: fmt.Sprintf("has caught up with the Northbound, after %s", span(r.now.Sub(r.asked.since)))})
	}
	var reached *goal
	for len(r.pending) > 0 && r.pending[0].cfg <= now.HVCfg {
		reached, r.pending = &r.pending[0], r.pending[1:]
	}
	if reached != nil {
		if r.inForce != nil {
			r.converged(*r.inForce)
		}
		r.inForce, reached.all = reached, r.now
	}
}

// hearsay is how long the Southbound may take to tell of a chassis after the Northbound has told of all.
const hearsay = time.Second

// echoed reports that all chassis have reached a goal, once the Southbound has told of each: the databases are read
// side by side, and the Northbound's word may come first.
func (r *report) echoed() {
	g := r.inForce
	if g == nil {
		return
	}
	if r.now.Sub(g.all) < hearsay {
		for name, s := range r.behind {
			if s.cfg < g.cfg && r.echoes(name) {
				return
			}
		}
	}
	r.inForce = nil
	r.converged(*g)
}

// converged reports that a goal is in force on all chassis.
func (r *report) converged(g goal) {
	e := Event{Kind: Progress, Action: "converged", Object: fmt.Sprintf("nb_cfg %d", g.cfg), Names: []string{"ovn-northd"},
		Message: fmt.Sprintf("in force on every chassis after %s: ovn-northd took %s", span(g.all.Sub(g.since)), span(g.northd))}
	e.Convergence = &Convergence{Northd: g.northd, All: g.all.Sub(g.since)}
	for _, s := range r.behind {
		if s.reached(g) {
			e.Convergence.Chassis = append(e.Convergence.Chassis, s.took(g))
		}
	}
	if slow := r.slowest(g); slow != nil {
		e.Message += fmt.Sprintf("; slowest chassis %s, after %s", slow.name, span(slow.took(g)))
		e.Names = append(e.Names, slow.name)
	}
	r.add(e)
}

// reached reports whether a chassis was seen to reach a goal.
func (s *standing) reached(g goal) bool { return s.cfg >= g.cfg && s.at.After(g.since) }

// took returns how long a chassis needed for a goal: no longer than all did, whenever the Southbound told of it.
func (s *standing) took(g goal) time.Duration { return min(s.at.Sub(g.since), g.all.Sub(g.since)) }

// slowest returns the chassis that reached a goal last of all; nil if unknown.
func (r *report) slowest(g goal) *standing {
	var last *standing
	for _, s := range r.behind {
		if s.reached(g) && (last == nil || s.at.After(last.at)) {
			last = s
		}
	}
	return last
}

func (r *report) southGlobal(now sb.Global) {
	if now.NBCfg != r.south.cfg {
		r.south = goal{cfg: now.NBCfg, since: r.now}
	}
}

// reached notes how far a chassis is.
func (r *report) reached(_ ovsdb.UUID, _, now *sb.ChassisPrivate) {
	if now == nil {
		return
	}
	s := r.behind[now.Name]
	if s == nil {
		s = &standing{cfg: -1}
		r.behind[now.Name] = s
	}
	s.name = r.chassisNamed(now.Name)
	if s.cfg == now.NBCfg {
		return
	}
	s.cfg, s.at = now.NBCfg, r.now
	if s.tardy && s.cfg >= r.south.cfg {
		s.tardy = false
		r.add(Event{Kind: Chassis, Action: "caught-up", Object: "chassis " + s.name, By: s.name, Names: unique(s.name, now.Name),
			Message: fmt.Sprintf("has caught up with the Southbound, after %s", span(r.now.Sub(r.south.since)))})
	}
}

// echoes reports whether a chassis has an ovn-controller here, which would have to catch up.
func (r *report) echoes(name string) bool {
	row, ok := r.chassisOf(name)
	return ok && !row.VTEP() && row.OtherConfig["is-remote"] != "true"
}

// chassisOf returns the row of a chassis by its name.
func (r *report) chassisOf(name string) (sb.Chassis, bool) {
	for _, row := range r.chassis {
		if row.Name == name {
			return row, true
		}
	}
	return sb.Chassis{}, false
}

// chassisNamed returns the name by which a chassis is known.
func (r *report) chassisNamed(name string) string {
	if row, ok := r.chassisOf(name); ok {
		return called(row)
	}
	return name
}

// overdue reports who does not catch up.
func (r *report) overdue() {
	if !r.overdueNB && r.north < r.asked.cfg && r.now.Sub(r.asked.since) >= patience {
		r.overdueNB = true
		r.add(Event{Kind: Progress, Action: "behind", Object: "ovn-northd", Names: []string{"ovn-northd"},
			Message: fmt.Sprintf("has not carried out what was asked for %s ago: sb_cfg %d, nb_cfg %d", span(r.now.Sub(r.asked.since)), r.north, r.asked.cfg),
			Effect:  "changes of the Northbound are not in force"})
	}
	if r.now.Sub(r.south.since) < patience {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(r.behind)) {
		s := r.behind[name]
		if s.tardy || s.cfg >= r.south.cfg {
			continue
		}
		if !r.echoes(name) {
			continue
		}
		s.tardy = true
		r.add(Event{Kind: Chassis, Action: "silent", Object: "chassis " + s.name, Names: unique(s.name, name),
			Message: fmt.Sprintf("silent: nb_cfg %d, the Southbound asked for %d %s ago", s.cfg, r.south.cfg, span(r.now.Sub(r.south.since))),
			Effect:  "changes since then are not in force there"})
	}
}
