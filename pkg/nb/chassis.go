package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// ChassisTemplateVar is a row of Chassis_Template_Var, ovn-nb(5): values that differ by chassis.
type ChassisTemplateVar struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Chassis     string            `ovsdb:"chassis"`
	Variables   map[string]string `ovsdb:"variables"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// GatewayChassis is a row of Gateway_Chassis, ovn-nb(5): a chassis that may carry a
// gateway port.
type GatewayChassis struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	ChassisName string            `ovsdb:"chassis_name"` // Chassis.name in the Southbound
	Priority    int               `ovsdb:"priority"`     // the highest one alive wins
	Options     map[string]string `ovsdb:"options"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// HAChassisGroup is a row of HA_Chassis_Group, ovn-nb(5): chassis, one of which hosts what refers to the
// group.
type HAChassisGroup struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Name        string                `ovsdb:"name"`
	HAChassis   ovsdb.Set[ovsdb.UUID] `ovsdb:"ha_chassis"` // HA_Chassis
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// HAChassis is a row of HA_Chassis, ovn-nb(5): a chassis in such a group.
type HAChassis struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	ChassisName string            `ovsdb:"chassis_name"` // Chassis.name in the Southbound
	Priority    int               `ovsdb:"priority"`     // the highest one alive wins
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}
