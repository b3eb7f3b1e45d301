package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// PortBinding is a row of Port_Binding, ovn-sb(5): a logical port and where it is.
type PortBinding struct {
	PortBindingBrief
	AdditionalEncap            ovsdb.Set[ovsdb.UUID] `ovsdb:"additional_encap,sparse"` // Encap
	Encap                      ovsdb.Set[ovsdb.UUID] `ovsdb:"encap,sparse"`            // Encap
	MirrorPort                 ovsdb.Set[string]     `ovsdb:"mirror_port,sparse"`
	MirrorRules                ovsdb.Set[ovsdb.UUID] `ovsdb:"mirror_rules,sparse"` // Mirror
	NATAddresses               ovsdb.Set[string]     `ovsdb:"nat_addresses,sparse"`
	ParentPort                 ovsdb.Set[string]     `ovsdb:"parent_port,sparse"`
	PortSecurity               ovsdb.Set[string]     `ovsdb:"port_security"`
	RequestedChassis           ovsdb.Set[ovsdb.UUID] `ovsdb:"requested_chassis"`                   // Chassis
	RequestedAdditionalChassis ovsdb.Set[ovsdb.UUID] `ovsdb:"requested_additional_chassis,sparse"` // Chassis
	VirtualParent              ovsdb.Set[string]     `ovsdb:"virtual_parent,sparse"`
	ExternalIDs                map[string]string     `ovsdb:"external_ids"`
}

// PortBindingBrief is a row of Port_Binding with the columns that checks and repairs use.
type PortBindingBrief struct {
	PortBindingWorkload
	Type           string                `ovsdb:"type"`
	GatewayChassis ovsdb.Set[ovsdb.UUID] `ovsdb:"gateway_chassis,sparse"`  // Gateway_Chassis
	HAChassisGroup ovsdb.Set[ovsdb.UUID] `ovsdb:"ha_chassis_group,sparse"` // HA_Chassis_Group
	Tag            ovsdb.Set[int]        `ovsdb:"tag,sparse"`
	Options        map[string]string     `ovsdb:"options"`
}

// PortBindingPlace is a row of Port_Binding with where the port is: tells captures which logical flows to
// read.
type PortBindingPlace struct {
	Datapath ovsdb.UUID            `ovsdb:"datapath"`
	Chassis  ovsdb.Set[ovsdb.UUID] `ovsdb:"chassis"`
	Type     string                `ovsdb:"type"`
}

// PortBindingWorkload is a row of Port_Binding of a pod or VM with what only the Southbound knows of it.
// topology reads nothing else: there are tens of thousands, and each column of each costs the server time. It does not
// have requested_chassis: of such a port that is options:requested-chassis as a UUID, which costs the server most.
type PortBindingWorkload struct {
	UUID ovsdb.UUID `ovsdb:"_uuid"`
	PortBindingHome
	Datapath          ovsdb.UUID            `ovsdb:"datapath"`                  // Datapath_Binding
	TunnelKey         int                   `ovsdb:"tunnel_key"`                // 1 to 32767
	AdditionalChassis ovsdb.Set[ovsdb.UUID] `ovsdb:"additional_chassis,sparse"` // Chassis
	MAC               ovsdb.Set[string]     `ovsdb:"mac"`                       // "MAC IP…"
}

// PortBindingHome is a row of Port_Binding of a pod or VM with which chassis holds it: for topology, to list it. It has no more
// UUIDs than that of the chassis, which cost a server most.
type PortBindingHome struct {
	LogicalPort string                `ovsdb:"logical_port"`
	Chassis     ovsdb.Set[ovsdb.UUID] `ovsdb:"chassis"` // Chassis that holds the port
	Up          ovsdb.Set[bool]       `ovsdb:"up"`      // absent if the chassis cannot tell
}

// PortBindingListed is a row of Port_Binding of what is neither a pod nor a VM: for topology, to list it.
type PortBindingListed struct {
	PortBindingHome
	Type             string                `ovsdb:"type"`
	Datapath         ovsdb.UUID            `ovsdb:"datapath"`          // Datapath_Binding
	MAC              ovsdb.Set[string]     `ovsdb:"mac"`               // "MAC IP…"
	RequestedChassis ovsdb.Set[ovsdb.UUID] `ovsdb:"requested_chassis"` // Chassis
	GatewayChassis   ovsdb.Set[ovsdb.UUID] `ovsdb:"gateway_chassis"`   // Gateway_Chassis
	HAChassisGroup   ovsdb.Set[ovsdb.UUID] `ovsdb:"ha_chassis_group"`  // HA_Chassis_Group
	VirtualParent    ovsdb.Set[string]     `ovsdb:"virtual_parent"`
	Options          map[string]string     `ovsdb:"options"`
	ExternalIDs      map[string]string     `ovsdb:"external_ids"`
}

// PortBindingNames is a row of Port_Binding with the few columns that decode makes names of: all would take
// servers long.
type PortBindingNames struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	LogicalPort string                `ovsdb:"logical_port"`
	Type        string                `ovsdb:"type"`
	Datapath    ovsdb.UUID            `ovsdb:"datapath"`   // Datapath_Binding
	TunnelKey   int                   `ovsdb:"tunnel_key"` // 1 to 32767
	Chassis     ovsdb.Set[ovsdb.UUID] `ovsdb:"chassis"`    // Chassis that holds the port
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// PortBindingResidence is a row of Port_Binding with the columns that ovn-controller's flows of the logical pipelines
// depend on.
type PortBindingResidence struct {
	UUID              ovsdb.UUID            `ovsdb:"_uuid"`
	LogicalPort       string                `ovsdb:"logical_port"`
	Type              string                `ovsdb:"type"`
	Datapath          ovsdb.UUID            `ovsdb:"datapath"`           // Datapath_Binding
	TunnelKey         int                   `ovsdb:"tunnel_key"`         // 1 to 32767
	Chassis           ovsdb.Set[ovsdb.UUID] `ovsdb:"chassis"`            // Chassis that holds the port
	AdditionalChassis ovsdb.Set[ovsdb.UUID] `ovsdb:"additional_chassis"` // Chassis
}
