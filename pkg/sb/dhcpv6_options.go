package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// DHCPv6Options is a row of DHCPv6_Options, ovn-sb(5): a DHCPv6 option that OVN supports.
type DHCPv6Options struct {
	UUID ovsdb.UUID `ovsdb:"_uuid"`
	Name string     `ovsdb:"name"`
	Type string     `ovsdb:"type"`
	Code int        `ovsdb:"code"`
}

// Table returns DHCPv6_Options.
func (DHCPv6Options) Table() string { return "DHCPv6_Options" }
