package catalog

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// EnablePort switches a logical port on that was switched off in the Northbound.
var EnablePort = &fixes.Repair{
	Name: "enable-port",
	Doc: `Enable a logical port that was disabled

Sets Logical_Switch_Port.enabled, or Logical_Router_Port.enabled, to true. A cluster's
management system that disabled the port on purpose disables it again.`,
	Params: []fixes.Param{{Name: "PORT", Doc: "the logical switch port or router port"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "port-administratively-disabled",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		name := a["PORT"]
		var found *fixes.Plan
		err := inZones(d, func(z *snapshot.Zone, l *snapshot.Logical) (bool, error) {
			if p := l.SwitchPort[name]; p != nil {
				var err error
				found, err = enable(z, "Logical_Switch_Port", p.UUID, "port "+name, fixes.Command("ovn-nbctl lsp-set-enabled %s enabled", name), p.Enabled)
				if found != nil {
					found.Warnings = ownedPort(p)
				}
				return true, err
			}
			if p := l.RouterPort[name]; p != nil {
				var err error
				found, err = enable(z, "Logical_Router_Port", p.UUID, "port "+name, fixes.Command("ovn-nbctl lrp-set-enabled %s enabled", name), p.Enabled)
				if found != nil {
					found.Warnings = overwritten("port "+name, p.ExternalIDs)
					found.Touches = "what goes through router port " + name
				}
				return true, err
			}
			return false, nil
		})
		if err == nil && found == nil {
			err = fmt.Errorf("no logical port %q", name)
		}
		return found, err
	},
}
