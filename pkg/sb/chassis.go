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

// ChassisIdentity is a row of Chassis with what says which node it is and where it is reached.
type ChassisIdentity struct {
	Name         string                `ovsdb:"name"`
	Hostname     string                `ovsdb:"hostname"`
	Encaps       ovsdb.Set[ovsdb.UUID] `ovsdb:"encaps"` // Encap
	OtherConfig  map[string]string     `ovsdb:"other_config"`
	VTEPSwitches ovsdb.Set[string]     `ovsdb:"vtep_logical_switches"`
}

// Table returns Chassis.
func (ChassisIdentity) Table() string { return "Chassis" }

// VTEP reports whether ovn-controller-vtep(8) wrote the chassis, for a hardware switch.
func (r ChassisIdentity) VTEP() bool {
	return r.OtherConfig["is-vtep"] == "true" || len(r.VTEPSwitches) > 0
}

// ChassisName is a row of Chassis by its name alone: which chassis is a node that a capture reads.
type ChassisName struct {
	UUID ovsdb.UUID `ovsdb:"_uuid"`
	Name string     `ovsdb:"name"`
}

// Table returns Chassis.
func (ChassisName) Table() string { return "Chassis" }
