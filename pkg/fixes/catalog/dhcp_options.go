package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
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

// dhcpIDs are a row's external_ids: those that Neutron writes here do not have its prefix.
func dhcpIDs(o *nb.DHCPOptions) map[string]string {
	if o.ExternalIDs["subnet_id"] != "" {
		return map[string]string{"neutron:subnet_id": o.ExternalIDs["subnet_id"]}
	}
	return o.ExternalIDs
}

func findDHCPOptions(d *snapshot.Deployment, name string) (*snapshot.Zone, *snapshot.Logical, *nb.DHCPOptions, error) {
	var zone *snapshot.Zone
	var logical *snapshot.Logical
	var found *nb.DHCPOptions
	var there []string
	err := inZones(d, func(z *snapshot.Zone, l *snapshot.Logical) (bool, error) {
		for i := range l.DHCPOptions {
			o := &l.DHCPOptions[i]
			there = append(there, o.Cidr)
			if o.Cidr != name && string(o.UUID) != name {
				continue
			}
			if found != nil {
				return true, fmt.Errorf("there are two DHCP_Options of %q: name one by its UUID, %s or %s", name, found.UUID, o.UUID)
			}
			zone, logical, found = z, l, o
		}
		return found != nil, nil
	})
	if err == nil && found == nil {
		err = fmt.Errorf("no DHCP_Options of %q; there are those of %s", name, several(there))
	}
	return zone, logical, found, err
}

// SetDHCPOptions gives a port the DHCP options of its network.
var SetDHCPOptions = &fixes.Repair{
	Name: "set-dhcp-options",
	Doc: `Give a port the DHCP options of its network

Sets Logical_Switch_Port.dhcpv4_options or dhcpv6_options to the row of DHCP_Options that the
other ports of its switch with an address of that network have. Nothing is done if they have
different ones.`,
	Params: []fixes.Param{
		{Name: "PORT", Doc: "the logical switch port"},
		{Name: "OPTIONS", Doc: "the network of the DHCP_Options row, or its UUID", Optional: true},
	},
	Class: fixes.Ask,
	Risk:  fixes.Low,
	Check: "dhcp-options-incomplete",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		z, l, p, err := findSwitchPort(d, a["PORT"])
		if err != nil {
			return nil, err
		}
		o := l.DHCPOptionsFor(p)
		if name := a["OPTIONS"]; name != "" {
			if _, _, o, err = findDHCPOptions(d, name); err != nil {
				return nil, err
			}
		}
		if o == nil {
			return nil, fixes.Refuse("name them: ovnctl fix set-dhcp-options "+p.Name+" OPTIONS", "the other ports of the switch of %s have no DHCP options of its network, or different ones", p.Name)
		}
		if !snapshot.Serves(o, p) {
			return nil, fixes.Refuse("", "port %s has no address in %s", p.Name, o.Cidr)
		}
		column, was, nbctl := "dhcpv4_options", p.DHCPv4Options, "lsp-set-dhcpv4-options"
		if strings.Contains(o.Cidr, ":") {
			column, was, nbctl = "dhcpv6_options", p.DHCPv6Options, "lsp-set-dhcpv6-options"
		}
		if was.Has(o.UUID) {
			return nil, fixes.Refuse("", "port %s has the DHCP options of %s", p.Name, o.Cidr)
		}
		after := was[:0:0]
		after = append(after, o.UUID)
		return &fixes.Plan{
			Title:    fmt.Sprintf("give port %s the DHCP options of %s", p.Name, o.Cidr),
			Touches:  "answers to DHCP of port " + p.Name,
			Warnings: ownedPort(p),
			Steps: []fixes.Step{fixes.Rows{
				DB: "OVN_Northbound", Zone: z.Name, What: fmt.Sprintf("set %s of port %s", column, p.Name),
				Changes: []fixes.Change{{Table: "Logical_Switch_Port", UUID: p.UUID, Before: fixes.Row{column: was}, After: fixes.Row{column: after}}},
				Guards:  []fixes.Guard{{Table: "DHCP_Options", UUID: o.UUID, Columns: fixes.Row{"cidr": o.Cidr}}},
				Classic: []string{fixes.Command("ovn-nbctl %s %s %s", nbctl, p.Name, o.UUID)},
			}},
		}, nil
	},
}
