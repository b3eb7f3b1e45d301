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

ovs-vswitchd gives a packet up after 4096 resubmits. Very large sets of ACLs or of
load balancers get there, and so do loops between patch ports.`,
	Sample: 3 * time.Second,
	Run: func(p *doctor.Pass) {
		for _, l := range doctor.TakeSamples(p, readResubmits, resubmits.openQuestion) {
			l.First.report(p, l.Host)
			dropped, told := doctor.Increase(l.First.dropped, l.Second.dropped), l.Second.told-l.First.told
			if l.Both && (dropped > 0 || told > 0) {
				p.Report(doctor.Finding{
					Object: doctor.DaemonObject(l.Host, "ovs-vswitchd"), Also: []doctor.Object{doctor.NodeObject(l.Name)},
					Title: fmt.Sprintf("ovs-vswitchd on %s drops packets that were resubmitted too often", l.Name),
					Evidence: append([]doctor.Evidence{
						doctor.CounterEvidence(doctor.Counter("coverage drop_action_too_many_resubmit"), l.First.dropped, l.Second.dropped, p.Sample()),
						{Source: doctor.Log("ovs-vswitchd"), Says: fmt.Sprintf("%d new lines in %s", told, p.Sample())},
					}, l.Second.lines(3)...),
					Cause: resubmitCause, Effect: "these packets are dropped without a trace in any table",
					Next: "ovs-appctl coverage/read-counter drop_action_too_many_resubmit; grep resubmit " + l.Dirs().OVSLog + "/ovs-vswitchd.log",
				})
			}
		}
	},
}

const resubmitCause = "its way through the tables has more than 4096 resubmits: very many ACLs or load balancers on one switch, or a loop between bridges"

// resubmits is what a host says of packets that were given up.
type resubmits struct {
	logged  []tooMany
	told    int    // how many lines of the log tell of such packets
	dropped uint64 // since ovs-vswitchd started
	lately  bool   // of a packet of the last hour it is not known whether it would be given up now
}

// A tooMany is a packet that was given up, by the log.
type tooMany struct {
	doctor.LogLine
	bridge, flow string
	still        bool  // it would be given up now
	err          error // whether it would is not known
}

// openQuestion says that packets were given up, and whether they are now is not known.
func (r resubmits) openQuestion() bool {
	return (r.dropped > 0 || r.lately) && !slices.ContainsFunc(r.logged, func(t tooMany) bool { return t.still })
}

func readResubmits(h *snapshot.Host) (resubmits, error) {
	var r resubmits
	lines, err := doctor.LogLines(h, "ovs-vswitchd", "resubmit actions on bridge ")
	counters, err2 := h.Coverage("ovs-vswitchd")
	if err2 == nil {
		r.dropped = counters["drop_action_too_many_resubmit"]
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) && err2 != nil {
		return r, err
	}
	r.told = len(lines)
	// The latest packet of each bridge, asked about: is it given up still?
	known := map[string]bool{}
	for _, l := range slices.Backward(lines) {
		t := tooMany{LogLine: l}
		_, rest, _ := strings.Cut(l.Text, "resubmit actions on bridge ")
		t.bridge, t.flow, _ = strings.Cut(rest, " while processing ")
		if known[t.bridge] || t.bridge == "" || t.flow == "" || len(known) > 7 {
			continue
		}
		known[t.bridge] = true
		reply, err := h.Control("ovs-vswitchd", "ofproto/trace", t.bridge, strings.TrimSpace(t.flow))
		t.err = err
		if strings.Contains(t.flow, "recirc_id=0x") && !strings.Contains(t.flow, "recirc_id=0x0,") {
			t.err = errors.New("it had passed connection tracking, and its way from there cannot be followed again")
		}
		t.still = t.err == nil && (strings.Contains(reply, "Too many resubmits") || strings.Contains(reply, "resubmit actions on bridge"))
		r.lately = r.lately || t.err != nil && !errors.Is(t.err, node.ErrUnavailable) && t.LogLine.InLastHour(h.Deployment())
		r.logged = append(r.logged, t)
	}
	return r, nil
}

func (r resubmits) report(p *doctor.Pass, h *snapshot.Host) {
	for _, t := range r.logged {
		f := doctor.Finding{
			Object: doctor.Object{Kind: "bridge", Name: t.bridge, Node: h.Name}, Also: []doctor.Object{doctor.NodeObject(h.Name)},
			Evidence: []doctor.Evidence{t.LogLine.Evidence("ovs-vswitchd")},
			Cause:    resubmitCause,
			Effect:   "packets like this one are dropped without a trace in any table",
			Next:     fixes.Command("ovs-appctl ofproto/trace %s %s", t.bridge, strings.TrimSpace(t.flow)),
		}
		switch {
		case t.still:
			f.Title = fmt.Sprintf("bridge %s on %s gives packets up after 4096 resubmits", t.bridge, h.Name)
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("ofproto/trace of that packet now"), Says: "Translation failed (Too many resubmits), packet is dropped."})
		case errors.Is(t.err, node.ErrUnavailable) && t.InLastHour(p.Deployment):
			f.Result = doctor.Warning
			f.Title = fmt.Sprintf("bridge %s on %s gave a packet up after 4096 resubmits within the last hour", t.bridge, h.Name)
		default:
			continue
		}
		p.Report(f)
	}
}

func (r resubmits) lines(n int) (list []doctor.Evidence) {
	for _, t := range r.logged[:min(n, len(r.logged))] {
		list = append(list, t.LogLine.Evidence("ovs-vswitchd"))
	}
	return list
}
