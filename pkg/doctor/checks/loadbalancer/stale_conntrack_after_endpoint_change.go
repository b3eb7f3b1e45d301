package loadbalancer

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var StaleConntrackAfterEndpointChange = &doctor.Check{
	Name:     "stale-conntrack-after-endpoint-change",
	Category: "lb",
	Doc: `UDP conversations are still sent to a backend that is none any more

Connection tracking remembers the backend of a UDP client as long as the client goes on
sending. When the backend is taken away its packets are lost until it pauses. With --sample
it is seen whether they are in use; without, that they are there is a warning.`,
	Run: func(p *doctor.Pass) {
		p.Chassis(func(c *doctor.Chassis) {
			stale, err := c.StaleConnections()
			switch {
			case err != nil:
				p.Unknown(doctor.NodeObject(c.Name), err)
			case len(stale) > 0:
				staleConnections(p, c, stale)
			}
		})
	},
}

// staleTo are the stale conversations of one virtual address with one former backend.
type staleTo struct{ vip, to netip.AddrPort }

func staleConnections(p *doctor.Pass, c *doctor.Chassis, stale []snapshot.StaleConnection) {
	used, sampled := map[string]bool{}, false
	if p.Sample() >= shortestUse {
		if later, err := p.Later(); err == nil {
			if used, err = stillUsed(c, stale, later, p.Sample()); err != nil {
				p.Unknown(doctor.NodeObject(c.Name), err)
				return
			}
			sampled = true
		}
	}
	by := map[staleTo][]snapshot.StaleConnection{}
	for _, s := range stale {
		if !sampled || used[key(s)] {
			at := staleTo{s.VIP, s.To}
			by[at] = append(by[at], s)
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(by), func(a, b staleTo) int { return cmp.Or(a.vip.Compare(b.vip), a.to.Compare(b.to)) }) {
		list := by[at]
		f := doctor.Finding{
			Result: doctor.Warning,
			Object: doctor.Object{Kind: "load balancer", Name: nameOf(list[0].LB)},
			Also:   []doctor.Object{doctor.NodeObject(c.Name)},
			Title:  fmt.Sprintf("UDP conversations of %s with %s are remembered to go to %s, which is no backend any more", c.Name, at.vip, at.to),
			Cause:  "the backend was taken away while its clients went on sending, and connection tracking remembers it",
			Effect: "the client's packets are lost if it goes on sending from the same port; --sample 15s says whether it does",
			Fix:    catalog.FlushConnections.With(at.vip.String(), c.Name),
		}
		if c.Local {
			f.Fix = catalog.FlushConnections.With(at.vip.String())
		}
		if sampled {
			f.Result = doctor.Error
			f.Title = fmt.Sprintf("UDP conversations of %s with %s go to %s, which is no backend any more", c.Name, at.vip, at.to)
			f.Effect = "packets of the clients are lost until they pause for some minutes"
		}
		for i, s := range list {
			if i == 4 {
				f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("conntrack of " + c.Name), Says: fmt.Sprintf("and %d more", len(list)-i)})
				break
			}
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("conntrack of " + c.Name), Says: fmt.Sprintf("udp, %s to %s, answered by %s, zone %d", s.Orig.Src, s.Orig.Dst, s.Reply.Src, s.Zone)})
		}
		f.Evidence = append(f.Evidence, doctor.NBRow("Load_Balancer", list[0].LB.UUID, "%s: vips:%s=%s", nameOf(list[0].LB), at.vip, doctor.OrEmpty(list[0].LB.VIPs[at.vip.String()])))
		p.Report(f)
	}
}

func key(s snapshot.StaleConnection) string {
	return fmt.Sprintf("%s %d %s %s", s.Datapath, s.Zone, s.Orig.Src, s.Orig.Dst)
}

// shortestUse is the shortest time in which it is seen whether a conversation is in use: what is left until it is
// forgotten is told in whole seconds.
const shortestUse = 2 * time.Second

// stillUsed says which stale conversations had packets between two looks.
func stillUsed(c *doctor.Chassis, before []snapshot.StaleConnection, later *snapshot.Deployment, elapsed time.Duration) (map[string]bool, error) {
	h := later.Host(c.Name)
	if h == nil {
		return nil, fmt.Errorf("node %s was not read a second time", c.Name)
	}
	after, err := h.StaleConnections()
	if err != nil {
		return nil, err
	}
	timeouts := map[string]int{}
	for _, s := range before {
		timeouts[key(s)] = s.Timeout
	}
	used := map[string]bool{}
	for _, s := range after {
		was, there := timeouts[key(s)]
		used[key(s)] = there && inUse(was, s.Timeout, elapsed)
	}
	return used, nil
}

// inUse says whether the seconds until a conversation is forgotten did not run down. One of them is nothing: those of
// a conversation that has just had a packet are one more than a moment later.
func inUse(was, is int, elapsed time.Duration) bool {
	return float64(was-is) <= max(1, elapsed.Seconds()/2)
}
