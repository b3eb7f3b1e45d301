package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// DHCPRelay is a row of DHCP_Relay, ovn-nb(5): where a router passes DHCP on to. Newer than OVN 23.03.
type DHCPRelay struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	Servers     ovsdb.Set[string] `ovsdb:"servers"`
	Options     map[string]string `ovsdb:"options"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns DHCP_Relay.
func (DHCPRelay) Table() string { return "DHCP_Relay" }
