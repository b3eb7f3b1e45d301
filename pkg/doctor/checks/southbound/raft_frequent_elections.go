package southbound

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// How many elections are too many. A leader steps down when it writes a snapshot, at most every ten minutes; an election
// that is known to follow from that is not counted.
const (
	electionsInHour       = 8
	electionsInTenMinutes = 5
)

var RaftFrequentElections = &doctor.Check{
	Name:     "raft-frequent-elections",
	Category: "raft",
	Doc: `A clustered database changes its leader often

With every change clients reconnect, and writes fail meanwhile. Usually the leader is too
busy to send its heartbeats in time, or the network loses packets.`,
	Causes: []string{"raft-no-quorum", "raft-stale-member", "db-disk-full-or-corrupt"},
	Run: func(p *doctor.Pass) {
		seen := map[string]bool{}
		all := p.Clustered()
		for _, leads := range []bool{true, false} { // the repair runs on the leader: it comes first
			for _, m := range all {
				if m.Leads() == leads && !seen[m.ClusterID] {
					seen[m.ClusterID] = frequentElections(p, &m)
				}
			}
		}
	},
}

var timerChanged = regexp.MustCompile(`^Election timer changed from (\d+) to (\d+)`)

var newLeader = regexp.MustCompile(`^(?:term (\d+): elected leader by|server [0-9a-f]+ is leader for term (\d+))`)

func frequentElections(p *doctor.Pass, m *doctor.Member) bool {
	if len(m.Peers) < 2 {
		return false
	}
	lines, err := m.Host.LogLines(m.Log)
	if err != nil {
		p.Unknown(m.Object(), fmt.Errorf("how often %s elects a leader: %w", m.Database, err))
		return false
	}
	hour, ten := p.Now().Add(-time.Hour), p.Now().Add(-10*time.Minute)
	elections := elections(doctor.Recent(lines, hour, func(l snapshot.LogLine) bool { return l.Module == "raft" }), int(m.ElectionTimer.Milliseconds()))
	late := doctor.Recent(elections, ten, func(snapshot.LogLine) bool { return true })
	if len(elections) < electionsInHour && len(late) < electionsInTenMinutes {
		return false
	}
	f := doctor.Finding{
		Object: m.Object(),
		Also:   m.Also(),
		Title:  fmt.Sprintf("%s elected a leader %d times within the last hour", m.Database, len(elections)),
		Effect: "clients reconnect each time, and changes wait",
		Cause:  fmt.Sprintf("the leader is silent for longer than the election timer, %d ms: its host or disk is too busy, or the network between the members loses packets", m.ElectionTimer.Milliseconds()),
		Evidence: []doctor.Evidence{
			m.Status("Role", "Term", "Election timer"),
		},
	}
	if len(late) == len(elections) {
		f.Title = fmt.Sprintf("%s elected a leader %d times within the last 10 minutes", m.Database, len(late))
	}
	for _, l := range elections[max(0, len(elections)-3):] {
		f.Evidence = append(f.Evidence, doctor.Log(m.Log).On(m.Host.Name).Says(l.Raw))
	}
	slow := doctor.Recent(lines, hour, func(l snapshot.LogLine) bool { return strings.HasPrefix(l.Text, "Unreasonably long") })
	if len(slow) > 0 {
		f.Evidence = append(f.Evidence, doctor.Log(m.Log).On(m.Host.Name).Says(slow[len(slow)-1].Raw))
	}
	switch {
	case m.ElectionTimer >= 16*time.Second:
		f.Next = "the election timer is long already: check disk, memory and network of the members"
	case m.Leads():
		f.Fix = catalog.RaiseElectionTimer.With(m.Database)
	default:
		f.Next = fmt.Sprintf("on the leader's host: ovnctl fix %s %s", catalog.RaiseElectionTimer.Name, m.Database)
	}
	p.Report(f)
	return true
}

// elections are the log lines about a new leader, one for each term, without those after a leader stepped down by
// itself, and those under a shorter timer than the present one.
func elections(lines []snapshot.LogLine, timer int) []snapshot.LogLine {
	timers := timersOf(lines, timer)
	var out []snapshot.LogLine
	terms := map[string]bool{}
	steppedDown := false
	for i, l := range lines {
		if strings.HasPrefix(l.Text, "received leadership transfer") || strings.Contains(strings.ToLower(l.Text), "transferring leadership") {
			steppedDown = true
		}
		x := newLeader.FindStringSubmatch(l.Text)
		if x == nil || terms[x[1]+x[2]] {
			continue
		}
		terms[x[1]+x[2]] = true
		if !steppedDown && timers[i] >= timer {
			out = append(out, l)
		}
		steppedDown = false
	}
	return out
}

// timersOf are the election timers in force at each line; timer is the present one.
func timersOf(lines []snapshot.LogLine, timer int) []int {
	timers := make([]int, len(lines))
	for i := len(lines) - 1; i >= 0; i-- {
		timers[i] = timer
		if x := timerChanged.FindStringSubmatch(lines[i].Text); x != nil {
			timer, _ = strconv.Atoi(x[1])
		}
	}
	return timers
}
