package catalog

import (
	"fmt"

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
