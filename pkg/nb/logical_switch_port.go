package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// LogicalSwitchPort is a row of Logical_Switch_Port, ovn-nb(5): a port of a switch.
type LogicalSwitchPort struct {
	UUID             ovsdb.UUID            `ovsdb:"_uuid"`
	Name             string                `ovsdb:"name"`
	Type             string                `ovsdb:"type"`           // empty for a VM or pod
	Addresses        ovsdb.Set[string]     `ovsdb:"addresses"`      // "MAC IP…", unknown, dynamic or router
	DHCPv4Options    ovsdb.Set[ovsdb.UUID] `ovsdb:"dhcpv4_options"` // DHCP_Options
	DHCPv6Options    ovsdb.Set[ovsdb.UUID] `ovsdb:"dhcpv6_options"` // DHCP_Options
	DynamicAddresses ovsdb.Set[string]     `ovsdb:"dynamic_addresses"`
	Enabled          ovsdb.Set[bool]       `ovsdb:"enabled"`          // absent means enabled
	HAChassisGroup   ovsdb.Set[ovsdb.UUID] `ovsdb:"ha_chassis_group"` // HA_Chassis_Group
	HealthChecks     ovsdb.Set[ovsdb.UUID] `ovsdb:"health_checks"`    // Logical_Switch_Port_Health_Check
	MirrorRules      ovsdb.Set[ovsdb.UUID] `ovsdb:"mirror_rules"`     // Mirror
	ParentName       ovsdb.Set[string]     `ovsdb:"parent_name"`      // the port that a nested one is in
	Peer             ovsdb.Set[string]     `ovsdb:"peer"`             // newer than OVN 23.03
	PortSecurity     ovsdb.Set[string]     `ovsdb:"port_security"`
	Tag              ovsdb.Set[int]        `ovsdb:"tag"`
	TagRequest       ovsdb.Set[int]        `ovsdb:"tag_request"`
	Up               ovsdb.Set[bool]       `ovsdb:"up"` // absent until northd has seen the port
	Options          map[string]string     `ovsdb:"options"`
	ExternalIDs      map[string]string     `ovsdb:"external_ids"`
}

// Table returns Logical_Switch_Port.
func (LogicalSwitchPort) Table() string { return "Logical_Switch_Port" }

// LogicalSwitchPortBrief is a row of Logical_Switch_Port with what checks and repairs look at.
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
