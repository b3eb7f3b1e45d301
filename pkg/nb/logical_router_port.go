package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// LogicalRouterPort is a row of Logical_Router_Port, ovn-nb(5): a port of a router.
type LogicalRouterPort struct {
	UUID           ovsdb.UUID            `ovsdb:"_uuid"`
	Name           string                `ovsdb:"name"`
	DHCPRelay      ovsdb.Set[ovsdb.UUID] `ovsdb:"dhcp_relay"`       // DHCP_Relay
	Enabled        ovsdb.Set[bool]       `ovsdb:"enabled"`          // absent means enabled
	GatewayChassis ovsdb.Set[ovsdb.UUID] `ovsdb:"gateway_chassis"`  // Gateway_Chassis
	HAChassisGroup ovsdb.Set[ovsdb.UUID] `ovsdb:"ha_chassis_group"` // HA_Chassis_Group
	IPv6Prefix     ovsdb.Set[string]     `ovsdb:"ipv6_prefix"`
	IPv6RAConfigs  map[string]string     `ovsdb:"ipv6_ra_configs"`
	MAC            string                `ovsdb:"mac"`
	Networks       ovsdb.Set[string]     `ovsdb:"networks"` // addresses with prefix length
	Peer           ovsdb.Set[string]     `ovsdb:"peer"`     // the router port at the other end, not a switch port
	Status         map[string]string     `ovsdb:"status"`
	Options        map[string]string     `ovsdb:"options"`
	ExternalIDs    map[string]string     `ovsdb:"external_ids"`
}

// Table returns Logical_Router_Port.
func (LogicalRouterPort) Table() string { return "Logical_Router_Port" }
