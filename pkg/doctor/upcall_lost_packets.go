package doctor

import (
	"errors"
	"fmt"
	"time"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var upcallLostPackets = &Check{
	Name:     "upcall-lost-packets",
	Category: "ovs",
	Doc: `ovs-vswitchd does not keep up with new flows, and packets are lost

A packet for which the datapath has no flow goes to ovs-vswitchd. Where that is too
slow, or its queue is full, the packet is lost.`,
	Causes: []string{"datapath-flow-limit", "two-vswitchds"},
	Sample: 3 * time.Second,
	Run: func(p *Pass) {
		lost := func(d []snapshot.Datapath) bool {
			for _, d := range d {
				if d.Lost > 0 {
					return true
				}
			}
			return false
		}
		for _, l := range twice(p, (*snapshot.Host).Datapaths, lost) {
			for _, d := range l.first {
				for _, later := range l.second {
					if later.Name == d.Name && grew(d.Lost, later.Lost) > fewLost {
						lostPackets(p, l.Host, d, later)
					}
				}
			}
		}
		for _, h := range p.Hosts {
			lostByLog(p, h)
		}
	},
}

// fewLost are so few that they happen on a healthy host when a burst of new flows comes.
const fewLost = 5

const (
	lostEffect = "the first packets of new connections are lost: they come up seconds late, and short ones fail"
	lostCause  = "ovs-vswitchd gets too little CPU time, or has too few handler threads, for the rate of new flows"
	lostNext   = "see what CPU time ovs-vswitchd gets (top -H -p $(pidof ovs-vswitchd)), and how many handlers it has (ovs-vsctl get Open_vSwitch . other_config:n-handler-threads)"
)

func lostPackets(p *Pass, h *snapshot.Host, first, second snapshot.Datapath) {
	e := []Evidence{
		counted("dpctl/show "+first.Name+" lookups lost", first.Lost, second.Lost, p.Sample()),
		counted("dpctl/show "+first.Name+" lookups missed", first.Missed, second.Missed, p.Sample()),
	}
	p.Report(Finding{
		Object: Object{Kind: "daemon", Name: "ovs-vswitchd", Node: h.Name}, Also: []Object{nodeObject(h.Name)},
		Title:    fmt.Sprintf("%s on %s loses packets on their way to ovs-vswitchd", first.Name, h.Name),
		Evidence: append(e, upcallEvidence(h)...), Cause: lostCause, Effect: lostEffect, Next: lostNext,
	})
}

// upcallEvidence is what else tells of a ovs-vswitchd with too much to do.
func upcallEvidence(h *snapshot.Host) (list []Evidence) {
	upcalls, err := h.Upcalls()
	if err != nil {
		return nil
	}
	for _, u := range upcalls {
		list = append(list, Evidence{Source: "upcall/show " + u.Datapath, Says: fmt.Sprintf("flows: current %d, max %d, limit %d; dump duration %d ms", u.Current, u.Max, u.Limit, u.DumpMillis)})
	}
	return list
}

// lostByLog is for what is over when one looks, and for saved logs.
func lostByLog(p *Pass, h *snapshot.Host) {
	lines, err := logged(h, "ovs-vswitchd", "lost packet on port channel")
	if err != nil || len(lines) == 0 { // without the log the counters tell
		return
	}
	last := lines[len(lines)-1]
	if !last.lately(p.Deployment) {
		return
	}
	if d, err := h.Datapaths(); err != nil && !errors.Is(err, node.ErrUnavailable) && len(d) == 0 {
		return // it does not run any more
	}
	p.Report(Finding{
		Result: Warning,
		Object: Object{Kind: "daemon", Name: "ovs-vswitchd", Node: h.Name}, Also: []Object{nodeObject(h.Name)},
		Title:    fmt.Sprintf("packets were lost on their way to ovs-vswitchd on %s within the last hour", h.Name),
		Evidence: []Evidence{last.evidence("ovs-vswitchd"), {Source: "log ovs-vswitchd", Says: fmt.Sprintf("%d such lines", len(lines))}},
		Cause:    lostCause, Effect: lostEffect, Next: lostNext + "; ovnctl doctor --only upcall-lost-packets --sample 15s tells whether it goes on",
	})
}
