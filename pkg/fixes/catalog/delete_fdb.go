package catalog

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// DeleteFDB makes a switch forget the port behind which it saw a MAC address.
var DeleteFDB = &fixes.Repair{
	Name: "delete-fdb",
	Doc: `Make a switch forget behind which port it has seen a MAC address

Deletes the row of FDB. Packets to the address are flooded to the ports with unknown
addresses until it sends something itself.`,
	Params: []fixes.Param{
		{Name: "DATAPATH", Doc: "the tunnel key of the switch, FDB.dp_key"},
		{Name: "MAC", Doc: "the MAC address"},
	},
	Class:  fixes.Ask,
	Risk:   fixes.Low,
	Check:  "mac-binding-stale",
	OneWay: relearned,
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		key, err := strconv.Atoi(a["DATAPATH"])
		if err != nil {
			return nil, fmt.Errorf("DATAPATH %q is not a number", a["DATAPATH"])
		}
		for _, z := range d.Zones {
			learned, err := z.Learned()
			if err != nil {
				return nil, err
			}
			for _, row := range learned.FDB {
				if row.DPKey != key || !strings.EqualFold(row.MAC, a["MAC"]) {
					continue
				}
				title := fmt.Sprintf("forget behind which port of switch %d %s was seen", key, row.MAC)
				step, err := forget(d, z, row, row.UUID, title)
				return &fixes.Plan{Title: title, Touches: "packets to " + row.MAC, NoUndo: relearned, Steps: []fixes.Step{step}}, err
			}
		}
		return nil, fmt.Errorf("no FDB entry of switch %d for %q", key, a["MAC"])
	},
}
