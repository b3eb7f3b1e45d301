package catalog

import (
	"maps"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// EnablePort enables a logical port that is disabled in the Northbound.
var EnablePort = &fixes.Repair{
	Name: "enable-port",
	Doc: `Enable a logical port that was disabled

Sets Logical_Switch_Port.enabled, or Logical_Router_Port.enabled, to true. A cluster's
management system that disabled the port on purpose disables it again. A port of Neutron is
refused: its users enable and disable it.`,
	Params: []fixes.Param{{Name: "PORT", Doc: "the logical switch port or router port"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "port-administratively-disabled",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		name := a["PORT"]
		var plan *fixes.Plan
		var names []string
		err := inZones(d, func(z *snapshot.Zone, l *facts.Logical) (found bool, err error) {
			names = slices.AppendSeq(slices.AppendSeq(names, maps.Keys(l.SwitchPort)), maps.Keys(l.RouterPort))
			set := fixes.Set{DB: "OVN_Northbound", Zone: z.Name}
			if p := l.SwitchPort[name]; p != nil {
				if decode.NeutronOwns("", p.ExternalIDs) {
					return true, fixes.Refuse(fixes.Command("openstack port set --enable %s", name), "port %s is a port of Neutron, which writes the column as its users have it", name)
				}
				set.Row, set.Classic = p, []string{fixes.Command("ovn-nbctl lsp-set-enabled %s enabled", name)}
				plan, err = enable(set, "port "+name, p.Enabled, p.ExternalIDs, "the traffic of port "+name)
				return true, err
			}
			if p := l.RouterPort[name]; p != nil {
				set.Row, set.Classic = p, []string{fixes.Command("ovn-nbctl lrp-set-enabled %s enabled", name)}
				plan, err = enable(set, "port "+name, p.Enabled, p.ExternalIDs, "what goes through router port "+name)
				return true, err
			}
			return false, nil
		})
		if err == nil && plan == nil {
			err = noSuch("logical port", name, names)
		}
		return plan, err
	},
}

// enable returns the plan that sets a row's column enabled to true.
func enable(set fixes.Set, what string, enabled ovsdb.Set[bool], ids map[string]string, touches string) (*fixes.Plan, error) {
	if !facts.Off(enabled) {
		return nil, fixes.Refuse("", "%s is enabled", what)
	}
	set.What, set.Columns = "enable "+what, fixes.Row{"enabled": []bool{true}}
	return &fixes.Plan{Title: set.What, Touches: touches, Warnings: overwritten(what, ids), Steps: []fixes.Step{set.Step()}}, nil
}
