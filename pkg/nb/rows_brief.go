package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// A LogicalSwitchPort is a row of Logical_Switch_Port, ovn-nb(5).
type LogicalSwitchPortBrief struct {
	UUID             ovsdb.UUID            `ovsdb:"_uuid"`
	Name             string                `ovsdb:"name"`
	Type             string                `ovsdb:"type"`                  // empty for a VM or pod
	Addresses        ovsdb.Set[string]     `ovsdb:"addresses"`             // "MAC IP…", unknown, dynamic or router
	DHCPv4Options    ovsdb.Set[ovsdb.UUID] `ovsdb:"dhcpv4_options,sparse"` // DHCP_Options
	DHCPv6Options    ovsdb.Set[ovsdb.UUID] `ovsdb:"dhcpv6_options,sparse"` // DHCP_Options
	DynamicAddresses ovsdb.Set[string]     `ovsdb:"dynamic_addresses,sparse"`
	Enabled          ovsdb.Set[bool]       `ovsdb:"enabled,sparse"`     // absent means enabled
	ParentName       ovsdb.Set[string]     `ovsdb:"parent_name,sparse"` // the port that a nested one is in
	Peer             ovsdb.Set[string]     `ovsdb:"peer,sparse"`        // newer than OVN 23.03
	PortSecurity     ovsdb.Set[string]     `ovsdb:"port_security"`
	Up               ovsdb.Set[bool]       `ovsdb:"up"` // absent until northd has seen the port
	Options          map[string]string     `ovsdb:"options"`
	ExternalIDs      map[string]string     `ovsdb:"external_ids"`
}

// Table returns Logical_Switch_Port.
func (LogicalSwitchPortBrief) Table() string { return "Logical_Switch_Port" }

// An ACL is a row of ACL, ovn-nb(5).
type ACLBrief struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Name        ovsdb.Set[string] `ovsdb:"name"`
	Action      string            `ovsdb:"action"`
	Direction   string            `ovsdb:"direction"` // from-lport or to-lport
	Match       string            `ovsdb:"match"`
	Priority    int               `ovsdb:"priority"` // 0 to 32767; northd adds 1000
	Tier        int               `ovsdb:"tier"`     // newer than OVN 23.03
	Options     map[string]string `ovsdb:"options"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns ACL.
func (ACLBrief) Table() string { return "ACL" }
