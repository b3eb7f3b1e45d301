package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Chassis is a row of Chassis, ovn-sb(5): a node, or the gateway of another zone.
type Chassis struct {
	UUID ovsdb.UUID `ovsdb:"_uuid"`
	ChassisIdentity
	NBCfg          int               `ovsdb:"nb_cfg"` // before 20.12, see Chassis_Private
	TransportZones ovsdb.Set[string] `ovsdb:"transport_zones"`
	ExternalIDs    map[string]string `ovsdb:"external_ids"`
}

// ChassisIdentity is a row of Chassis with the columns that identify the node and its addresses.
type ChassisIdentity struct {
	Name                string                `ovsdb:"name"` // system-id of the node
	Hostname            string                `ovsdb:"hostname"`
	Encaps              ovsdb.Set[ovsdb.UUID] `ovsdb:"encaps"` // Encap
	OtherConfig         map[string]string     `ovsdb:"other_config"`
	VtepLogicalSwitches ovsdb.Set[string]     `ovsdb:"vtep_logical_switches"`
}

// VTEP reports whether ovn-controller-vtep(8) wrote the chassis, for a hardware switch.
func (r ChassisIdentity) VTEP() bool {
	return r.OtherConfig["is-vtep"] == "true" || len(r.VtepLogicalSwitches) > 0
}

// ChassisName is a row of Chassis with only its name: for captures, to tell which chassis are nodes to read.
type ChassisName struct {
	UUID ovsdb.UUID `ovsdb:"_uuid"`
	Name string     `ovsdb:"name"`
}

// ChassisPrivate is a row of Chassis_Private, ovn-sb(5): what only the chassis itself writes.
type ChassisPrivate struct {
	UUID           ovsdb.UUID            `ovsdb:"_uuid"`
	Name           string                `ovsdb:"name"`             // Chassis.name
	Chassis        ovsdb.Set[ovsdb.UUID] `ovsdb:"chassis"`          // Chassis
	NBCfg          int                   `ovsdb:"nb_cfg"`           // reached by the chassis
	NBCfgTimestamp int                   `ovsdb:"nb_cfg_timestamp"` // milliseconds since 1970
	ExternalIDs    map[string]string     `ovsdb:"external_ids"`
}

// ChassisTemplateVar is a row of Chassis_Template_Var, ovn-sb(5): values that differ by chassis.
type ChassisTemplateVar struct {
	UUID      ovsdb.UUID        `ovsdb:"_uuid"`
	Chassis   string            `ovsdb:"chassis"`
	Variables map[string]string `ovsdb:"variables"`
}

// GatewayChassis is a row of Gateway_Chassis, ovn-sb(5): a chassis that may carry a
// gateway port.
type GatewayChassis struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Name        string                `ovsdb:"name"`
	Chassis     ovsdb.Set[ovsdb.UUID] `ovsdb:"chassis"`  // Chassis
	Priority    int                   `ovsdb:"priority"` // the highest one alive wins
	Options     map[string]string     `ovsdb:"options"`
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// HAChassisGroup is a row of HA_Chassis_Group, ovn-sb(5): chassis, one of which hosts what refers to the
// group.
type HAChassisGroup struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Name        string                `ovsdb:"name"`
	HAChassis   ovsdb.Set[ovsdb.UUID] `ovsdb:"ha_chassis"`  // HA_Chassis
	RefChassis  ovsdb.Set[ovsdb.UUID] `ovsdb:"ref_chassis"` // Chassis
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// HAChassis is a row of HA_Chassis, ovn-sb(5): a chassis in such a group.
type HAChassis struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Chassis     ovsdb.Set[ovsdb.UUID] `ovsdb:"chassis"`  // Chassis
	Priority    int                   `ovsdb:"priority"` // the highest one alive wins
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// Encap is a row of Encap, ovn-sb(5): a chassis's tunnel type and address.
type Encap struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Type        string            `ovsdb:"type"`
	ChassisName string            `ovsdb:"chassis_name"`
	IP          string            `ovsdb:"ip"`
	Options     map[string]string `ovsdb:"options"`
}
