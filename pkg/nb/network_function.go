package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// NetworkFunctionGroup is a row of Network_Function_Group, ovn-nb(5): functions that
// an ACL sends traffic through. Newer than OVN 25.03.
type NetworkFunctionGroup struct {
	UUID                  ovsdb.UUID            `ovsdb:"_uuid"`
	Name                  string                `ovsdb:"name"`
	Fallback              ovsdb.Set[string]     `ovsdb:"fallback"`
	ID                    int                   `ovsdb:"id"`
	Mode                  string                `ovsdb:"mode"`
	NetworkFunction       ovsdb.Set[ovsdb.UUID] `ovsdb:"network_function"`        // Network_Function
	NetworkFunctionActive ovsdb.Set[ovsdb.UUID] `ovsdb:"network_function_active"` // Network_Function
	ExternalIDs           map[string]string     `ovsdb:"external_ids"`
}

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
