package catalog

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/nb"
)

// Owner is the management system that wrote a row of the Northbound, by its
// external_ids; empty if that is unknown. Of OpenStack it is Neutron.
func Owner(ids map[string]string) string {
	cms, _ := facts.Owner(ids)
	if cms == facts.OpenStack {
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
	return []string{owner + " owns " + what + " and may overwrite it: if the fault returns, fix it there"}
}

// ownedPort is overwritten for a switch port.
func ownedPort(p *nb.LogicalSwitchPortBrief) []string {
	return overwritten("port "+p.Name, p.ExternalIDs)
}

// NeutronOwns reports whether Neutron wrote a row.
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
