package catalog

import (
	"fmt"
	"strconv"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// DefaultFlowLimit is how many flows a datapath may hold where nothing is said,
// ovs-vswitchd.conf.db(5).
const DefaultFlowLimit = 200000

// RaiseFlowLimit lets datapaths hold more flows.
var RaiseFlowLimit = &fixes.Repair{
	Name: "raise-flow-limit",
	Doc: `Let the datapath hold more flows

Sets Open_vSwitch other_config:flow-limit. Where it is below what Open vSwitch takes by
itself, 200000, that is the new limit; else twice the old one. It does not help where
ovs-vswitchd lowers the limit by itself because it is too slow.`,
	Params: []fixes.Param{{Name: "LIMIT", Doc: "how many flows", Optional: true}},
	Class:  fixes.Ask,
	Risk:   fixes.Low,
	Check:  "datapath-flow-limit",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h, sw, err := localSwitch(d)
		if err != nil {
			return nil, err
		}
		if len(sw.OpenvSwitch) == 0 {
			return nil, fmt.Errorf("the Open_vSwitch database of %s has no row of Open_vSwitch", h.Name)
		}
		row := sw.OpenvSwitch[0]
		old, set := row.OtherConfig["flow-limit"]
		now, err := strconv.Atoi(old)
		if !set || err != nil {
			now = DefaultFlowLimit
		}
		usual := 2 * now
		if now < DefaultFlowLimit {
			usual = DefaultFlowLimit
		}
		limit, err := largerNumber(a["LIMIT"], now, usual)
		if err != nil {
			return nil, err
		}
		before := fixes.Row{"other_config:flow-limit": nil}
		if set {
			before["other_config:flow-limit"] = old
		}
		return &fixes.Plan{
			Title: fmt.Sprintf("let the datapath of %s hold %d flows", h.Name, limit), Host: h.Name,
			Touches: "no traffic; ovs-vswitchd needs more memory and CPU time for more flows",
			Steps: []fixes.Step{fixes.Rows{
				DB: "Open_vSwitch", What: fmt.Sprintf("set other_config:flow-limit to %d", limit),
				Changes: []fixes.Change{{
					Table: "Open_vSwitch", UUID: row.UUID,
					Before: before, After: fixes.Row{"other_config:flow-limit": strconv.Itoa(limit)},
				}},
				Classic: []string{fixes.Command("ovs-vsctl set Open_vSwitch . other_config:flow-limit=%d", limit)},
			}},
		}, nil
	},
}

// largerNumber is the number of an argument, which must be larger than what is
// now; usual where the argument is left out.
func largerNumber(arg string, now, usual int) (int, error) {
	if arg == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(arg)
	if err != nil || n <= 0 || n > 1<<31-1 {
		return 0, fmt.Errorf("%q is no number of entries", arg)
	}
	if n <= now {
		return 0, fixes.Refuse("", "%d is not more than the %d of now", n, now)
	}
	return n, nil
}
