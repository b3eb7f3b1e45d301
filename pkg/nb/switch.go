package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// LogicalSwitch is a row of Logical_Switch, ovn-nb(5): an Ethernet segment.
type LogicalSwitch struct {
	UUID              ovsdb.UUID            `ovsdb:"_uuid"`
	Name              string                `ovsdb:"name"`
	ACLs              ovsdb.Set[ovsdb.UUID] `ovsdb:"acls"`                // ACL
	Copp              ovsdb.Set[ovsdb.UUID] `ovsdb:"copp"`                // Copp
	DNSRecords        ovsdb.Set[ovsdb.UUID] `ovsdb:"dns_records"`         // DNS
	ForwardingGroups  ovsdb.Set[ovsdb.UUID] `ovsdb:"forwarding_groups"`   // Forwarding_Group
	LoadBalancer      ovsdb.Set[ovsdb.UUID] `ovsdb:"load_balancer"`       // Load_Balancer
	LoadBalancerGroup ovsdb.Set[ovsdb.UUID] `ovsdb:"load_balancer_group"` // Load_Balancer_Group
	Ports             ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"`               // Logical_Switch_Port
	QoSRules          ovsdb.Set[ovsdb.UUID] `ovsdb:"qos_rules"`           // QoS
	OtherConfig       map[string]string     `ovsdb:"other_config"`
	ExternalIDs       map[string]string     `ovsdb:"external_ids"`
}

// Table returns Logical_Switch.
func (LogicalSwitch) Table() string { return "Logical_Switch" }

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

// Table returns Forwarding_Group.
func (ForwardingGroup) Table() string { return "Forwarding_Group" }

// DHCPOptions is a row of DHCP_Options, ovn-nb(5): what DHCP answers to the ports that refer to it.
type DHCPOptions struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Cidr        string            `ovsdb:"cidr"`
	Options     map[string]string `ovsdb:"options"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns DHCP_Options.
func (DHCPOptions) Table() string { return "DHCP_Options" }

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

// DNS is a row of DNS, ovn-nb(5): names that the switches answer for.
type DNS struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Records     map[string]string `ovsdb:"records"`
	Options     map[string]string `ovsdb:"options"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns DNS.
func (DNS) Table() string { return "DNS" }

// QoS is a row of QoS, ovn-nb(5): marks and limits on the traffic of a switch.
type QoS struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Action      map[string]int    `ovsdb:"action"`
	Bandwidth   map[string]int    `ovsdb:"bandwidth"`
	Direction   string            `ovsdb:"direction"`
	Match       string            `ovsdb:"match"`
	Priority    int               `ovsdb:"priority"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns QoS.
func (QoS) Table() string { return "QoS" }

// Mirror is a row of Mirror, ovn-nb(5): copies of a port's traffic.
type Mirror struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Name        string                `ovsdb:"name"`
	Type        string                `ovsdb:"type"`
	Filter      string                `ovsdb:"filter"`
	Index       int                   `ovsdb:"index"`
	MirrorRules ovsdb.Set[ovsdb.UUID] `ovsdb:"mirror_rules"` // Mirror_Rule
	Sink        string                `ovsdb:"sink"`
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// Table returns Mirror.
func (Mirror) Table() string { return "Mirror" }
