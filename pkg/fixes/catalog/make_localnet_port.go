package catalog

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
)

// MakeLocalnetPort gives a port that names a physical network the type localnet.
var MakeLocalnetPort = &fixes.Repair{
	Name: "make-localnet-port",
	Doc: `Give a port that names a physical network the type localnet

Sets Logical_Switch_Port.type to localnet, and addresses to unknown if that is missing.
It refuses if an interface is bound to the port.`,
	Params: []fixes.Param{{Name: "PORT", Doc: "the logical switch port with options:network_name"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "dangling-router-link",
	Plan: onPort(func(f found[nb.LogicalSwitchPortBrief], a fixes.Args) (*fixes.Plan, error) {
		z, p := f.zone, f.row
		network := p.Options["network_name"]
		switch {
		case network == "":
			return nil, fixes.Refuse("", "port %s names no physical network in options:network_name", p.Name)
		case p.Type == "localnet", p.Type == "l2gateway":
			return nil, fixes.Refuse("", "port %s is of type %s", p.Name, p.Type)
		}
		if err := checkUnused(z, p); err != nil {
			return nil, err
		}
		columns := fixes.Row{"type": "localnet"}
		classic := []string{fixes.Command("ovn-nbctl lsp-set-type %s localnet", p.Name)}
		if !p.Addresses.Has("unknown") {
			columns["addresses"] = []string{"unknown"}
			classic = append(classic, fixes.Command("ovn-nbctl lsp-set-addresses %s unknown", p.Name))
		}
		return &fixes.Plan{
			Title:    fmt.Sprintf("join port %s to physical network %s", p.Name, network),
			Touches:  "traffic between the switch and the physical network " + network,
			Warnings: ownedPort(p),
			Steps: []fixes.Step{fixes.Set{
				DB: "OVN_Northbound", Zone: z.Name, What: "give port " + p.Name + " the type localnet",
				Row: p, Columns: columns, Classic: classic,
			}.Step()},
		}, nil
	}),
}
