package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// LogicalSwitch is a row of Logical_Switch, ovn-nb(5): an Ethernet segment.
type LogicalSwitch struct {
	LogicalSwitchBare
	ACLs              ovsdb.Set[ovsdb.UUID] `ovsdb:"acls"`                // ACL
	Copp              ovsdb.Set[ovsdb.UUID] `ovsdb:"copp"`                // Copp
	DNSRecords        ovsdb.Set[ovsdb.UUID] `ovsdb:"dns_records"`         // DNS
	ForwardingGroups  ovsdb.Set[ovsdb.UUID] `ovsdb:"forwarding_groups"`   // Forwarding_Group
	LoadBalancer      ovsdb.Set[ovsdb.UUID] `ovsdb:"load_balancer"`       // Load_Balancer
	LoadBalancerGroup ovsdb.Set[ovsdb.UUID] `ovsdb:"load_balancer_group"` // Load_Balancer_Group
	QoSRules          ovsdb.Set[ovsdb.UUID] `ovsdb:"qos_rules"`           // QoS
}

// LogicalSwitchBare is a row of Logical_Switch without its rules and load balancers: for topology, to locate
// an address.
type LogicalSwitchBare struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Name        string                `ovsdb:"name"`
	Ports       ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"` // Logical_Switch_Port
	OtherConfig map[string]string     `ovsdb:"other_config"`
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// LogicalSwitchContents is a row of Logical_Switch with the rows it holds: for decode, to find a row's parent.
type LogicalSwitchContents struct {
	Name        string                `ovsdb:"name"`
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
	ACLs        ovsdb.Set[ovsdb.UUID] `ovsdb:"acls"`
	QoSRules    ovsdb.Set[ovsdb.UUID] `ovsdb:"qos_rules"`
	Ports       ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"`
}

// LogicalSwitchPort is a row of Logical_Switch_Port, ovn-nb(5): a port of a switch.
type LogicalSwitchPort struct {
	LogicalSwitchPortBrief
	HAChassisGroup ovsdb.Set[ovsdb.UUID] `ovsdb:"ha_chassis_group,sparse"` // HA_Chassis_Group
	HealthChecks   ovsdb.Set[ovsdb.UUID] `ovsdb:"health_checks,sparse"`    // Logical_Switch_Port_Health_Check
	MirrorRules    ovsdb.Set[ovsdb.UUID] `ovsdb:"mirror_rules,sparse"`     // Mirror
	TagRequest     ovsdb.Set[int]        `ovsdb:"tag_request,sparse"`
}

// LogicalSwitchPortBrief is a row of Logical_Switch_Port with the columns that checks and repairs use.
type LogicalSwitchPortBrief struct {
	LogicalSwitchPortBare
	DHCPv4Options ovsdb.Set[ovsdb.UUID] `ovsdb:"dhcpv4_options,sparse"` // DHCP_Options
	DHCPv6Options ovsdb.Set[ovsdb.UUID] `ovsdb:"dhcpv6_options,sparse"` // DHCP_Options
	PortSecurity  ovsdb.Set[string]     `ovsdb:"port_security"`
}

// LogicalSwitchPortBare is a row of Logical_Switch_Port without what it hands out and holds its packets to: for
// topology, to list it.
type LogicalSwitchPortBare struct {
	UUID             ovsdb.UUID        `ovsdb:"_uuid"`
	Name             string            `ovsdb:"name"`
	Type             string            `ovsdb:"type"`      // empty for a VM or pod
	Addresses        ovsdb.Set[string] `ovsdb:"addresses"` // "MAC IP…", unknown, dynamic or router
	DynamicAddresses ovsdb.Set[string] `ovsdb:"dynamic_addresses,sparse"`
	Enabled          ovsdb.Set[bool]   `ovsdb:"enabled,sparse"`     // absent means enabled
	ParentName       ovsdb.Set[string] `ovsdb:"parent_name,sparse"` // parent of a nested port
	Peer             ovsdb.Set[string] `ovsdb:"peer,sparse"`        // newer than OVN 23.03
	Tag              ovsdb.Set[int]    `ovsdb:"tag,sparse"`         // VLAN, of a localnet port and of nested ports
	Up               ovsdb.Set[bool]   `ovsdb:"up"`                 // absent until northd has seen the port
	Options          map[string]string `ovsdb:"options"`
	ExternalIDs      map[string]string `ovsdb:"external_ids"`
}

// ForwardingGroup is a row of Forwarding_Group, ovn-nb(5): ports that share one address.
type ForwardingGroup struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	ChildPort   ovsdb.Set[string] `ovsdb:"child_port"`
	Liveness    bool              `ovsdb:"liveness"`
	VIP         string            `ovsdb:"vip"`
	VMAC        string            `ovsdb:"vmac"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}
