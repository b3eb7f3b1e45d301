package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// HAChassisGroup is a row of HA_Chassis_Group, ovn-nb(5): chassis of which one carries
// what refers to the group.
type HAChassisGroup struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Name        string                `ovsdb:"name"`
	HAChassis   ovsdb.Set[ovsdb.UUID] `ovsdb:"ha_chassis"` // HA_Chassis
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// Table returns HA_Chassis_Group.
func (HAChassisGroup) Table() string { return "HA_Chassis_Group" }
