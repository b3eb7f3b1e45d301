package catalog

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

const relearned = "it is relearned automatically"

// DeleteMACBinding makes a router forget a neighbour.
var DeleteMACBinding = &fixes.Repair{
	Name: "delete-mac-binding",
	Doc: `Make a router forget the MAC address of a neighbour

Deletes the row of MAC_Binding for a router port and an address. With the next packet
the router resolves the address again, by ARP or neighbour discovery.`,
	Params: []fixes.Param{
		{Name: "PORT", Doc: "the logical router port"},
		{Name: "IP", Doc: "the address of the neighbour"},
	},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "mac-binding-stale",
	OneWay: relearned,
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		var missing error
		for _, z := range d.Zones {
			learned, err := z.Learned()
			if err != nil {
				return nil, err
			}
			row, err := macBinding(learned, a["PORT"], a["IP"])
			if err != nil {
				missing = err
				continue
			}
			title := fmt.Sprintf("forget that %s is at %s behind %s", row.IP, row.MAC, row.LogicalPort)
			step, err := forget(d, z, row, row.UUID, title)
			if err != nil {
				return nil, err
			}
			return &fixes.Plan{
				Title: title, NoUndo: relearned,
				Touches:  fmt.Sprintf("the first packets from %s to %s, until it is relearned", row.LogicalPort, row.IP),
				Warnings: []string{"to keep stale ones from lasting: ovn-nbctl set Logical_Router ROUTER options:mac_binding_age_threshold=300 (OVN 22.09 and later)"},
				Steps:    []fixes.Step{step},
			}, nil
		}
		if missing == nil {
			missing = fmt.Errorf("no MAC_Binding of port %q for %q: no OVN_Southbound was read", a["PORT"], a["IP"])
		}
		return nil, missing
	},
}

// forget returns the step that deletes a row that nodes have learned.
func forget(d *snapshot.Deployment, z *snapshot.Zone, row ovsdb.Row, id ovsdb.UUID, what string) (fixes.Rows, error) {
	step := fixes.Rows{DB: "OVN_Southbound", Zone: z.Name, What: what, Classic: []string{fmt.Sprintf("ovn-sbctl destroy %s %s", row.Table(), id)}}
	db, err := z.SB()
	if err != nil {
		return step, err
	}
	deletion, err := fixes.DeleteRow(d.Context(), db, row.Table(), id)
	step.Changes = []fixes.Change{deletion}
	return step, err
}
