package catalog

import (
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
)

// ClearRequestedChassis lets a logical port be bound wherever its interface is.
var ClearRequestedChassis = &fixes.Repair{
	Name: "clear-requested-chassis",
	Doc: `Let a logical port be bound where its interface is

Removes options:requested-chassis of the Logical_Switch_Port if it names a chassis that
does not exist or does not have the port. It refuses while the port is bound, if no node
has an interface for it, and if the value names two chassis: that is a live migration.`,
	Params: []fixes.Param{{Name: "PORT", Doc: "the logical switch port"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "port-not-bound",
	Plan: onPort(func(f found[nb.LogicalSwitchPortBrief], a fixes.Args) (*fixes.Plan, error) {
		z, port := f.zone, f.row
		if port.Options["requested-chassis"] == "" {
			return nil, fixes.Refuse("", "port %s does not request a chassis", port.Name)
		}
		if err := checkNotMigrating(port); err != nil {
			return nil, err
		}
		south, err := z.Southbound()
		if err != nil {
			return nil, err
		}
		if row := south.PortBinding(port.Name); row != nil && len(row.Chassis) > 0 {
			return nil, fixes.Refuse("", "port %s is bound: its requested-chassis does no harm", port.Name)
		}
		if len(claimants(z.Deployment(), port.Name)) == 0 && allRead(z.Deployment()) {
			return nil, fixes.Refuse("", "no node has an interface with iface-id=%s: nothing waits to be bound", port.Name)
		}
		return setPlan(nil, fixes.Set{
			DB: "OVN_Northbound", Zone: z.Name, What: "let port " + port.Name + " be bound on any chassis",
			Row: port, Name: port.Name, Columns: fixes.Row{"options:requested-chassis": nil},
		}, "the traffic of port "+port.Name, ownedPort(port)...), nil
	}),
}
