package catalog

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
)

// EnableRouter enables a logical router that is disabled in the Northbound.
var EnableRouter = &fixes.Repair{
	Name: "enable-router",
	Doc: `Enable a logical router that was disabled

Sets Logical_Router.enabled to true. A cluster's management system that disabled the
router on purpose disables it again.`,
	Params: []fixes.Param{{Name: "ROUTER", Doc: "the logical router"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "port-administratively-disabled",
	Plan: routers.on("ROUTER", func(f found[nb.LogicalRouter], a fixes.Args) (*fixes.Plan, error) {
		r := f.row
		return enable(fixes.Set{DB: "OVN_Northbound", Zone: f.zone.Name, Row: r, Name: r.Name}, "router "+r.Name, r.Enabled, r.ExternalIDs,
			fmt.Sprintf("what goes through router %s with its %d ports", r.Name, len(f.logical.RouterPortsOf[r.UUID])))
	}),
}
