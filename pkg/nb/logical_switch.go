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

// LogicalSwitchBare is a row of Logical_Switch without the rules and load balancers that it refers to: what topology needs
// to know where an address is.
type LogicalSwitchBare struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Name        string                `ovsdb:"name"`
	Ports       ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"`
	OtherConfig map[string]string     `ovsdb:"other_config"`
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// Table returns Logical_Switch.
func (LogicalSwitchBare) Table() string { return "Logical_Switch" }

// LogicalSwitchContents is a row of Logical_Switch with the rows that it holds: decode looks up whose a row is.
type LogicalSwitchContents struct {
	Name        string                `ovsdb:"name"`
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
	ACLs        ovsdb.Set[ovsdb.UUID] `ovsdb:"acls"`
	QoSRules    ovsdb.Set[ovsdb.UUID] `ovsdb:"qos_rules"`
	Ports       ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"`
}

// Table returns Logical_Switch.
func (LogicalSwitchContents) Table() string { return "Logical_Switch" }
