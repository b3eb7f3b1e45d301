package catalog

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// DeleteFDB makes a switch forget behind which port it has seen a MAC address.
var DeleteFDB = &fixes.Repair{
	Name: "delete-fdb",
	Doc: `Make a switch forget behind which port it has seen a MAC address

Deletes the row of FDB. What is for the address is flooded to the ports with
unknown addresses until it sends something itself.`,
	Params: []fixes.Param{
		{Name: "DATAPATH", Doc: "the tunnel key of the switch, FDB.dp_key"},
		{Name: "MAC", Doc: "the MAC address"},
	},
	Class:  fixes.Ask,
	Risk:   fixes.Low,
	Check:  "mac-binding-stale",
	OneWay: learnsAgain,
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		key, err := strconv.Atoi(a["DATAPATH"])
		if err != nil {
			return nil, fmt.Errorf("DATAPATH %q is no number", a["DATAPATH"])
		}
		for _, z := range d.Zones {
			db, err := z.SB()
			if err != nil {
				return nil, err
			}
			learned, err := z.Learned()
			if err != nil {
				return nil, err
			}
			for _, row := range learned.FDB {
				if row.DPKey != key || !strings.EqualFold(row.MAC, a["MAC"]) {
					continue
				}
				change, err := fixes.DeleteRow(d.Context(), db, "FDB", row.UUID)
				if err != nil {
					return nil, err
				}
				title := fmt.Sprintf("forget behind which port of switch %d %s was seen", key, row.MAC)
				return &fixes.Plan{
					Title: title, Touches: "what is for " + row.MAC, NoUndo: learnsAgain,
					Steps: []fixes.Step{fixes.Rows{
						DB: "OVN_Southbound", Zone: z.Name, What: title, Changes: []fixes.Change{change},
						Classic: []string{"ovn-sbctl destroy FDB " + string(row.UUID)},
					}},
				}, nil
			}
		}
		return nil, fmt.Errorf("no FDB entry of switch %d for %q", key, a["MAC"])
	},
}
