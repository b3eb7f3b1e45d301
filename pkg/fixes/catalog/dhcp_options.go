package catalog

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// dhcpIDs are a row's external_ids: those that Neutron writes here do not have its prefix.
func dhcpIDs(o *nb.DHCPOptions) map[string]string {
	if o.ExternalIDs["subnet_id"] != "" {
		return map[string]string{"neutron:subnet_id": o.ExternalIDs["subnet_id"]}
	}
	return o.ExternalIDs
}

func findDHCPOptions(d *snapshot.Deployment, name string) (*snapshot.Zone, *snapshot.Logical, *nb.DHCPOptions, error) {
	var zone *snapshot.Zone
	var logical *snapshot.Logical
	var found *nb.DHCPOptions
	var there []string
	err := inZones(d, func(z *snapshot.Zone, l *snapshot.Logical) (bool, error) {
		for i := range l.DHCPOptions {
			o := &l.DHCPOptions[i]
			there = append(there, o.Cidr)
			if o.Cidr != name && string(o.UUID) != name {
				continue
			}
			if found != nil {
				return true, fmt.Errorf("there are two DHCP_Options of %q: name one by its UUID, %s or %s", name, found.UUID, o.UUID)
			}
			zone, logical, found = z, l, o
		}
		return found != nil, nil
	})
	if err == nil && found == nil {
		err = fmt.Errorf("no DHCP_Options of %q; there are those of %s", name, several(there))
	}
	return zone, logical, found, err
}
