package doctor

import "github.com/ovnctl/ovnctl/pkg/snapshot"

// Gather reads what checks ask of the hosts, many hosts side by side: [Examine] would have each check read one host after
// the other. Hosts that cannot be reached are left out. It tells each host that is done, one at a time; tell may be nil.
func Gather(d *snapshot.Deployment, checks []*Check, tell func(h *snapshot.Host, reached bool)) {
	d.Visit(func(h *snapshot.Host) {
		alone := d.Alone(h)
		for _, c := range checks {
			(&Pass{Deployment: alone, Check: c}).rehearse()
		}
	}, tell)
}

// gatherAgain is Gather for one check, on hosts that were reached before.
func gatherAgain(d *snapshot.Deployment, c *Check) {
	if len(d.Hosts) > 1 {
		d.SideBySide(len(d.Hosts), func(i int) { (&Pass{Deployment: d.Alone(d.Hosts[i]), Check: c}).rehearse() })
	}
}

// rehearse runs the check for what it reads alone.
func (p *Pass) rehearse() {
	defer func() { _ = recover() }() // Examine reports a check that fails
	if p.Check.Begin == nil {        // what is between the hosts has a start of its own
		p.Check.Run(p)
	}
}
