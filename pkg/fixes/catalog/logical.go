package catalog

import (
	"fmt"
	"maps"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// inZones asks the zones one after the other until one has what is looked for.
// What could not be read is an error only if no other zone has it.
func inZones(d *snapshot.Deployment, has func(*snapshot.Zone, *snapshot.Logical) (bool, error)) error {
	var unread error
	for _, z := range d.Zones {
		l, err := z.Logical()
		if err != nil {
			unread = err
			continue
		}
		if found, err := has(z, l); found || err != nil {
			return err
		}
	}
	if unread == nil && len(d.Zones) == 0 {
		unread = fmt.Errorf("no OVN_Northbound was read: name it with --nb")
	}
	return unread
}

// findRouter finds a router by name. Names are not unique: two of one name are an error.
func findRouter(d *snapshot.Deployment, name string) (*snapshot.Zone, *snapshot.Logical, *nb.LogicalRouter, error) {
	var zone *snapshot.Zone
	var logical *snapshot.Logical
	var found *nb.LogicalRouter
	var there []string
	err := inZones(d, func(z *snapshot.Zone, l *snapshot.Logical) (bool, error) {
		for i := range l.Routers {
			r := &l.Routers[i]
			there = append(there, r.Name)
			if r.Name != name && string(r.UUID) != name {
				continue
			}
			if found != nil {
				return true, fmt.Errorf("two routers are named %q: name one by its UUID, %s or %s", name, found.UUID, r.UUID)
			}
			zone, logical, found = z, l, r
		}
		return found != nil, nil
	})
	if err == nil && found == nil {
		err = fmt.Errorf("no router %q; there are %s", name, several(there))
	}
	return zone, logical, found, err
}

// findSwitchPort finds a switch port by name.
func findSwitchPort(d *snapshot.Deployment, name string) (*snapshot.Zone, *snapshot.Logical, *snapshot.LogicalSwitchPort, error) {
	var zone *snapshot.Zone
	var logical *snapshot.Logical
	err := inZones(d, func(z *snapshot.Zone, l *snapshot.Logical) (bool, error) {
		if l.SwitchPort[name] == nil {
			return false, nil
		}
		zone, logical = z, l
		return true, nil
	})
	switch {
	case logical != nil:
		return zone, logical, logical.SwitchPort[name], nil
	case err == nil:
		err = fmt.Errorf("no logical switch port %q", name)
	}
	return nil, nil, nil, err
}

// findRouterPort finds a router port by name.
func findRouterPort(d *snapshot.Deployment, name string) (*snapshot.Zone, *snapshot.Logical, *nb.LogicalRouterPort, error) {
	var zone *snapshot.Zone
	var logical *snapshot.Logical
	var there []string
	err := inZones(d, func(z *snapshot.Zone, l *snapshot.Logical) (bool, error) {
		there = append(there, slices.Sorted(maps.Keys(l.RouterPort))...)
		if l.RouterPort[name] == nil {
			return false, nil
		}
		zone, logical = z, l
		return true, nil
	})
	switch {
	case logical != nil:
		return zone, logical, logical.RouterPort[name], nil
	case err == nil:
		err = fmt.Errorf("no logical router port %q; there are %s", name, several(there))
	}
	return nil, nil, nil, err
}

// switchPort finds a logical switch port by its name.
func switchPort(d *snapshot.Deployment, name string) (*snapshot.Zone, *snapshot.LogicalSwitchPort, error) {
	for _, z := range d.Zones {
		rows, err := z.Northbound()
		if err != nil {
			return nil, nil, err
		}
		for i := range rows.SwitchPorts {
			if rows.SwitchPorts[i].Name == name {
				return z, &rows.SwitchPorts[i], nil
			}
		}
	}
	return nil, nil, fmt.Errorf("no logical switch port %q", name)
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

// enable is the plan that sets a row's column enabled to true.
func enable(z *snapshot.Zone, table string, id ovsdb.UUID, what, classic string, enabled ovsdb.Set[bool]) (*fixes.Plan, error) {
	if !snapshot.Off(enabled) {
		return nil, fixes.Refuse("", "%s is enabled", what)
	}
	return &fixes.Plan{
		Title:   "enable " + what,
		Touches: "the traffic of " + what,
		Steps: []fixes.Step{fixes.Rows{
			DB: "OVN_Northbound", Zone: z.Name, What: "enable " + what,
			Changes: []fixes.Change{{
				Table: table, UUID: id,
				Before: fixes.Row{"enabled": []bool{false}}, After: fixes.Row{"enabled": []bool{true}},
			}},
			Classic: []string{classic},
		}},
	}, nil
}

// mayBeRouterPort refuses for a port that something is plugged into.
func mayBeRouterPort(z *snapshot.Zone, p *snapshot.LogicalSwitchPort) error {
	rows, err := z.Southbound()
	if err != nil {
		return fmt.Errorf("whether port %s is in use: %w", p.Name, err)
	}
	for i := range rows.PortBindings {
		if b := &rows.PortBindings[i]; b.LogicalPort == p.Name && b.Type == "" && len(b.Chassis) > 0 {
			return fixes.Refuse("take options:router-port away if it is not a router's", "something is plugged into port %s: as a router port it would be cut off", p.Name)
		}
	}
	return nil
}
