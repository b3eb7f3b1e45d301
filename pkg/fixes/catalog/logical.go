package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/escape"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// inZones visits the zones until has finds its object. An unreadable zone is an error only if no other zone has it.
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

// A found is a row of the Northbound, with its zone.
type found[T any] struct {
	zone    *snapshot.Zone
	logical *facts.Logical
	row     *T
}

// A kind is a kind of Northbound rows, found by name or UUID.
type kind[T any] struct {
	noun string
	rows func(*snapshot.Zone, *facts.Logical) ([]T, error)
	key  func(*T) (string, ovsdb.UUID)
}

// find finds a row. Two rows with one name in a zone are an error.
func (k kind[T]) find(d *snapshot.Deployment, name string) (found[T], error) {
	var out found[T]
	var names []string
	err := inZones(d, func(z *snapshot.Zone, l *facts.Logical) (bool, error) {
		all, err := k.rows(z, l)
		if err != nil {
			return false, err
		}
		for i := range all {
			has, id := k.key(&all[i])
			names = append(names, has)
			if has != name && string(id) != name {
				continue
			}
			if out.row != nil {
				_, first := k.key(out.row)
				return true, fmt.Errorf("two %ss are named %q: name one by its UUID, %s or %s", k.noun, name, first, id)
			}
			out = found[T]{z, l, &all[i]}
		}
		return out.row != nil, nil
	})
	if err == nil && out.row == nil {
		err = noSuch(k.noun, name, names)
	}
	return out, err
}

// on plans for the row that a parameter names.
func (k kind[T]) on(param string, plan func(found[T], fixes.Args) (*fixes.Plan, error)) planner {
	return func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		f, err := k.find(d, a[param])
		if err != nil {
			return nil, err
		}
		return plan(f, a)
	}
}

// findSwitchPort finds a switch port by name.
func findSwitchPort(d *snapshot.Deployment, name string) (f found[nb.LogicalSwitchPortBrief], err error) {
	var names []string
	err = inZones(d, func(z *snapshot.Zone, l *facts.Logical) (bool, error) {
		f = found[nb.LogicalSwitchPortBrief]{z, l, l.SwitchPort[name]}
		names = slices.AppendSeq(names, maps.Keys(l.SwitchPort))
		return f.row != nil, nil
	})
	if err == nil && f.row == nil {
		err = noSuch("logical switch port", name, names)
	}
	return f, err
}

// noSuch is the error of a name that none of some rows has. It names all where they are few, else those that are like
// it, else some of all.
func noSuch(noun, name string, names []string) error {
	const few = 5
	slices.Sort(names)
	names = slices.Compact(names)
	if near := topology.NearestNames(name, names); len(names) > few && len(near) > 0 {
		return fmt.Errorf("no %s %q\nhint: nearest: %s", noun, name, strings.Join(escape.Lines(near), ", "))
	}
	return fmt.Errorf("no %s %q; there are %s", noun, name, several(names))
}

// onPort plans for the switch port in PORT.
func onPort(plan func(found[nb.LogicalSwitchPortBrief], fixes.Args) (*fixes.Plan, error)) planner {
	return func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		f, err := findSwitchPort(d, a["PORT"])
		if err != nil {
			return nil, err
		}
		return plan(f, a)
	}
}

// checkUnused refuses a port that a chassis has bound to an interface.
func checkUnused(z *snapshot.Zone, p *nb.LogicalSwitchPortBrief) error {
	rows, err := z.Southbound()
	if err != nil {
		return fmt.Errorf("cannot tell whether port %s is in use: %w", p.Name, err)
	}
	if b := rows.PortBinding(p.Name); b != nil && b.Type == "" && len(b.Chassis) > 0 {
		return fixes.Refuse("remove options:router-port if the port is not a router's", "an interface is bound to port %s: another type would cut it off", p.Name)
	}
	return nil
}

// overwritten warns that a CMS may write a row again.
func overwritten(what string, ids map[string]string) []string {
	owner := decode.CMSOf(ids)
	if owner == "" {
		return nil
	}
	return []string{string(owner) + " owns " + what + " and may overwrite it: if the fault returns, fix it there"}
}

// ownedPort is overwritten for a switch port.
func ownedPort(p *nb.LogicalSwitchPortBrief) []string {
	return overwritten("port "+p.Name, p.ExternalIDs)
}
