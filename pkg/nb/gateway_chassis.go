package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// GatewayChassis is a row of Gateway_Chassis, ovn-nb(5): a chassis that may carry a
// gateway port.
type GatewayChassis struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	ChassisName string            `ovsdb:"chassis_name"` // Chassis.name in the Southbound
	Priority    int               `ovsdb:"priority"`     // the highest that is alive wins
	Options     map[string]string `ovsdb:"options"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns Gateway_Chassis.
func (GatewayChassis) Table() string { return "Gateway_Chassis" }
