package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// NetworkFunction is a row of Network_Function, ovn-nb(5): a function with its two ports. Newer than OVN 25.03.
type NetworkFunction struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Name        string                `ovsdb:"name"`
	HealthCheck ovsdb.Set[ovsdb.UUID] `ovsdb:"health_check"` // Network_Function_Health_Check
	ID          int                   `ovsdb:"id"`
	Inport      ovsdb.UUID            `ovsdb:"inport"`  // Logical_Switch_Port
	Outport     ovsdb.UUID            `ovsdb:"outport"` // Logical_Switch_Port
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// Table returns Network_Function.
func (NetworkFunction) Table() string { return "Network_Function" }
