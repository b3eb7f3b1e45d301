package ovs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var UpcallLostPackets = &doctor.Check{
	Name:     "upcall-lost-packets",
	Category: "ovs",
	Doc: `ovs-vswitchd does not keep up with new flows, and packets are lost

A packet for which the OVS datapath has no flow goes to ovs-vswitchd. If that is too slow,
or its queue is full, the packet is lost.`,
	Causes: []string{"datapath-flow-limit", "two-vswitchds"},
	Sample: 3 * time.Second,
	Run: func(p *doctor.Pass) {
		anyLost := func(list []snapshot.Datapath) bool {
			return slices.ContainsFunc(list, func(d snapshot.Datapath) bool { return d.Lost > 0 })
		}
		for _, s := range doctor.TakeSamples(p, (*snapshot.Host).Datapaths, anyLost) {
			lostNow(p, &s)
		}
		for _, h := range p.Hosts {
			lostByLog(p, h)
		}
	},
}

// fewLost are so few that a burst of new flows on a healthy host explains them.
const fewLost = 5

// lostFinding begins a finding of lost packets.
func lostFinding(h *snapshot.Host, reason string) doctor.Finding {
	return doctor.Finding{
		Object: doctor.DaemonObject(h, "ovs-vswitchd"),
		Reason: reason,
		Also:   []doctor.Object{doctor.NodeObject(h.Name)},
		Cause:  "ovs-vswitchd gets too little CPU time, or has too few handler threads, for the rate of new flows",
		Effect: "the first packets of new connections are lost: they start seconds late, and short ones fail",
		Next:   "see what CPU time ovs-vswitchd gets (top -H -p $(pidof ovs-vswitchd)), and how many handlers it has (ovs-vsctl get Open_vSwitch . other_config:n-handler-threads)",
	}
}

// lostNow reports a host whose datapaths lost packets between the samples.
func lostNow(p *doctor.Pass, s *doctor.Samples[[]snapshot.Datapath]) {
	var names []string
	f := lostFinding(s.Host, "loses")
	source := doctor.Reply("ovs-vswitchd", "dpctl/show")
	for _, second := range s.Second {
		at := slices.IndexFunc(s.First, func(d snapshot.Datapath) bool { return d.Name == second.Name })
		if at < 0 || doctor.Increase(s.First[at].Lost, second.Lost) <= fewLost {
			continue
		}
		names = append(names, second.Name)
		lost := doctor.CounterEvidence(source, s.First[at].Lost, second.Lost, p.Sample())
		lost.Says = second.Name + " lookups lost: " + lost.Says
		missed := doctor.CounterEvidence(source, s.First[at].Missed, second.Missed, p.Sample())
		missed.Says = second.Name + " lookups missed: " + missed.Says
		f.Evidence = append(f.Evidence, lost, missed)
	}
	if len(names) == 0 {
		return
	}
	f.Title = fmt.Sprintf("%s on %s loses packets on their way to ovs-vswitchd", strings.Join(names, ", "), s.Name)
	upcalls, err := s.Upcalls()
	for _, u := range upcalls {
		if err == nil {
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Reply("ovs-vswitchd", "upcall/show"), Says: fmt.Sprintf("%s: flows: current %d, max %d, limit %d; dump duration %d ms", u.Datapath, u.Current, u.Max, u.Limit, u.DumpMillis)})
		}
	}
	p.Report(f)
}

// lostByLog reports packets that were lost within the last hour, as captures show them.
func lostByLog(p *doctor.Pass, h *snapshot.Host) {
	lines, err := doctor.LogLines(h, "ovs-vswitchd", "lost packet on port channel")
	if err != nil || len(lines) == 0 { // without the log the counters are enough
		return
	}
	last := lines[len(lines)-1]
	if !last.InLastHour(p.Deployment) {
		return
	}
	if d, err := h.Datapaths(); err != nil && !errors.Is(err, node.ErrUnavailable) && len(d) == 0 {
		return // ovs-vswitchd does not run now
	}
	f := lostFinding(h, "logged")
	f.Result = doctor.Warning
	f.Title = fmt.Sprintf("packets were lost on their way to ovs-vswitchd on %s within the last hour", h.Name)
	f.Evidence = []doctor.Evidence{last.Evidence("ovs-vswitchd"), {Source: doctor.Log("ovs-vswitchd"), Says: fmt.Sprintf("%d such lines", len(lines))}}
	f.Next += "; ovnctl doctor --only upcall-lost-packets --sample 15s shows whether it continues"
	p.Report(f)
}
