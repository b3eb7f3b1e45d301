package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// CompleteDHCPOptions adds what DHCP options lack.
var CompleteDHCPOptions = &fixes.Repair{
	Name: "complete-dhcp-options",
	Doc: `Add to DHCP options what they lack

Sets the missing or unusable ones of server_id, server_mac and lease_time (of DHCPv6 server_id):
the address and MAC address of the router in that network, and the lease time of the other
options, or an hour. What is there and usable stays.`,
	Params: []fixes.Param{{Name: "OPTIONS", Doc: "the network of the DHCP_Options row, 10.0.0.0/24, or its UUID"}},
	Class:  fixes.Ask,
	Risk:   fixes.Low,
	Check:  "dhcp-options-incomplete",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		z, l, o, err := findDHCPOptions(d, a["OPTIONS"])
		if err != nil {
			return nil, err
		}
		faults := snapshot.DHCPFaults(o)
		if len(faults) == 0 {
			return nil, fixes.Refuse("", "the DHCP options of %s are complete", o.Cidr)
		}
		proposal := l.DHCPProposal(o)
		before, after := fixes.Row{}, fixes.Row{}
		var classic, what []string
		for _, key := range slices.Sorted(maps.Keys(faults)) {
			value := proposal[key]
			if value == "" {
				return nil, fixes.Refuse(fmt.Sprintf(`set it: ovn-nbctl set DHCP_Options %s options:%s='"…"'`, o.UUID, key),
					"%s of the DHCP options of %s %s, and no router in that network says what it should be", key, o.Cidr, faults[key])
			}
			before["options:"+key], after["options:"+key] = nil, value
			if was, ok := o.Options[key]; ok {
				before["options:"+key] = was
			}
			classic = append(classic, fixes.Command("ovn-nbctl set DHCP_Options %s options:%s=%s", o.UUID, key, strconv.Quote(value)))
			what = append(what, key+"="+value)
		}
		return &fixes.Plan{
			Title:    fmt.Sprintf("set %s in the DHCP options of %s", strings.Join(what, ", "), o.Cidr),
			Touches:  "answers to DHCP; addresses that were leased stay",
			Warnings: overwritten("the DHCP options of "+o.Cidr, dhcpIDs(o)),
			Steps: []fixes.Step{fixes.Rows{
				DB: "OVN_Northbound", Zone: z.Name, What: "complete the DHCP options of " + o.Cidr,
				Changes: []fixes.Change{{Table: "DHCP_Options", UUID: o.UUID, Before: before, After: after}},
				Guards:  []fixes.Guard{{Table: "DHCP_Options", UUID: o.UUID, Columns: fixes.Row{"cidr": o.Cidr}}},
				Classic: classic,
			}},
		}, nil
	},
}
