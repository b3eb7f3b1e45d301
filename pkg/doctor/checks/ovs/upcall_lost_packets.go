package ovs

import (
	"errors"
	"fmt"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var UpcallLostPackets = &doctor.Check{
	Name:     "upcall-lost-packets",
	Category: "ovs",
	Doc: `ovs-vswitchd does not keep up with new flows, and packets are lost

A packet for which the datapath has no flow goes to ovs-vswitchd. Where that is too
slow, or its queue is full, the packet is lost.`,
	Causes: []string{"datapath-flow-limit", "two-vswitchds"},
	Sample: 3 * time.Second,
	Run: func(p *doctor.Pass) {
		lost := func(d []snapshot.Datapath) bool {
			for _, d := range d {
				if d.Lost > 0 {
					return true
				}
			}
			return false
		}
		for _, l := range doctor.TakeSamples(p, (*snapshot.Host).Datapaths, lost) {
			for _, d := range l.First {
				for _, later := range l.Second {
					if later.Name == d.Name && doctor.Increase(d.Lost, later.Lost) > fewLost {
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

func lostPackets(p *doctor.Pass, h *snapshot.Host, first, second snapshot.Datapath) {
	e := []doctor.Evidence{
		doctor.CounterEvidence(doctor.Counter("dpctl/show "+first.Name+" lookups lost"), first.Lost, second.Lost, p.Sample()),
		doctor.CounterEvidence(doctor.Counter("dpctl/show "+first.Name+" lookups missed"), first.Missed, second.Missed, p.Sample()),
	}
	p.Report(doctor.Finding{
		Object: doctor.Object{Kind: "daemon", Name: "ovs-vswitchd", Node: h.Name}, Also: []doctor.Object{doctor.NodeObject(h.Name)},
		Title:    fmt.Sprintf("%s on %s loses packets on their way to ovs-vswitchd", first.Name, h.Name),
		Evidence: append(e, upcallEvidence(h)...), Cause: lostCause, Effect: lostEffect, Next: lostNext,
	})
}

// upcallEvidence is what else tells of a ovs-vswitchd with too much to do.
func upcallEvidence(h *snapshot.Host) (list []doctor.Evidence) {
	upcalls, err := h.Upcalls()
	if err != nil {
		return nil
	}
	for _, u := range upcalls {
		list = append(list, doctor.Evidence{Source: doctor.Other("upcall/show " + u.Datapath), Says: fmt.Sprintf("flows: current %d, max %d, limit %d; dump duration %d ms", u.Current, u.Max, u.Limit, u.DumpMillis)})
	}
	return list
}

// lostByLog is for what is over when one looks, and for saved logs.
func lostByLog(p *doctor.Pass, h *snapshot.Host) {
	lines, err := doctor.LogLines(h, "ovs-vswitchd", "lost packet on port channel")
	if err != nil || len(lines) == 0 { // without the log the counters tell
		return
	}
	last := lines[len(lines)-1]
	if !last.InLastHour(p.Deployment) {
		return
	}
	if d, err := h.Datapaths(); err != nil && !errors.Is(err, node.ErrUnavailable) && len(d) == 0 {
		return // it does not run any more
	}
	p.Report(doctor.Finding{
		Result: doctor.Warning,
		Object: doctor.Object{Kind: "daemon", Name: "ovs-vswitchd", Node: h.Name}, Also: []doctor.Object{doctor.NodeObject(h.Name)},
		Title:    fmt.Sprintf("packets were lost on their way to ovs-vswitchd on %s within the last hour", h.Name),
		Evidence: []doctor.Evidence{last.Evidence("ovs-vswitchd"), {Source: doctor.Log("ovs-vswitchd"), Says: fmt.Sprintf("%d such lines", len(lines))}},
		Cause:    lostCause, Effect: lostEffect, Next: lostNext + "; ovnctl doctor --only upcall-lost-packets --sample 15s tells whether it goes on",
	})
}
