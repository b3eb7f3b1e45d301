package catalog

import (
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// dhcpIDs are a row's external_ids, as Owner takes them: here Neutron writes a key without its prefix.
func dhcpIDs(o *nb.DHCPOptions) map[string]string {
	if o.ExternalIDs["subnet_id"] != "" {
		return map[string]string{"neutron:subnet_id": o.ExternalIDs["subnet_id"]}
	}
	return o.ExternalIDs
}

// findDHCPOptions finds DHCP options by their network or UUID.
func findDHCPOptions(d *snapshot.Deployment, name string) (found[nb.DHCPOptions], error) {
	return find(d, "row of DHCP_Options", name,
		func(_ *snapshot.Zone, l *facts.Logical) ([]nb.DHCPOptions, error) { return l.DHCPOptions, nil },
		func(o *nb.DHCPOptions) (string, ovsdb.UUID) { return o.Cidr, o.UUID })
}
