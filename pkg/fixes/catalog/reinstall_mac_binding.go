package catalog

import (
	"fmt"
	"strconv"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// ReinstallMACBinding has all nodes write the flow of a neighbour anew.
var ReinstallMACBinding = &fixes.Repair{
	Name: "reinstall-mac-binding",
	Doc: `Have all nodes write the flow of a neighbour anew

Writes another MAC address to the row of MAC_Binding, waits until the chassis has caught
up, and writes the right one again: ovn-controller installs the flow with each. A write
of the same value does nothing, and a flow is never written by hand.`,
	Params: []fixes.Param{
		{Name: "PORT", Doc: "the logical router port"},
		{Name: "IP", Doc: "the address of the neighbour"},
	},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "of-flow-drift",
	OneWay: flowBack,
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h := d.Local()
		if h == nil {
			return nil, fixes.Refuse("run it on the node that lacks the flow", "this is no node: which chassis has to catch up cannot be told")
		}
		z := h.Zone()
		if z == nil {
			return nil, fmt.Errorf("the zone of %s was not read", h.Name)
		}
		chassis, _, err := h.ChassisName()
		if err != nil {
			return nil, err
		}
		learned, err := z.Learned()
		if err != nil {
			return nil, err
		}
		var known []string
		for _, row := range learned.MACBindings {
			if row.LogicalPort != a["PORT"] {
				continue
			}
			known = append(known, row.IP)
			if row.IP != a["IP"] {
				continue
			}
			other := otherMAC(row.MAC)
			step := func(before, after, what string) fixes.Rows {
				return fixes.Rows{
					DB: "OVN_Southbound", Zone: z.Name, What: what,
					Changes: []fixes.Change{{Table: "MAC_Binding", UUID: row.UUID, Before: fixes.Row{"mac": before}, After: fixes.Row{"mac": after}}},
					Classic: []string{fixes.Command("ovn-sbctl set MAC_Binding %s mac=%s", row.UUID, strconv.Quote(after))},
				}
			}
			return &fixes.Plan{
				Title:   fmt.Sprintf("write the flow of neighbour %s of %s anew", row.IP, row.LogicalPort),
				NoUndo:  flowBack,
				Touches: fmt.Sprintf("what is sent from %s to %s, for a moment on all nodes", row.LogicalPort, row.IP),
				Steps: []fixes.Step{
					step(row.MAC, other, fmt.Sprintf("give %s another address for a moment", row.IP)),
					fixes.Await{What: "chassis " + chassis + " has caught up", Chassis: chassis, Zone: z.Name},
					step(other, row.MAC, fmt.Sprintf("give %s its own address back", row.IP)),
				},
			}, nil
		}
		return nil, fmt.Errorf("no MAC_Binding of port %q for %q; it has learned %s", a["PORT"], a["IP"], several(known))
	},
}

// flowBack is why it is not undone.
const flowBack = "the row is as it was, and a flow that was missing is not taken away again"

// otherMAC is an address that is not the given one: a local one of nobody.
func otherMAC(mac string) string {
	if mac == "02:00:00:00:00:01" {
		return "02:00:00:00:00:02"
	}
	return "02:00:00:00:00:01"
}
