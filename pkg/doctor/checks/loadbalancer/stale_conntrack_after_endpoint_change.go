package loadbalancer

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var StaleConntrackAfterEndpointChange = &doctor.Check{
	Name:     "stale-conntrack-after-endpoint-change",
	Category: "lb",
	Doc: `UDP connections are still sent to a removed backend

Connection tracking keeps the backend of a UDP client as long as the client keeps sending. When
the backend is removed, the client's packets are lost until it pauses. With --sample the check
sees whether the connections are in use; without, they are a warning.`,
	Host: doctor.OnChassis(staleConnections),
}

// staleTo groups a virtual IP's stale connections to a removed backend.
type staleTo struct{ vip, to netip.AddrPort }

func staleConnections(p *doctor.Pass, c *doctor.Chassis) {
	stale, ok := doctor.Need(p, doctor.NodeObject(c.Name), func() ([]facts.StaleConnection, error) { return facts.StaleConnections(c.Host) })
	if !ok || len(stale) == 0 {
		return
	}
	used, sampled := map[connection]bool{}, false
	if p.Sample() >= shortestUse {
		if later, err := p.Later(); err == nil {
			if used, err = stillUsed(c, stale, later, p.Sample()); err != nil {
				p.Unknown(doctor.NodeObject(c.Name), err)
				return
			}
			sampled = true
		}
	}
	by := map[staleTo][]facts.StaleConnection{}
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
			Object: doctor.Object{Kind: "load balancer", Name: nameOf(list[0].LB), Node: c.Name}, // several nodes may have such connections
			Also:   []doctor.Object{doctor.LoadBalancerObject(list[0].LB), doctor.NodeObject(c.Name)},
			Title:  fmt.Sprintf("connection tracking on %s has UDP connections to %s with the removed backend %s", c.Name, at.vip, at.to),
			Cause:  "the backend was removed while its clients kept sending, and connection tracking keeps it",
			Effect: "packets of a client are lost if it keeps sending from the same port; --sample 15s shows whether it does",
			Fix:    catalog.FlushConnections.With(at.vip.String()),
		}
		if sampled {
			f.Result = doctor.Error
			f.Title = fmt.Sprintf("UDP connections on %s to %s are sent to the removed backend %s", c.Name, at.vip, at.to)
			f.Effect = "packets of the clients are lost until they pause for some minutes"
		}
		conntrack := doctor.Reply("ovs-vswitchd", "dpctl/dump-conntrack -m -s").On(c.Name)
		for _, s := range list[:min(len(list), 4)] {
			f.Evidence = append(f.Evidence, conntrack.Says(fmt.Sprintf("udp, %s to %s, replies from %s, ct zone %d", s.Orig.From(), s.Orig.To(), s.Reply.From(), s.Zone)))
		}
		if more := len(list) - 4; more > 0 {
			f.Evidence = append(f.Evidence, conntrack.Says(fmt.Sprintf("and %d more", more)))
		}
		f.Evidence = append(f.Evidence, doctor.NBRow("Load_Balancer", list[0].LB.UUID, "%s: vips:%s=%s", nameOf(list[0].LB), at.vip, cmp.Or(list[0].LB.VIPs[at.vip.String()], `""`)))
		p.Report(f)
	}
}

// A connection identifies a tracked connection.
type connection struct {
	datapath string
	zone     int
	src, dst netip.AddrPort
}

func key(s facts.StaleConnection) connection {
	return connection{s.Datapath, s.Zone, s.Orig.From(), s.Orig.To()}
}

// shortestUse is the shortest sample that shows whether a connection is in use: timeouts are in whole seconds.
const shortestUse = 2 * time.Second

// stillUsed returns the stale connections that had packets between two samples.
func stillUsed(c *doctor.Chassis, before []facts.StaleConnection, later *snapshot.Deployment, elapsed time.Duration) (map[connection]bool, error) {
	h := later.Host(c.Name)
	if h == nil {
		return nil, fmt.Errorf("node %s: no second sample", c.Name)
	}
	after, err := facts.StaleConnections(h)
	if err != nil {
		return nil, err
	}
	timeouts := map[connection]int{}
	for _, s := range before {
		timeouts[key(s)] = s.Timeout
	}
	used := map[connection]bool{}
	for _, s := range after {
		was, there := timeouts[key(s)]
		used[key(s)] = there && inUse(was, s.Timeout, elapsed)
	}
	return used, nil
}

// inUse reports whether a connection's timeout did not run down. One second does not count: right after a packet the
// timeout is one higher than a moment later.
func inUse(was, is int, elapsed time.Duration) bool {
	return float64(was-is) <= max(1, elapsed.Seconds()/2)
}
