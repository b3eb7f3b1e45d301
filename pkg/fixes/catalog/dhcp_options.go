package catalog

import (
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// findDHCPOptions finds DHCP options by their network or UUID.
func findDHCPOptions(d *snapshot.Deployment, name string) (found[nb.DHCPOptions], error) {
	return find(d, "row of DHCP_Options", name,
		func(_ *snapshot.Zone, l *facts.Logical) ([]nb.DHCPOptions, error) { return l.DHCPOptions, nil },
		func(o *nb.DHCPOptions) (string, ovsdb.UUID) { return o.Cidr, o.UUID })
}
