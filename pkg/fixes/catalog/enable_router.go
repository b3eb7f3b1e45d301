package catalog

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// EnableRouter switches a logical router on that was switched off in the Northbound.
var EnableRouter = &fixes.Repair{
	Name: "enable-router",
	Doc: `Enable a logical router that was disabled

Sets Logical_Router.enabled to true. A cluster's management system that disabled the
router on purpose disables it again.`,
	Params: []fixes.Param{{Name: "ROUTER", Doc: "the logical router"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "port-administratively-disabled",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		z, l, r, err := findRouter(d, a["ROUTER"])
		if err != nil {
			return nil, err
		}
		plan, err := enable(z, "Logical_Router", r.UUID, "router "+r.Name, fixes.Command("ovn-nbctl set Logical_Router %s enabled=true", r.Name), r.Enabled)
		if err != nil {
			return nil, err
		}
		plan.Warnings = overwritten("router "+r.Name, r.ExternalIDs)
		plan.Touches = fmt.Sprintf("what goes through router %s with its %d ports", r.Name, len(l.RouterPortsOf[r.UUID]))
		return plan, nil
	},
}
