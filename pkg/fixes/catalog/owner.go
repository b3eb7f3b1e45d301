package catalog

import (
	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/nb"
)

// overwritten warns that a management system may write a row again.
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
