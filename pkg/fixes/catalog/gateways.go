package catalog

import (
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// ChassisMeant is the chassis that somebody meant who wrote its hostname, or a
// part of it, where its name belongs; nil: none, or more than one.
func ChassisMeant(rows *snapshot.Southbound, wrong string) *sb.Chassis {
	host, _, _ := strings.Cut(wrong, ".")
	for _, same := range []func(c *sb.Chassis) bool{
		func(c *sb.Chassis) bool { return c.Hostname == wrong },
		func(c *sb.Chassis) bool {
			short, _, _ := strings.Cut(c.Hostname, ".")
			return wrong != "" && strings.EqualFold(short, host)
		},
	} {
		var found []*sb.Chassis
		for i := range rows.Chassis {
			if c := &rows.Chassis[i]; !snapshot.Elsewhere(c) && same(c) {
				found = append(found, c)
			}
		}
		if len(found) == 1 {
			return found[0]
		}
		if len(found) > 1 {
			return nil
		}
	}
	return nil
}

// SwitchAt is the switch that a router port is joined to; nil: none.
func SwitchAt(l *snapshot.Logical, routerPort string) *nb.LogicalSwitch {
	for _, p := range l.Links[routerPort] {
		if ls := l.SwitchOf[p.UUID]; ls != nil {
			return ls
		}
	}
	return nil
}

// Localnets are the names of the physical networks that a switch is part of.
func Localnets(l *snapshot.Logical, ls *nb.LogicalSwitch) []string {
	var out []string
	if ls == nil {
		return nil
	}
	for _, p := range l.PortsOf[ls.UUID] {
		if p.Type == "localnet" && !slices.Contains(out, p.Options["network_name"]) {
			out = append(out, p.Options["network_name"])
		}
	}
	return out
}

// Maps says whether a chassis has a bridge for a physical network.
func Maps(c *sb.Chassis, network string) bool {
	for m := range strings.SplitSeq(c.OtherConfig["ovn-bridge-mappings"]+","+c.ExternalIDs["ovn-bridge-mappings"], ",") {
		if name, _, ok := strings.Cut(m, ":"); ok && strings.TrimSpace(name) == network {
			return true
		}
	}
	return false
}

// NeutronOwns says whether Neutron has written a row.
func NeutronOwns(name string, ids map[string]string) bool {
	if strings.HasPrefix(name, "neutron-") {
		return true
	}
	for key := range ids {
		if strings.HasPrefix(key, "neutron:") {
			return true
		}
	}
	return false
}
