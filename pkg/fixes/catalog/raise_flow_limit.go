package catalog

import (
	"fmt"
	"strconv"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// RaiseFlowLimit lets OVS datapaths hold more flows.
var RaiseFlowLimit = &fixes.Repair{
	Name: "raise-flow-limit",
	Doc: `Let the OVS datapath hold more flows

Sets Open_vSwitch other_config:flow-limit: to 200000, the default of Open vSwitch, if it
is below that, else to twice the old one. It does not help if ovs-vswitchd lowers the
limit itself because it is too slow.`,
	Params: []fixes.Param{{Name: "LIMIT", Doc: "how many flows", Optional: true}},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.Low,
	Check:  "datapath-flow-limit",
	Plan: onSwitch(func(h *snapshot.Host, sw *snapshot.Switch, a fixes.Args) (*fixes.Plan, error) {
		row, err := rootRow(h, sw)
		if err != nil {
			return nil, err
		}
		now := numberOr(sw.OpenvSwitch[0].OtherConfig["flow-limit"], snapshot.DefaultFlowLimit)
		usual := 2 * now
		if now < snapshot.DefaultFlowLimit {
			usual = snapshot.DefaultFlowLimit
		}
		limit, err := largerNumber(a["LIMIT"], now, usual)
		if err != nil {
			return nil, err
		}
		return &fixes.Plan{
			Title: fmt.Sprintf("let the OVS datapath of %s hold %d flows", h.Name, limit), Host: h.Name,
			Touches: "no traffic; ovs-vswitchd needs more memory and CPU time for more flows",
			Steps: []fixes.Step{fixes.Set{
				DB: "Open_vSwitch", What: fmt.Sprintf("set other_config:flow-limit to %d", limit),
				Row: row, Name: ".", Columns: fixes.Row{"other_config:flow-limit": strconv.Itoa(limit)},
			}.Step()},
		}, nil
	}),
}

// numberOr parses a setting's number, or returns a default.
func numberOr(text string, otherwise int) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return otherwise
}

// largerNumber parses an argument, which must exceed the current number; usual if there is no argument.
func largerNumber(arg string, now, usual int) (int, error) {
	if arg == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(arg)
	if err != nil || n <= 0 || n > 1<<31-1 {
		return 0, fmt.Errorf("%q is not a number of entries", arg)
	}
	if n <= now {
		return 0, fixes.Refuse("", "%d is not more than the present %d", n, now)
	}
	return n, nil
}
