package catalog

import (
	"fmt"
	"strconv"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// RaiseElectionTimer gives a clustered database's leader more time.
var RaiseElectionTimer = &fixes.Repair{
	Name: "raise-election-timer",
	Doc: `Give the leader of a clustered database more time

Doubles the time that followers wait for their leader before they elect another, or
sets it to MILLISECONDS. A cluster allows at most twice the present value at a time. A
leader that really fails is replaced that much later.`,
	Params: []fixes.Param{databaseParam, {Name: "MILLISECONDS", Doc: "the new time; at most twice the present one", Optional: true}},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.Low,
	Check:  "raft-frequent-elections",
	Plan: onLeader("raise-election-timer", func(h *snapshot.Host, s *snapshot.Server, m *snapshot.Member, a fixes.Args) (*fixes.Plan, error) {
		now := int(m.ElectionTimer.Milliseconds())
		then := 2 * now
		if text := a["MILLISECONDS"]; text != "" {
			var err error
			if then, err = strconv.Atoi(text); err != nil {
				return nil, fmt.Errorf("%q is not a number of milliseconds", text)
			}
		}
		switch {
		case then == now:
			return nil, fixes.Refuse("", "the election timer of %s is %d ms", m.Database, now)
		case then < 100 || then > 600000:
			return nil, fmt.Errorf("%d ms: an election timer is between 100 and 600000 ms", then)
		case then > 2*now:
			return nil, fixes.Refuse(fmt.Sprintf("set it to %d first, then go on", 2*now), "the timer of %s is %d ms, and a cluster allows at most twice that at a time", m.Database, now)
		}
		set := func(ms int) []string { return []string{"cluster/change-election-timer", m.Database, strconv.Itoa(ms)} }
		return &fixes.Plan{
			Title:   fmt.Sprintf("set the election timer of %s from %d to %d ms", m.Database, now, then),
			Host:    h.Name,
			Touches: "no traffic; a leader that fails is replaced that much later",
			Steps: []fixes.Step{fixes.Control{
				Daemon: s.Control, Command: set(then)[0], Args: set(then)[1:],
				What: fmt.Sprintf("set the election timer of %s from %d to %d ms", m.Database, now, then),
				Undo: set(now),

				State: []string{"cluster/status", m.Database}, Was: fmt.Sprintf("Election timer: %d", now), Is: fmt.Sprintf("Election timer: %d", then),
			}},
		}, nil
	}),
}
