package catalog

import (
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// Owner is the management system that wrote a row of the Northbound, by its
// external_ids, as people call the part of it that does; empty: no one that is known.
func Owner(ids map[string]string) string {
	cms, _ := snapshot.Owner(ids)
	if cms == snapshot.OpenStack {
		return "Neutron"
	}
	return string(cms)
}

// overwritten warns that a management system may write a row again.
func overwritten(what string, ids map[string]string) []string {
	owner := Owner(ids)
	if owner == "" {
		return nil
	}
	return []string{owner + " owns " + what + " and may write it again: if the fault comes back, it has to be mended there"}
}

// ownedPort warns as overwritten does, of a switch port.
func ownedPort(p *nb.LogicalSwitchPortBrief) []string {
	return overwritten("port "+p.Name, p.ExternalIDs)
}
