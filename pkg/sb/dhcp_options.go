package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// DHCPOptions is a row of DHCP_Options, ovn-sb(5): a DHCPv4 option that OVN supports.
type DHCPOptions struct {
	UUID ovsdb.UUID `ovsdb:"_uuid"`
	Name string     `ovsdb:"name"`
	Type string     `ovsdb:"type"`
	Code int        `ovsdb:"code"`
}

// Table returns DHCP_Options.
func (DHCPOptions) Table() string { return "DHCP_Options" }
