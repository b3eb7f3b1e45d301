package catalog

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// ReinstallMACBinding makes all nodes write a neighbour's flow again.
var ReinstallMACBinding = &fixes.Repair{
	Name: "reinstall-mac-binding",
	Doc: `Make all nodes write the flow of a neighbour again

Writes another MAC address to the row of MAC_Binding, waits until the chassis has caught
up, and writes the right one again: ovn-controller installs the flow each time. Writing
the same value would do nothing, and flows are never written by hand.`,
	Params: []fixes.Param{
		{Name: "PORT", Doc: "the logical router port"},
		{Name: "IP", Doc: "the address of the neighbour"},
	},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "of-flow-drift",
	OneWay: flowBack,
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h := d.Local()
		if h == nil {
			return nil, fixes.Refuse("run it on the node that lacks the flow", "this is not a node: it is unknown which chassis has to catch up")
		}
		z := h.Zone()
		if z == nil {
			return nil, fmt.Errorf("the databases of the zone of %s were not read", h.Name)
		}
		chassis, _, err := h.ChassisName()
		if err != nil {
			return nil, err
		}
		learned, err := z.Learned()
		if err != nil {
			return nil, err
		}
		row, err := macBinding(learned, a["PORT"], a["IP"])
		if err != nil {
			return nil, err
		}
		set := fixes.Set{
			DB: "OVN_Southbound", Zone: z.Name, What: fmt.Sprintf("give %s another MAC address for a moment", row.IP),
			Row: row, Columns: fixes.Row{"mac": otherMAC(row.MAC)},
		}
		return &fixes.Plan{
			Title:   fmt.Sprintf("write the flow of neighbour %s of %s again", row.IP, row.LogicalPort),
			NoUndo:  flowBack,
			Touches: fmt.Sprintf("what is sent from %s to %s, for a moment on all nodes", row.LogicalPort, row.IP),
			Steps: []fixes.Step{
				set.Step(),
				fixes.Await{What: "chassis " + chassis + " has caught up", Chassis: chassis, Zone: z.Name},
				set.Back(fmt.Sprintf("give %s its own MAC address back", row.IP)),
			},
		}, nil
	},
}

// macBinding returns the row of a router port's neighbour.
func macBinding(learned *snapshot.Learned, port, ip string) (*sb.MACBinding, error) {
	var known []string
	for i := range learned.MACBindings {
		row := &learned.MACBindings[i]
		if row.LogicalPort == port && row.IP == ip {
			return row, nil
		}
		if row.LogicalPort == port {
			known = append(known, row.IP)
		}
	}
	return nil, fmt.Errorf("no MAC_Binding of port %q for %q; it has learned %s", port, ip, several(known))
}

const flowBack = "the row is unchanged, and a flow that was missing is not removed again"

// otherMAC returns an unused local MAC address other than the given one.
func otherMAC(mac string) string {
	if mac == "02:00:00:00:00:01" {
		return "02:00:00:00:00:02"
	}
	return "02:00:00:00:00:01"
}
