package catalog

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// ClearRequestedChassis lets a logical port be bound wherever its interface is.
var ClearRequestedChassis = &fixes.Repair{
	Name: "clear-requested-chassis",
	Doc: `Let a logical port be bound where its interface is

Removes options:requested-chassis of the Logical_Switch_Port where it names a chassis
on which the port is not, or none at all. It refuses while the port is bound, and where
the value names two chassis: that is a live migration.`,
	Params: []fixes.Param{{Name: "PORT", Doc: "the logical switch port"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "port-not-bound",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		z, port, err := switchPort(d, a["PORT"])
		if err != nil {
			return nil, err
		}
		value, ok := port.Options["requested-chassis"]
		switch {
		case !ok:
			return nil, fixes.Refuse("", "port %s asks for no chassis", port.Name)
		case strings.Contains(value, ","):
			return nil, fixes.Refuse("wait for its end, or end it by the means of whoever began it", "port %s is in a live migration: requested-chassis=%s", port.Name, value)
		}
		south, err := z.Southbound()
		if err != nil {
			return nil, err
		}
		for _, row := range south.PortBindings {
			if row.LogicalPort == port.Name && len(row.Chassis) > 0 {
				return nil, fixes.Refuse("", "port %s is bound: its requested-chassis does no harm", port.Name)
			}
		}
		title := "let port " + port.Name + " be bound on any chassis"
		return &fixes.Plan{
			Title: title, Touches: "the traffic of port " + port.Name,
			Warnings: ownedPort(port),
			Steps: []fixes.Step{fixes.Rows{
				DB: "OVN_Northbound", Zone: z.Name, What: title,
				Changes: []fixes.Change{{
					Table: "Logical_Switch_Port", UUID: port.UUID,
					Before: fixes.Row{"options:requested-chassis": value}, After: fixes.Row{"options:requested-chassis": nil},
				}},
				Classic: []string{fixes.Command("ovn-nbctl remove Logical_Switch_Port %s options requested-chassis", port.Name)},
			}},
		}, nil
	},
}
