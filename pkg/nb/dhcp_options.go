package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// DHCPOptions is a row of DHCP_Options, ovn-nb(5): what DHCP answers to the ports that refer to it.
type DHCPOptions struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Cidr        string            `ovsdb:"cidr"`
	Options     map[string]string `ovsdb:"options"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns DHCP_Options.
func (DHCPOptions) Table() string { return "DHCP_Options" }
