package doctor

import (
	"sync"

	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A Gathering has what checks found out about hosts one by one, and the hosts that they are not done with. With nil they are done with none.
type Gathering struct {
	mu   sync.Mutex
	left map[question]bool  // true for a host that a check is not done with
	done map[*Check]outcome // of the other hosts together
}

// A question is what a check asks of a host.
type question struct {
	by *Check
	of *snapshot.Host
}

// Gather reads what checks ask of the hosts, many hosts side by side. Where a check finds nothing on a host it need not look at it again, and where
// none does the host forgets what is large: that of many hosts would fill the memory. Hosts that cannot be reached are left out. It tells each host
// that is done, one at a time; tell may be nil.
func Gather(d *snapshot.Deployment, checks []*Check, tell func(h *snapshot.Host, reached bool)) *Gathering {
	g := &Gathering{left: map[question]bool{}, done: map[*Check]outcome{}}
	if d.InTurn() && needGround(d, checks) {
		_, _ = GroundOf(d) // else the first hosts wait for all, with their flows in memory
	}
	var inOrder, last []*Check
	for _, c := range checks {
		if c.Flows { // so that a host has them in memory for a short while
			last = append(last, c)
		} else {
			inOrder = append(inOrder, c)
		}
	}
	inOrder = append(inOrder, last...)
	d.Visit(func(h *snapshot.Host) {
		one, alone := d.OneHost(h), d.Alone(h)
		allClean := true
		for _, c := range inOrder {
			if c.Host != nil && !g.keep(one, c, h) {
				allClean = false
			}
			rehearse(alone, c)
		}
		if allClean {
			h.Forget()
		}
	}, tell)
	return g
}

// keep has a check judge a host, and notes that it is done with it unless it found something: that may take another look, and the other hosts.
func (g *Gathering) keep(d *snapshot.Deployment, c *Check, h *snapshot.Host) (done bool) {
	j, err := onHost(d, c, h)
	done = err == nil && j.clean()
	g.mu.Lock()
	defer g.mu.Unlock()
	if done {
		g.done[c] = g.done[c].and(j.outcome)
	} else {
		g.left[question{c, h}] = true
	}
	return done
}

// rest returns the hosts that a check is not done with, and the outcome of those that it is.
func (g *Gathering) rest(d *snapshot.Deployment, c *Check) (left []*snapshot.Host, done outcome) {
	if g == nil {
		return d.Hosts, done
	}
	for _, h := range d.Hosts {
		if g.left[question{c, h}] {
			left = append(left, h)
		}
	}
	return left, g.done[c]
}

// gatherAgain is Gather for what one check judges beside the hosts, on hosts that were reached before.
func gatherAgain(d *snapshot.Deployment, c *Check) {
	if len(d.Hosts) < 2 {
		return
	}
	d.SideBySide(len(d.Hosts), func(i int) {
		h := d.Hosts[i]
		_, _ = h.Switch() // what begins with a database reads this of each host, and does not rehearse
		_, _, _ = h.ChassisName()
		rehearse(d.Alone(h), c)
	})
}

// rehearse runs what a check judges beside the hosts, for what it reads alone. What has a Begin reads by that, or by the Ground.
func rehearse(d *snapshot.Deployment, c *Check) {
	if c.Run != nil && c.Begin == nil && !c.Ground {
		_ = guarded(func() { c.Run(&Pass{Deployment: d, Check: c}) }) // Examine reports a check that fails
	}
}
