package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
)

// CompleteDHCPOptions adds missing DHCP options.
var CompleteDHCPOptions = &fixes.Repair{
	Name: "complete-dhcp-options",
	Doc: `Add what DHCP options lack

Sets server_id, server_mac and lease_time (for DHCPv6 server_id) if they are missing or
unusable: to the address and MAC address of the router in that network, and the lease
time of the other options, or an hour. Usable ones stay.`,
	Params: []fixes.Param{{Name: "OPTIONS", Doc: "the network of the DHCP_Options row, 10.0.0.0/24, or its UUID"}},
	Class:  fixes.Ask,
	Risk:   fixes.Low,
	Check:  "dhcp-options-incomplete",
	Plan: dhcpOptions.on("OPTIONS", func(f found[nb.DHCPOptions], a fixes.Args) (*fixes.Plan, error) {
		o := f.row
		faults := facts.DHCPFaults(o)
		if len(faults) == 0 {
			return nil, fixes.Refuse("", "the DHCP options of %s are complete", o.Cidr)
		}
		proposal := f.logical.DHCPProposal(o)
		columns := fixes.Row{}
		var classic, what []string
		for _, key := range slices.Sorted(maps.Keys(faults)) {
			value := proposal[key]
			if value == "" {
				return nil, fixes.Refuse(fixes.Command(`set it: ovn-nbctl set DHCP_Options %s options:%s='"…"'`, o.UUID, key),
					"%s of the DHCP options of %s %s, and no router in that network shows what it should be", key, o.Cidr, faults[key])
			}
			columns["options:"+key] = value
			classic = append(classic, fixes.Command("ovn-nbctl set DHCP_Options %s options:%s=%s", o.UUID, key, strconv.Quote(value)))
			what = append(what, key+"="+value)
		}
		return &fixes.Plan{
			Title:    fmt.Sprintf("set %s in the DHCP options of %s", strings.Join(what, ", "), o.Cidr),
			Touches:  "DHCP replies; leased addresses stay",
			Warnings: overwritten("the DHCP options of "+o.Cidr, o.ExternalIDs),
			Steps: []fixes.Step{fixes.Set{
				DB: "OVN_Northbound", Zone: f.zone.Name, What: "complete the DHCP options of " + o.Cidr,
				Row: o, Columns: columns, Classic: classic,
				Guards: []fixes.Guard{{Table: "DHCP_Options", UUID: o.UUID, Columns: fixes.Row{"cidr": o.Cidr}}},
			}.Step()},
		}, nil
	}),
}
