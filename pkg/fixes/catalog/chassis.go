package catalog

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// chassisUUID is the UUID of a chassis' row; empty: there is none.
func chassisUUID(c *sb.Chassis) ovsdb.UUID {
	if c == nil {
		return ""
	}
	return c.UUID
}

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

// chassisNamed finds a chassis by its system-id, or by a hostname that only one has.
func chassisNamed(d *snapshot.Deployment, name string) (*snapshot.Zone, *snapshot.Southbound, *sb.Chassis, error) {
	type found struct {
		z *snapshot.Zone
		s *snapshot.Southbound
		c *sb.Chassis
	}
	var byHost []found
	var names []string
	for _, z := range d.Zones {
		south, err := z.Southbound()
		if err != nil {
			return nil, nil, nil, err
		}
		for i := range south.Chassis {
			c := &south.Chassis[i]
			if c.Name == name {
				return z, south, c, nil
			}
			if c.Hostname == name {
				byHost = append(byHost, found{z, south, c})
			}
			names = append(names, fmt.Sprintf("%s (%s)", c.Name, c.Hostname))
		}
	}
	if len(byHost) == 1 {
		return byHost[0].z, byHost[0].s, byHost[0].c, nil
	}
	if len(byHost) > 1 {
		return nil, nil, nil, fmt.Errorf("%d chassis have the hostname %s: name one of %s by its system-id", len(byHost), name, several(names))
	}
	return nil, nil, nil, fmt.Errorf("no chassis %q; there are %s", name, several(names))
}

// chosenChassis is the one that a person names, else the one that is meant.
func chosenChassis(rows *snapshot.Southbound, wanted string, meant *sb.Chassis) (*sb.Chassis, error) {
	var names []string
	for i := range rows.Chassis {
		c := &rows.Chassis[i]
		if !snapshot.Elsewhere(c) {
			names = append(names, fmt.Sprintf("%s (%s)", c.Name, c.Hostname))
		}
	}
	switch {
	case wanted == "" && meant == nil:
		return nil, fixes.Refuse("name it; there are "+several(names), "which chassis is meant is not to be seen")
	case wanted == "":
		return meant, nil
	}
	if c := rows.ChassisNamed(wanted); c != nil {
		return c, nil
	}
	if c := ChassisMeant(rows, wanted); c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("no chassis %q; there are %s", wanted, several(names))
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
