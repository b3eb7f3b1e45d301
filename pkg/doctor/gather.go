package doctor

import (
	"slices"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A Gathering has the hosts that checks which judge each host by itself are done with. Nil has none.
type Gathering struct {
	mu   sync.Mutex
	done map[*Check]map[*snapshot.Host]clean
}

// A clean host is one where a check found nothing.
type clean struct{ noSwitch, noOVN, skipped bool }

// Gather reads what checks ask of the hosts, many hosts side by side: [Examine] would have each check read one host after
// the other. Where the checks that judge each host by itself find nothing, they need not look again, and the host's flows
// are forgotten: those of many hosts would fill the memory. Hosts that cannot be reached are left out. It tells each host
// that is done, one at a time; tell may be nil.
func Gather(d *snapshot.Deployment, checks []*Check, tell func(h *snapshot.Host, reached bool)) *Gathering {
	g := &Gathering{done: map[*Check]map[*snapshot.Host]clean{}}
	d.Visit(func(h *snapshot.Host) {
		alone := d.Alone(h)
		allClean := true
		for _, c := range checks {
			p := &Pass{Deployment: alone, Check: c}
			ran := p.rehearse()
			if c.EachHost && !(ran && g.keep(h, p)) {
				allClean = false
			}
		}
		if allClean {
			h.ForgetFlows()
		}
	}, tell)
	return g
}

// keep notes that a check is done with a host, unless it found something: that may take another look, and the other hosts.
func (g *Gathering) keep(h *snapshot.Host, p *Pass) (done bool) {
	if slices.ContainsFunc(p.Findings, func(f Finding) bool { return f.Result != Skipped }) {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done[p.Check] == nil {
		g.done[p.Check] = map[*snapshot.Host]clean{}
	}
	g.done[p.Check][h] = clean{p.noSwitch, p.noOVN, len(p.Findings) > 0}
	return true
}

// rest returns a pass of a check over the hosts that it is not done with.
func (g *Gathering) rest(d *snapshot.Deployment, c *Check) *Pass {
	p := &Pass{Deployment: d, Check: c}
	if g == nil || len(g.done[c]) == 0 {
		return p
	}
	var left []*snapshot.Host
	for _, h := range d.Hosts {
		before, done := g.done[c][h]
		if !done {
			left = append(left, h)
			continue
		}
		p.noSwitch, p.noOVN = p.noSwitch || before.noSwitch, p.noOVN || before.noOVN
		p.applied = p.applied || !before.skipped
	}
	p.Deployment = d.Among(left)
	return p
}

// gatherAgain is Gather for one check, on hosts that were reached before.
func gatherAgain(d *snapshot.Deployment, c *Check) {
	if len(d.Hosts) < 2 {
		return
	}
	d.SideBySide(len(d.Hosts), func(i int) {
		h := d.Hosts[i]
		_, _ = h.Switch() // what begins with a database reads this of each host, and does not rehearse
		_, _, _ = h.ChassisName()
		(&Pass{Deployment: d.Alone(h), Check: c}).rehearse()
	})
}

// rehearse runs the check for what it reads alone, and reports whether it ran.
func (p *Pass) rehearse() (ran bool) {
	defer func() {
		if recover() != nil { // Examine reports a check that fails
			ran = false
		}
	}()
	if p.Check.Begin == nil || p.Check.EachHost { // what is between the hosts has a start of its own
		p.Check.Run(p)
	}
	return true
}
