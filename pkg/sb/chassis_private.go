package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

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
