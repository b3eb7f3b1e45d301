package catalog

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// inZones goes through the zones until has finds what it looks for. A zone that
// cannot be read is an error only if no other zone has it.
func inZones(d *snapshot.Deployment, has func(*snapshot.Zone, *facts.Logical) (bool, error)) error {
	var unread error
	for _, z := range d.Zones {
		l, err := facts.LogicalOf(z)
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

// A row of the Northbound, with the zone that it was found in.
type found[T any] struct {
	zone    *snapshot.Zone
	logical *facts.Logical
	row     *T
}

// find finds a row by its name or UUID. Two rows of one name in a zone are an error.
func find[T any](d *snapshot.Deployment, kind, name string, rows func(*snapshot.Zone, *facts.Logical) ([]T, error), key func(*T) (string, ovsdb.UUID)) (found[T], error) {
	var out found[T]
	var names []string
	err := inZones(d, func(z *snapshot.Zone, l *facts.Logical) (bool, error) {
		all, err := rows(z, l)
		if err != nil {
			return false, err
		}
		for i := range all {
			has, id := key(&all[i])
			names = append(names, has)
			if has != name && string(id) != name {
				continue
			}
			if out.row != nil {
				_, first := key(out.row)
				return true, fmt.Errorf("two %ss are named %q: name one by its UUID, %s or %s", kind, name, first, id)
			}
			out = found[T]{z, l, &all[i]}
		}
		return out.row != nil, nil
	})
	if err == nil && out.row == nil {
		err = fmt.Errorf("no %s %q; there are %s", kind, name, several(names))
	}
	return out, err
}

func findRouter(d *snapshot.Deployment, name string) (found[nb.LogicalRouter], error) {
	return find(d, "router", name,
		func(_ *snapshot.Zone, l *facts.Logical) ([]nb.LogicalRouter, error) { return l.Routers, nil },
		func(r *nb.LogicalRouter) (string, ovsdb.UUID) { return r.Name, r.UUID })
}

func findRouterPort(d *snapshot.Deployment, name string) (found[nb.LogicalRouterPort], error) {
	return find(d, "logical router port", name,
		func(_ *snapshot.Zone, l *facts.Logical) ([]nb.LogicalRouterPort, error) { return l.RouterPorts, nil },
		func(p *nb.LogicalRouterPort) (string, ovsdb.UUID) { return p.Name, p.UUID })
}

// findSwitchPort finds a switch port by name. There are too many to list the others.
func findSwitchPort(d *snapshot.Deployment, name string) (*snapshot.Zone, *facts.Logical, *nb.LogicalSwitchPortBrief, error) {
	var zone *snapshot.Zone
	var logical *facts.Logical
	err := inZones(d, func(z *snapshot.Zone, l *facts.Logical) (bool, error) {
		zone, logical = z, l
		return l.SwitchPort[name] != nil, nil
	})
	if err != nil {
		return nil, nil, nil, err
	}
	if logical == nil || logical.SwitchPort[name] == nil {
		return nil, nil, nil, fmt.Errorf("no logical switch port %q", name)
	}
	return zone, logical, logical.SwitchPort[name], nil
}

// checkUnused refuses for a port that a chassis has bound to an interface.
func checkUnused(z *snapshot.Zone, p *nb.LogicalSwitchPortBrief) error {
	rows, err := z.Southbound()
	if err != nil {
		return fmt.Errorf("cannot tell whether port %s is in use: %w", p.Name, err)
	}
	for i := range rows.PortBindings {
		if b := &rows.PortBindings[i]; b.LogicalPort == p.Name && b.Type == "" && len(b.Chassis) > 0 {
			return fixes.Refuse("remove options:router-port if the port is not a router's", "an interface is bound to port %s: another type would cut it off", p.Name)
		}
	}
	return nil
}
