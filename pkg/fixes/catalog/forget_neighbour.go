package catalog

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// learnsAgain is why what was forgotten is not put back.
const learnsAgain = "it is learned again by itself: there is nothing to put back"

// DeleteMACBinding makes a router forget a neighbour, and so learn it anew.
var DeleteMACBinding = &fixes.Repair{
	Name: "delete-mac-binding",
	Doc: `Make a router forget the MAC address of a neighbour

Deletes the row of MAC_Binding for a router port and an address. With the next packet
the router asks for the address by ARP or neighbour discovery and learns who
answers.`,
	Params: []fixes.Param{
		{Name: "PORT", Doc: "the logical router port"},
		{Name: "IP", Doc: "the address of the neighbour"},
	},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "mac-binding-stale",
	OneWay: learnsAgain,
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		var known []string
		for _, z := range d.Zones {
			db, err := z.SB()
			if err != nil {
				return nil, err
			}
			learned, err := z.Learned()
			if err != nil {
				return nil, err
			}
			for _, row := range learned.MACBindings {
				if row.LogicalPort == a["PORT"] {
					known = append(known, row.IP)
				}
				if row.LogicalPort != a["PORT"] || row.IP != a["IP"] {
					continue
				}
				change, err := fixes.DeleteRow(d.Context(), db, "MAC_Binding", row.UUID)
				if err != nil {
					return nil, err
				}
				title := fmt.Sprintf("forget that %s is at %s behind %s", row.IP, row.MAC, row.LogicalPort)
				return &fixes.Plan{
					Title:    title,
					NoUndo:   learnsAgain,
					Touches:  fmt.Sprintf("the first packets from %s to %s, until it is learned again", row.LogicalPort, row.IP),
					Warnings: []string{"to keep it from lasting: ovn-nbctl set Logical_Router ROUTER options:mac_binding_age_threshold=300 (OVN 22.09 and later)"},
					Steps: []fixes.Step{fixes.Rows{
						DB: "OVN_Southbound", Zone: z.Name, What: title, Changes: []fixes.Change{change},
						Classic: []string{"ovn-sbctl destroy MAC_Binding " + string(row.UUID)},
					}},
				}, nil
			}
		}
		return nil, fmt.Errorf("no MAC_Binding of port %q for %q; it has learned %s", a["PORT"], a["IP"], several(known))
	},
}

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
