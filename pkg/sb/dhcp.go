package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// DHCPOptions is a row of DHCP_Options, ovn-sb(5): a DHCPv4 option that OVN supports.
type DHCPOptions struct {
	UUID ovsdb.UUID `ovsdb:"_uuid"`
	Name string     `ovsdb:"name"`
	Type string     `ovsdb:"type"`
	Code int        `ovsdb:"code"`
}

// DHCPv6Options is a row of DHCPv6_Options, ovn-sb(5): a DHCPv6 option that OVN supports.
type DHCPv6Options struct {
	UUID ovsdb.UUID `ovsdb:"_uuid"`
	Name string     `ovsdb:"name"`
	Type string     `ovsdb:"type"`
	Code int        `ovsdb:"code"`
}
