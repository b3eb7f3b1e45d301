package catalog

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/nb"
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

// several are at most twenty names, for an error or a plan.
func several(names []string) string {
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > 20:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:20], ", "), len(names)-20)
	}
	return strings.Join(names, ", ")
}
