package ovs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
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
		anyLost := func(list []node.Datapath) bool {
			return slices.ContainsFunc(list, func(d node.Datapath) bool { return d.Lost > 0 })
		}
		for _, s := range doctor.TakeSamples(p, (*snapshot.Host).Datapaths, anyLost) {
			lostNow(p, &s)
		}
		for _, h := range p.Hosts {
			lostByLog(p, h)
		}
	},
}

// fewLost is so few that a burst of new flows on a healthy host explains them.
const fewLost = 5

// lostFinding starts a finding of lost packets.
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
func lostNow(p *doctor.Pass, s *doctor.Samples[[]node.Datapath]) {
	var names []string
	f := lostFinding(s.Host, "loses")
	source := doctor.Reply("ovs-vswitchd", "dpctl/show")
	for _, second := range s.Second {
		at := slices.IndexFunc(s.First, func(d node.Datapath) bool { return d.Name == second.Name })
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

// lostByLog reports packets lost within the last hour, as captures show them.
func lostByLog(p *doctor.Pass, h *snapshot.Host) {
	lines, err := doctor.LogLines(h, "ovs-vswitchd", "lost packet on port channel")
	if err != nil || len(lines) == 0 { // without the log the counters suffice
		return
	}
	last := lines[len(lines)-1]
	if !doctor.InLastHour(p.Deployment, last) {
		return
	}
	if d, err := h.Datapaths(); err != nil && !errors.Is(err, node.ErrUnavailable) && len(d) == 0 {
		return // ovs-vswitchd does not run now
	}
	f := lostFinding(h, "logged")
	f.Result = doctor.Warning
	f.Title = fmt.Sprintf("packets were lost on their way to ovs-vswitchd on %s within the last hour", h.Name)
	f.Evidence = []doctor.Evidence{doctor.LogEvidence("ovs-vswitchd", last), {Source: doctor.Log("ovs-vswitchd"), Says: fmt.Sprintf("%d such lines", len(lines))}}
	f.Next += "; ovnctl doctor --only upcall-lost-packets --sample 15s shows whether it continues"
	p.Report(f)
}

var DatapathFlowLimit = &doctor.Check{
	Name:     "datapath-flow-limit",
	Category: "ovs",
	Doc: `The OVS datapath has reached its flow limit

Above the limit no flow is installed: each further packet goes through ovs-vswitchd.`,
	Sample: 3 * time.Second,
	Run: func(p *doctor.Pass) {
		for _, s := range doctor.TakeSamples(p, readFlowLimit, flowLimit.undecided) {
			grew := s.Both && (doctor.Increase(s.First.hit, s.Second.hit) > 0 || doctor.Increase(s.First.kill, s.Second.kill) > 0)
			at := slices.IndexFunc(s.First.upcalls, func(u snapshot.Upcalls) bool { return grew || s.First.hit > 0 && u.Current > u.Limit })
			if at >= 0 { // the counters cover all datapaths
				reportFlowLimit(p, &s, s.First.upcalls[at])
			}
		}
	},
}

// flowLimit compares a host's datapath flows with their limit.
type flowLimit struct {
	upcalls            []snapshot.Upcalls
	hit, kill, reduced uint64 // counts since ovs-vswitchd started
	configured         int    // other_config:flow-limit; 0 if not set
}

// readFlowLimit, readResubmits and readFDB are distilled: their checks look at all hosts once more when these are judged.
func readFlowLimit(h *snapshot.Host) (flowLimit, error) {
	return snapshot.Distil(h, "", func() (flowLimit, error) { return flowLimitOf(h) })
}

func flowLimitOf(h *snapshot.Host) (f flowLimit, err error) {
	if f.upcalls, err = h.Upcalls(); err != nil {
		return f, err
	}
	counters, err := h.Coverage("ovs-vswitchd")
	if err != nil {
		return f, err
	}
	f.hit, f.kill, f.reduced = counters["upcall_flow_limit_hit"], counters["upcall_flow_limit_kill"], counters["upcall_flow_limit_reduced"]
	own, err := h.Settings()
	f.configured, _ = strconv.Atoi(own.OtherConfig["flow-limit"])
	return f, err
}

// undecided reports whether the limit was reached before, so that a second sample shows whether it still is.
func (f flowLimit) undecided() bool { return f.hit > 0 || f.kill > 0 }

func reportFlowLimit(p *doctor.Pass, s *doctor.Samples[flowLimit], u snapshot.Upcalls) {
	first, second := s.First, s.Second
	f := doctor.Finding{
		Object: doctor.DaemonObject(s.Host, "ovs-vswitchd"),
		Also:   []doctor.Object{doctor.NodeObject(s.Name)},
		Title:  fmt.Sprintf("%s on %s has reached its limit of %d flows", u.Datapath, s.Name, u.Limit),
		Evidence: []doctor.Evidence{
			{Source: doctor.Reply("ovs-vswitchd", "upcall/show"), Says: fmt.Sprintf("%s: flows: current %d, avg %d, max %d, limit %d; dump duration %d ms", u.Datapath, u.Current, u.Average, u.Max, u.Limit, u.DumpMillis)},
		},
		Effect: "packets of flows above the limit go through ovs-vswitchd one by one: throughput falls, its CPU time rises",
	}
	for _, c := range []struct {
		name          string
		first, second uint64
	}{{"upcall_flow_limit_hit", first.hit, second.hit}, {"upcall_flow_limit_kill", first.kill, second.kill}, {"upcall_flow_limit_reduced", first.reduced, second.reduced}} {
		e := doctor.Evidence{Source: doctor.Coverage("ovs-vswitchd", c.name), Says: fmt.Sprint(c.first)}
		if s.Both {
			e = doctor.CounterEvidence(e.Source, c.first, c.second, p.Sample())
		}
		f.Evidence = append(f.Evidence, e)
	}
	configured := cmp.Or(first.configured, snapshot.DefaultFlowLimit)
	if first.configured != 0 {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Setting("other_config:flow-limit"), Says: strconv.Itoa(configured)})
	}
	if u.Limit >= configured {
		f.Cause = fmt.Sprintf("other_config:flow-limit is %d, and there are more flows than that", configured)
		f.Fix = catalog.RaiseFlowLimit.With()
	} else {
		f.Cause = fmt.Sprintf("ovs-vswitchd has lowered the limit from %d by itself, because a pass over its flows takes too long", configured)
		f.Next = "give ovs-vswitchd more CPU time or more revalidators: ovs-vsctl set Open_vSwitch . other_config:n-revalidator-threads=N"
	}
	p.Report(f)
}

var ResubmitLimit = &doctor.Check{
	Name:     "resubmit-limit",
	Category: "ovs",
	Doc: `Packets are dropped because they pass too many OpenFlow tables

ovs-vswitchd drops a packet after 4096 resubmits. Very many ACLs or load balancers on one
switch get there, and so do loops between patch ports.`,
	Sample: 3 * time.Second,
	Run: func(p *doctor.Pass) {
		for _, s := range doctor.TakeSamples(p, readResubmits, (*resubmits).undecided) {
			for i := range s.First.logged {
				loggedDrop(p, s.Host, &s.First.logged[i])
			}
			if s.Both {
				growingDrops(p, s.Host, s.First, s.Second)
			}
		}
	},
}

const resubmitCause = "their path has more than 4096 resubmits: very many ACLs or load balancers on one switch, or a loop between bridges"

// resubmits are the packets that a host dropped after too many resubmits.
type resubmits struct {
	logged  []loggedPacket
	lines   int    // number of log lines about such packets
	dropped uint64 // since ovs-vswitchd started
	lately  bool   // a packet of the last hour may or may not be dropped now
}

// A loggedPacket is a dropped packet found in the log.
type loggedPacket struct {
	snapshot.LogLine
	bridge, flow string
	still        bool  // it would be dropped now
	err          error // why that is unknown
}

// undecided reports whether packets were dropped, and it is unknown whether they still are.
func (r *resubmits) undecided() bool {
	return (r.dropped > 0 || r.lately) && !slices.ContainsFunc(r.logged, func(t loggedPacket) bool { return t.still })
}

func readResubmits(h *snapshot.Host) (*resubmits, error) {
	return snapshot.Distil(h, "", func() (*resubmits, error) { return resubmitsOf(h) })
}

func resubmitsOf(h *snapshot.Host) (*resubmits, error) {
	r := &resubmits{}
	lines, err := doctor.LogLines(h, "ovs-vswitchd", "resubmit actions on bridge ")
	counters, errCounters := h.Coverage("ovs-vswitchd")
	if errCounters == nil {
		r.dropped = counters["drop_action_too_many_resubmit"]
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && errCounters != nil {
		return nil, err
	}
	r.lines = len(lines)
	known := map[string]bool{} // bridges: each one's latest packet is traced again
	for _, l := range slices.Backward(lines) {
		t := loggedPacket{LogLine: l}
		_, rest, _ := strings.Cut(l.Text, "resubmit actions on bridge ")
		t.bridge, t.flow, _ = strings.Cut(rest, " while processing ")
		if known[t.bridge] || t.bridge == "" || t.flow == "" || len(known) > 7 {
			continue
		}
		known[t.bridge] = true
		t.traceAgain(h)
		r.lately = r.lately || t.err != nil && !errors.Is(t.err, node.ErrUnavailable) && doctor.InLastHour(h.Deployment(), l)
		r.logged = append(r.logged, t)
	}
	return r, nil
}

// traceAgain asks ovs-vswitchd whether it would drop the packet now.
func (t *loggedPacket) traceAgain(h *snapshot.Host) {
	if strings.Contains(t.flow, "recirc_id=0x") && !strings.Contains(t.flow, "recirc_id=0x0,") {
		t.err = errors.New("the packet had passed conntrack, and its path from there cannot be traced again")
		return
	}
	reply, err := h.Control("ovs-vswitchd", "ofproto/trace", t.bridge, strings.TrimSpace(t.flow))
	t.err = err
	t.still = err == nil && (strings.Contains(reply, "Too many resubmits") || strings.Contains(reply, "resubmit actions on bridge"))
}

// loggedDrop reports a logged packet that would be dropped now or, in a capture, was dropped lately.
func loggedDrop(p *doctor.Pass, h *snapshot.Host, t *loggedPacket) {
	trace := "ofproto/trace " + t.bridge + " " + strings.TrimSpace(t.flow)
	f := doctor.Finding{
		Object:   doctor.BridgeObject(h, t.bridge),
		Also:     []doctor.Object{doctor.NodeObject(h.Name)},
		Evidence: []doctor.Evidence{doctor.LogEvidence("ovs-vswitchd", t.LogLine)},
		Cause:    resubmitCause,
		Effect:   "packets like this one are dropped, and no flow's counters show it",
		Next:     fixes.Command("ovs-appctl ofproto/trace %s %s", t.bridge, strings.TrimSpace(t.flow)),
	}
	switch {
	case t.still:
		f.Reason = "drops"
		f.Title = fmt.Sprintf("bridge %s on %s drops packets after 4096 resubmits", t.bridge, h.Name)
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Reply("ovs-vswitchd", trace), Says: "Translation failed (Too many resubmits), packet is dropped."})
	case errors.Is(t.err, node.ErrUnavailable) && doctor.InLastHour(p.Deployment, t.LogLine):
		f.Result, f.Reason = doctor.Warning, "logged"
		f.Title = fmt.Sprintf("bridge %s on %s dropped a packet after 4096 resubmits within the last hour", t.bridge, h.Name)
	default:
		return
	}
	p.Report(f)
}

// growingDrops reports packets dropped between two samples.
func growingDrops(p *doctor.Pass, h *snapshot.Host, first, second *resubmits) {
	lines := second.lines - first.lines
	if doctor.Increase(first.dropped, second.dropped) == 0 && lines <= 0 {
		return
	}
	counter := doctor.Coverage("ovs-vswitchd", "drop_action_too_many_resubmit")
	f := doctor.Finding{
		Object: doctor.DaemonObject(h, "ovs-vswitchd"),
		Also:   []doctor.Object{doctor.NodeObject(h.Name)},
		Title:  fmt.Sprintf("ovs-vswitchd on %s drops packets after 4096 resubmits", h.Name),
		Evidence: []doctor.Evidence{
			doctor.CounterEvidence(counter, first.dropped, second.dropped, p.Sample()),
			{Source: doctor.Log("ovs-vswitchd"), Says: fmt.Sprintf("%d new lines in %s", lines, p.Sample())},
		},
		Cause: resubmitCause, Effect: "these packets are dropped, and no flow's counters show it",
		Next: counter.Command + "; grep resubmit " + h.Dirs().OVSLog + "/ovs-vswitchd.log",
	}
	for _, t := range second.logged[:min(3, len(second.logged))] {
		f.Evidence = append(f.Evidence, doctor.LogEvidence("ovs-vswitchd", t.LogLine))
	}
	p.Report(f)
}

var FDBWrapping = &doctor.Check{
	Name:     "fdb-wrapping",
	Category: "ovs",
	Doc: `A bridge's MAC table is too small

When it is full, each new address evicts another, and packets to the evicted one are
flooded to all ports until it is learned again.`,
	Sample: 3 * time.Second,
	Run: func(p *doctor.Pass) {
		anyFull := func(bridges map[string]snapshot.FDBStats) bool {
			for _, s := range bridges {
				if s.Current >= s.Max && s.Evicted > 0 {
					return true
				}
			}
			return false
		}
		for _, s := range doctor.TakeSamples(p, readFDB, anyFull) {
			for _, name := range slices.Sorted(maps.Keys(s.Second)) {
				if s.Both {
					wrapping(p, s.Host, name, s.First[name], s.Second[name])
				}
			}
		}
	},
}

func wrapping(p *doctor.Pass, h *snapshot.Host, bridge string, first, second snapshot.FDBStats) {
	if first.Current < first.Max || second.Current < second.Max || doctor.Increase(first.Evicted, second.Evicted) == 0 {
		return
	}
	source := doctor.Reply("ovs-vswitchd", "fdb/stats-show "+bridge)
	p.Report(doctor.Finding{
		Object: doctor.BridgeObject(h, bridge),
		Also:   []doctor.Object{doctor.NodeObject(h.Name)},
		Title:  fmt.Sprintf("the MAC table of bridge %s on %s is full with %d addresses and evicts others", bridge, h.Name, second.Current),
		Evidence: []doctor.Evidence{
			{Source: source, Says: fmt.Sprintf("current/maximum MAC entries: %d/%d", second.Current, second.Max)},
			doctor.CounterEvidence(source, first.Evicted, second.Evicted, p.Sample()),
		},
		Cause:  fmt.Sprintf("this network has more MAC addresses than the %d of other_config:mac-table-size", second.Max),
		Effect: "packets to evicted addresses are flooded to all ports, and ovs-vswitchd revalidates all flows again and again",
		Fix:    catalog.EnlargeMACTable.With(bridge),
	})
}

// readFDB reads the MAC tables of a host's bridges; none if no address was ever evicted. Open vSwitch before 2.10 does
// not count that.
func readFDB(h *snapshot.Host) (map[string]snapshot.FDBStats, error) {
	return snapshot.Distil(h, "", func() (map[string]snapshot.FDBStats, error) { return fdbOf(h) })
}

func fdbOf(h *snapshot.Host) (map[string]snapshot.FDBStats, error) {
	if counters, err := h.Coverage("ovs-vswitchd"); err == nil && counters["mac_learning_evicted"] == 0 {
		return nil, nil
	}
	s, err := h.Switch()
	if err != nil {
		return nil, err
	}
	all := map[string]snapshot.FDBStats{}
	var last error
	for _, b := range s.Bridges {
		stats, err := h.FDBStats(b.Name)
		if _, refused := errors.AsType[*node.ControlError](err); refused {
			continue
		}
		if err != nil {
			last = err
			continue
		}
		all[b.Name] = stats
	}
	if len(all) == 0 {
		return nil, last
	}
	return all, nil
}

var HWOffloadHidesCounters = &doctor.Check{
	Name:     "hw-offload-hides-counters",
	Category: "ovs",
	Doc: `Packets that the NIC forwards are in no counter and no capture

A note, not a fault: with other_config:hw-offload=true tcpdump on a port sees only
the first packets of a flow, and counters of ports may stand still.`,
	Host: func(p *doctor.Pass, h *snapshot.Host) {
		s, ok := doctor.Need(p, doctor.NodeObject(h.Name), h.Switch)
		if !ok {
			return
		}
		offloads := len(s.OpenvSwitch) > 0 && s.OpenvSwitch[0].OtherConfig["hw-offload"] == "true"
		if p.Applies(offloads, "no host has hw-offload on"); !offloads {
			return
		}
		p.Report(doctor.Finding{
			Result:   doctor.OK,
			Object:   doctor.NodeObject(h.Name),
			Title:    fmt.Sprintf("%s lets its NICs forward packets: tcpdump and the counters of its ports miss them", h.Name),
			Evidence: []doctor.Evidence{{Source: doctor.Setting("other_config:hw-offload"), Says: "true"}},
			Effect:   "a counter that stands still proves nothing here",
			Next:     "ovs-appctl dpctl/dump-flows type=offloaded shows the flows with their counters",
		})
	},
}
