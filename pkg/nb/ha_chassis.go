package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// HAChassis is a row of HA_Chassis, ovn-nb(5): a chassis in such a group.
type HAChassis struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	ChassisName string            `ovsdb:"chassis_name"` // Chassis.name in the Southbound
	Priority    int               `ovsdb:"priority"`     // the highest that is alive wins
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns HA_Chassis.
func (HAChassis) Table() string { return "HA_Chassis" }
