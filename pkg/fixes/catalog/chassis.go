package catalog

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// chassisNamed finds a chassis by its system-id, or by a hostname that only one has.
func chassisNamed(d *snapshot.Deployment, name string) (*snapshot.Zone, *snapshot.Southbound, *sb.Chassis, error) {
	var names []string
	var zone *snapshot.Zone
	var rows *snapshot.Southbound
	var found []*sb.Chassis
	for _, z := range d.Zones {
		south, err := z.Southbound()
		if err != nil {
			return nil, nil, nil, err
		}
		if c := south.ChassisNamed(name); c != nil {
			return z, south, c, nil
		}
		names = append(names, namesOf(south.Chassis, chassisText)...)
		for i := range south.Chassis {
			if c := &south.Chassis[i]; c.Hostname == name {
				zone, rows, found = z, south, append(found, c)
			}
		}
	}
	switch len(found) {
	case 0:
		return nil, nil, nil, fmt.Errorf("no chassis %q; there are %s", name, several(names))
	case 1:
		return zone, rows, found[0], nil
	}
	return nil, nil, nil, fmt.Errorf("%d chassis have the hostname %s: name one of %s by its system-id", len(found), name, several(names))
}

// chosenChassis is the chassis that a person names, else the one that was meant.
func chosenChassis(rows *snapshot.Southbound, wanted string, meant *sb.Chassis) (*sb.Chassis, error) {
	var names []string
	for c := range rows.OwnChassis() {
		names = append(names, chassisText(*c))
	}
	switch {
	case wanted == "" && meant == nil:
		return nil, fixes.Refuse("name it; there are "+several(names), "nothing shows which chassis is meant")
	case wanted == "":
		return meant, nil
	}
	if c := rows.ChassisNamed(wanted); c != nil {
		return c, nil
	}
	if c := facts.ChassisMeant(rows, wanted); c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("no chassis %q; there are %s", wanted, several(names))
}

// chassisText is a chassis for people: its system-id and its hostname.
func chassisText(c sb.Chassis) string { return fmt.Sprintf("%s (%s)", c.Name, c.Hostname) }
