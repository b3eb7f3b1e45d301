package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Chassis is a row of Chassis, ovn-sb(5): a node, or the gateway of another zone.
type Chassis struct {
	UUID                ovsdb.UUID            `ovsdb:"_uuid"`
	Name                string                `ovsdb:"name"` // system-id of the node
	Hostname            string                `ovsdb:"hostname"`
	Encaps              ovsdb.Set[ovsdb.UUID] `ovsdb:"encaps"` // Encap
	NBCfg               int                   `ovsdb:"nb_cfg"` // of before 20.12, see Chassis_Private
	TransportZones      ovsdb.Set[string]     `ovsdb:"transport_zones"`
	VtepLogicalSwitches ovsdb.Set[string]     `ovsdb:"vtep_logical_switches"`
	OtherConfig         map[string]string     `ovsdb:"other_config"`
	ExternalIDs         map[string]string     `ovsdb:"external_ids"`
}

// Table returns Chassis.
func (Chassis) Table() string { return "Chassis" }

// ChassisPrivate is a row of Chassis_Private, ovn-sb(5): what only the chassis itself writes.
type ChassisPrivate struct {
	UUID           ovsdb.UUID            `ovsdb:"_uuid"`
	Name           string                `ovsdb:"name"`             // Chassis.name
	Chassis        ovsdb.Set[ovsdb.UUID] `ovsdb:"chassis"`          // Chassis
	NBCfg          int                   `ovsdb:"nb_cfg"`           // as far as the chassis has come
	NBCfgTimestamp int                   `ovsdb:"nb_cfg_timestamp"` // milliseconds since 1970
	ExternalIDs    map[string]string     `ovsdb:"external_ids"`
}

// Table returns Chassis_Private.
func (ChassisPrivate) Table() string { return "Chassis_Private" }

// Encap is a row of Encap, ovn-sb(5): how tunnels to a chassis are made.
type Encap struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Type        string            `ovsdb:"type"`
	ChassisName string            `ovsdb:"chassis_name"`
	IP          string            `ovsdb:"ip"`
	Options     map[string]string `ovsdb:"options"`
}

// Table returns Encap.
func (Encap) Table() string { return "Encap" }

// GatewayChassis is a row of Gateway_Chassis, ovn-sb(5): a chassis that may carry a
// gateway port.
type GatewayChassis struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Name        string                `ovsdb:"name"`
	Chassis     ovsdb.Set[ovsdb.UUID] `ovsdb:"chassis"`  // Chassis
	Priority    int                   `ovsdb:"priority"` // the highest that is alive wins
	Options     map[string]string     `ovsdb:"options"`
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// Table returns Gateway_Chassis.
func (GatewayChassis) Table() string { return "Gateway_Chassis" }

// HAChassisGroup is a row of HA_Chassis_Group, ovn-sb(5): chassis of which one carries
// what refers to the group.
type HAChassisGroup struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Name        string                `ovsdb:"name"`
	HAChassis   ovsdb.Set[ovsdb.UUID] `ovsdb:"ha_chassis"`  // HA_Chassis
	RefChassis  ovsdb.Set[ovsdb.UUID] `ovsdb:"ref_chassis"` // Chassis
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// Table returns HA_Chassis_Group.
func (HAChassisGroup) Table() string { return "HA_Chassis_Group" }

// HAChassis is a row of HA_Chassis, ovn-sb(5): a chassis in such a group.
type HAChassis struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Chassis     ovsdb.Set[ovsdb.UUID] `ovsdb:"chassis"`  // Chassis
	Priority    int                   `ovsdb:"priority"` // the highest that is alive wins
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// Table returns HA_Chassis.
func (HAChassis) Table() string { return "HA_Chassis" }

// ChassisTemplateVar is a row of Chassis_Template_Var, ovn-sb(5): values that differ by chassis.
type ChassisTemplateVar struct {
	UUID      ovsdb.UUID        `ovsdb:"_uuid"`
	Chassis   string            `ovsdb:"chassis"`
	Variables map[string]string `ovsdb:"variables"`
}

// Table returns Chassis_Template_Var.
func (ChassisTemplateVar) Table() string { return "Chassis_Template_Var" }
