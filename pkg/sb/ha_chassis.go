package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// HAChassis is a row of HA_Chassis, ovn-sb(5): a chassis in such a group.
type HAChassis struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Chassis     ovsdb.Set[ovsdb.UUID] `ovsdb:"chassis"`  // Chassis
	Priority    int                   `ovsdb:"priority"` // the highest that is alive wins
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// Table returns HA_Chassis.
func (HAChassis) Table() string { return "HA_Chassis" }
