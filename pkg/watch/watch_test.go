package watch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/replica"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/watch"
)

// A tale is a deployment told row by row, with what a Watcher says to it.
type tale struct {
	w    *watch.Watcher
	now  time.Time
	rows map[ovsdb.UUID]ovsdb.Row
	said []string
}

func begin(south ...ovsdb.Row) *tale {
	s := &tale{w: watch.New(""), now: time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC), rows: map[ovsdb.UUID]ovsdb.Row{}}
	s.take("OVN_Northbound", replica.Initial, "ng", nb.Global{})
	state := replica.Initial
	for i, row := range south {
		s.take("OVN_Southbound", state, ovsdb.UUID(fmt.Sprintf("s%d", i)), row)
	}
	return s
}

// take changes a row; nil removes it.
func (s *tale) take(db string, state replica.State, id ovsdb.UUID, row ovsdb.Row) {
	c := replica.Change{UUID: id, Old: s.rows[id], New: row}
	s.rows[id] = row
	s.say(s.w.Take(db, replica.Update{Time: s.now, State: state, Changes: []replica.Change{c}}))
}

func (s *tale) north(id ovsdb.UUID, row ovsdb.Row) {
	s.take("OVN_Northbound", replica.Changed, id, row)
}
func (s *tale) south(id ovsdb.UUID, row ovsdb.Row) {
	s.take("OVN_Southbound", replica.Changed, id, row)
}

// after lets time pass.
func (s *tale) after(d time.Duration) {
	for end := s.now.Add(d); s.now.Before(end); {
		s.now = s.now.Add(min(time.Second, end.Sub(s.now)))
		s.say(s.w.Tick(s.now))
	}
}

func (s *tale) say(events []watch.Event) {
	for _, e := range events {
		s.said = append(s.said, fmt.Sprintf("%s %s %s: %s", e.Kind, e.Action, e.Object, e.Message))
	}
}

// expect compares what was said since the last time.
func (s *tale) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := strings.Join(s.said, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("said:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
	s.said = nil
}

var (
	node1 = sb.Chassis{UUID: "s0", ChassisIdentity: sb.ChassisIdentity{Name: "n1", Hostname: "node1"}}
	node2 = sb.Chassis{UUID: "s1", ChassisIdentity: sb.ChassisIdentity{Name: "n2", Hostname: "node2"}}
)

func binding(kind string, chassis ...ovsdb.UUID) sb.PortBindingBrief {
	row := sb.PortBindingBrief{Type: kind}
	row.LogicalPort, row.Chassis = "p", chassis
	if kind == "chassisredirect" {
		row.LogicalPort = "cr-p"
	}
	return row
}

// TestFlapping counts moves: the fifth in a minute is a fault, the next are counted, and rest is told.
func TestFlapping(t *testing.T) {
	s := begin(node1, node2)
	s.south("p", binding("", "s0"))
	s.expect(t, "port claimed port p: claimed by node1")
	for range 4 {
		s.after(5 * time.Second)
		s.south("p", binding("", "s1"))
		s.after(5 * time.Second)
		s.south("p", binding("", "s0"))
	}
	s.expect(t,
		"port moved port p: moved from node1 to node2",
		"port moved port p: moved from node2 to node1, the 2nd time within 5.0 s",
		"port moved port p: moved from node1 to node2, the 3rd time within 10 s",
		"port moved port p: moved from node2 to node1, the 4th time within 15 s",
		"port flapping port p: flapping: moved 5 times within 20 s, last from node1 to node2")
	s.after(61 * time.Second)
	s.expect(t, "port settled port p: no longer flapping: has been on node1 for 61 s, after 8 moves")
	s.south("p", binding(""))
	s.after(2 * time.Second)
	s.south("p", binding("", "s0"))
	s.expect(t, "port released port p: released by node1", "port claimed port p: claimed by node1 again, after 2.0 s")
}

// TestGateway names the router port of a gateway.
func TestGateway(t *testing.T) {
	s := begin(node1, node2)
	s.south("p", binding("chassisredirect", "s0"))
	s.south("p", binding("chassisredirect", "s1"))
	s.expect(t, "gateway claimed gateway port p: claimed by node1", "gateway moved gateway port p: moved from node1 to node2")
}

// TestBFD reports what becomes of a session, and nothing of its other columns.
func TestBFD(t *testing.T) {
	s := begin(node1)
	session := sb.BFD{LogicalPort: "lrp0", DstIP: "192.0.2.1", ChassisName: "n1", Status: "init"}
	for _, status := range []string{"init", "up", "up", "down"} {
		session.Status = status
		session.MinRx++
		s.south("b", session)
	}
	s.expect(t, "bfd up BFD session to 192.0.2.1: up at router port lrp0, was init", "bfd down BFD session to 192.0.2.1: down at router port lrp0, was up")
}

// TestSilent reports a chassis that does not catch up, once, and when it has; not one that is of another zone.
func TestSilent(t *testing.T) {
	remote := sb.Chassis{ChassisIdentity: sb.ChassisIdentity{Name: "n3", Hostname: "node3", OtherConfig: map[string]string{"is-remote": "true"}}}
	private := func(name string, cfg int) sb.ChassisPrivate { return sb.ChassisPrivate{Name: name, NBCfg: cfg} }
	s := begin(node1, node2, remote, private("n1", 7), private("n2", 7), private("n3", 0), sb.Global{NBCfg: 7})
	s.after(time.Minute)
	s.expect(t)
	s.south("s6", sb.Global{NBCfg: 8})
	s.after(time.Second)
	s.south("s3", private("n1", 8))
	s.after(40 * time.Second)
	s.expect(t, "chassis silent chassis node2: silent: nb_cfg 7, the Southbound asked for 8 15 s ago")
	s.south("s4", private("n2", 8))
	s.expect(t, "chassis caught-up chassis node2: has caught up with the Southbound, after 41 s")
}

// TestConvergence measures from the Northbound's nb_cfg to the last chassis, also when requests overlap.
func TestConvergence(t *testing.T) {
	private := func(name string, cfg int) sb.ChassisPrivate { return sb.ChassisPrivate{Name: name, NBCfg: cfg} }
	s := begin(node1, node2, private("n1", 0), private("n2", 0))
	global := func(nbCfg, sbCfg, hvCfg int) { s.north("ng", nb.Global{NBCfg: nbCfg, SBCfg: sbCfg, HVCfg: hvCfg}) }
	wait := func(ms int) { s.now = s.now.Add(time.Duration(ms) * time.Millisecond) }
	global(1, 0, 0)
	wait(30)
	global(1, 1, 0)
	wait(40)
	global(2, 1, 0)
	s.south("s2", private("n1", 1))
	wait(30)
	s.south("s3", private("n2", 1))
	global(2, 1, 1)
	s.expect(t, "progress converged nb_cfg 1: in force on every chassis after 100 ms: ovn-northd took 30 ms; slowest chassis node2, after 100 ms")
	s.after(20 * time.Second)
	s.expect(t, "progress behind ovn-northd: has not carried out what was asked for 15 s ago: sb_cfg 1, nb_cfg 2")
	global(2, 2, 1)
	global(2, 2, 2)
	s.after(time.Second)
	s.expect(t, "progress caught-up ovn-northd: has caught up with the Northbound, after 20 s",
		"progress converged nb_cfg 2: in force on every chassis after 20 s: ovn-northd took 20 s")

	// The Northbound's word comes before the Southbound's.
	global(3, 2, 2)
	wait(30)
	global(3, 3, 2)
	s.south("s2", private("n1", 3))
	wait(30)
	global(3, 3, 3)
	s.expect(t)
	wait(20)
	s.south("s3", private("n2", 3))
	s.expect(t, "progress converged nb_cfg 3: in force on every chassis after 60 ms: ovn-northd took 30 ms; slowest chassis node2, after 60 ms")
}

// TestFilter selects by the names of all objects that have a part.
func TestFilter(t *testing.T) {
	e := watch.Event{Kind: watch.Port, Names: []string{"shop/web-1", "shop_web-1", "node1"}}
	for pattern, want := range map[string]bool{
		"shop/web-1": true, "pod/shop/web-1": true, "shop/": true, "shop/web-*": true, "node1": true, "chassis/node1": true, "port/shop_*": true,
		"shop": false, "bank/": false, "web-1": false, "[": false, "shop/web": false,
	} {
		if got := (watch.Filter{Objects: []string{pattern}}).Match(e); got != want {
			t.Errorf("%s: %v", pattern, got)
		}
	}
	if !(watch.Filter{Objects: []string{"x"}}).Match(watch.Event{Kind: watch.Database}) || (watch.Filter{Kinds: []watch.Kind{watch.BFD}}).Match(e) {
		t.Error("events about the databases are for everybody, and only kinds that are asked for match")
	}
}
