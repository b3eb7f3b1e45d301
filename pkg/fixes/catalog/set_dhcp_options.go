package catalog

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// SetDHCPOptions gives a port the DHCP options of its network.
var SetDHCPOptions = &fixes.Repair{
	Name: "set-dhcp-options",
	Doc: `Give a port the DHCP options of its network

Sets Logical_Switch_Port.dhcpv4_options or dhcpv6_options to the row of DHCP_Options that
the other ports of its switch with an address of that network have. It refuses if they
have different ones.`,
	Params: []fixes.Param{
		{Name: "PORT", Doc: "the logical switch port"},
		{Name: "OPTIONS", Doc: "the network of the DHCP_Options row, or its UUID", Optional: true},
	},
	Class: fixes.Ask,
	Risk:  fixes.Low,
	Check: "dhcp-options-incomplete",
	Plan: onPort(func(f found[nb.LogicalSwitchPortBrief], a fixes.Args) (*fixes.Plan, error) {
		z, l, p := f.zone, f.logical, f.row
		if p.Type != "" {
			return nil, fixes.Refuse("", "port %s is of type %s: neither a pod nor a VM asks for a lease there", p.Name, p.Type)
		}
		o := l.DHCPOptionsFor(p)
		if name := a["OPTIONS"]; name != "" {
			f, err := dhcpOptions.find(z.Deployment(), name)
			if err != nil {
				return nil, err
			}
			o = f.row
		}
		if o == nil {
			return nil, fixes.Refuse(fixes.Command("name them: ovnctl fix set-dhcp-options %s OPTIONS", p.Name), "the other ports of the switch of %s have no DHCP options of its network, or different ones", p.Name)
		}
		if !facts.Serves(o, p) {
			return nil, fixes.Refuse("", "port %s has no address in %s", p.Name, o.Cidr)
		}
		column, was, nbctl := "dhcpv4_options", p.DHCPv4Options, "lsp-set-dhcpv4-options"
		if strings.Contains(o.Cidr, ":") {
			column, was, nbctl = "dhcpv6_options", p.DHCPv6Options, "lsp-set-dhcpv6-options"
		}
		if was.Has(o.UUID) {
			return nil, fixes.Refuse("", "port %s has the DHCP options of %s", p.Name, o.Cidr)
		}
		return &fixes.Plan{
			Title:    fmt.Sprintf("give port %s the DHCP options of %s", p.Name, o.Cidr),
			Touches:  "DHCP replies to port " + p.Name,
			Warnings: ownedPort(p),
			Steps: []fixes.Step{fixes.Set{
				DB: "OVN_Northbound", Zone: z.Name, What: fmt.Sprintf("set %s of port %s", column, p.Name),
				Row: p, Columns: fixes.Row{column: ovsdb.Set[ovsdb.UUID]{o.UUID}},
				Guards:  []fixes.Guard{{Table: "DHCP_Options", UUID: o.UUID, Columns: fixes.Row{"cidr": o.Cidr}}},
				Classic: []string{fixes.Command("ovn-nbctl %s %s %s", nbctl, p.Name, o.UUID)},
			}.Step()},
		}, nil
	}),
}
