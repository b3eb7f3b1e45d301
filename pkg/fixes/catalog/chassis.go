package catalog

import (
	"fmt"
	"iter"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// chassisUUID is the UUID of a chassis; empty for nil.
func chassisUUID(c *sb.Chassis) ovsdb.UUID {
	if c == nil {
		return ""
	}
	return c.UUID
}

// chassisText is a chassis for people: its system-id and its hostname.
func chassisText(c sb.Chassis) string { return fmt.Sprintf("%s (%s)", c.Name, c.Hostname) }

// ChassisMeant is the only chassis with this hostname, or else the only one with this
// hostname up to the first dot: somebody wrote a hostname in place of a system-id. Nil:
// there is none, or more than one.
func ChassisMeant(rows *snapshot.Southbound, wrong string) *sb.Chassis {
	host, _, _ := strings.Cut(wrong, ".")
	var full, short []*sb.Chassis
	for c := range ownChassis(rows) {
		name, _, _ := strings.Cut(c.Hostname, ".")
		switch {
		case c.Hostname == wrong:
			full = append(full, c)
		case wrong != "" && strings.EqualFold(name, host):
			short = append(short, c)
		}
	}
	switch {
	case len(full) == 1:
		return full[0]
	case len(full) == 0 && len(short) == 1:
		return short[0]
	}
	return nil
}

// ownChassis are the chassis of this zone's nodes, without VTEPs.
func ownChassis(rows *snapshot.Southbound) iter.Seq[*sb.Chassis] {
	return func(yield func(*sb.Chassis) bool) {
		for i := range rows.Chassis {
			if c := &rows.Chassis[i]; !snapshot.Elsewhere(c) && !yield(c) {
				return
			}
		}
	}
}

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
	for c := range ownChassis(rows) {
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
	if c := ChassisMeant(rows, wanted); c != nil {
		return c, nil
	}
	return nil, fmt.Errorf("no chassis %q; there are %s", wanted, several(names))
}

// Maps reports whether a chassis has a bridge for a physical network.
func Maps(c *sb.Chassis, network string) bool {
	for m := range strings.SplitSeq(c.OtherConfig["ovn-bridge-mappings"]+","+c.ExternalIDs["ovn-bridge-mappings"], ",") {
		if name, _, ok := strings.Cut(m, ":"); ok && strings.TrimSpace(name) == network {
			return true
		}
	}
	return false
}
