package ovs

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

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
	lines   int    // how many lines the log has about such packets
	dropped uint64 // since ovs-vswitchd started
	lately  bool   // a packet of the last hour may or may not be dropped now
}

// A loggedPacket is a packet that was dropped, by the log.
type loggedPacket struct {
	doctor.LogLine
	bridge, flow string
	still        bool  // it would be dropped now
	err          error // why that is not known
}

// undecided reports whether packets were dropped, and it is not known whether they are now.
func (r *resubmits) undecided() bool {
	return (r.dropped > 0 || r.lately) && !slices.ContainsFunc(r.logged, func(t loggedPacket) bool { return t.still })
}

func readResubmits(h *snapshot.Host) (*resubmits, error) {
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
	known := map[string]bool{} // bridges: of each the latest packet is traced again
	for _, l := range slices.Backward(lines) {
		t := loggedPacket{LogLine: l}
		_, rest, _ := strings.Cut(l.Text, "resubmit actions on bridge ")
		t.bridge, t.flow, _ = strings.Cut(rest, " while processing ")
		if known[t.bridge] || t.bridge == "" || t.flow == "" || len(known) > 7 {
			continue
		}
		known[t.bridge] = true
		t.traceAgain(h)
		r.lately = r.lately || t.err != nil && !errors.Is(t.err, node.ErrUnavailable) && t.InLastHour(h.Deployment())
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

// loggedDrop reports a packet of the log that would be dropped now or, in a capture, was dropped lately.
func loggedDrop(p *doctor.Pass, h *snapshot.Host, t *loggedPacket) {
	trace := "ofproto/trace " + t.bridge + " " + strings.TrimSpace(t.flow)
	f := doctor.Finding{
		Object:   doctor.BridgeObject(h, t.bridge),
		Also:     []doctor.Object{doctor.NodeObject(h.Name)},
		Evidence: []doctor.Evidence{t.LogLine.Evidence("ovs-vswitchd")},
		Cause:    resubmitCause,
		Effect:   "packets like this one are dropped, and no flow's counters show it",
		Next:     fixes.Command("ovs-appctl ofproto/trace %s %s", t.bridge, strings.TrimSpace(t.flow)),
	}
	switch {
	case t.still:
		f.Reason = "drops"
		f.Title = fmt.Sprintf("bridge %s on %s drops packets after 4096 resubmits", t.bridge, h.Name)
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Reply("ovs-vswitchd", trace), Says: "Translation failed (Too many resubmits), packet is dropped."})
	case errors.Is(t.err, node.ErrUnavailable) && t.InLastHour(p.Deployment):
		f.Result, f.Reason = doctor.Warning, "logged"
		f.Title = fmt.Sprintf("bridge %s on %s dropped a packet after 4096 resubmits within the last hour", t.bridge, h.Name)
	default:
		return
	}
	p.Report(f)
}

// growingDrops reports that packets were dropped between two samples.
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
		f.Evidence = append(f.Evidence, t.LogLine.Evidence("ovs-vswitchd"))
	}
	p.Report(f)
}
