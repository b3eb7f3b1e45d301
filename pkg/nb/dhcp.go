package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// DHCPOptions is a row of DHCP_Options, ovn-nb(5): DHCP replies for the ports that refer to it.
type DHCPOptions struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Cidr        string            `ovsdb:"cidr"`
	Options     map[string]string `ovsdb:"options"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// DHCPRelay is a row of DHCP_Relay, ovn-nb(5): where a router relays DHCP. Newer than OVN 23.03.
type DHCPRelay struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	Servers     ovsdb.Set[string] `ovsdb:"servers"`
	Options     map[string]string `ovsdb:"options"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}
