package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// DatapathBinding is a row of Datapath_Binding, ovn-sb(5): a logical switch or router.
type DatapathBinding struct {
	UUID          ovsdb.UUID            `ovsdb:"_uuid"`
	Type          ovsdb.Set[string]     `ovsdb:"type"`       // logical-switch or logical-router; newer than OVN 25.03
	TunnelKey     int                   `ovsdb:"tunnel_key"` // VNI of the tunnels
	LoadBalancers ovsdb.Set[ovsdb.UUID] `ovsdb:"load_balancers"`
	NBUUID        ovsdb.Set[ovsdb.UUID] `ovsdb:"nb_uuid"` // newer than OVN 25.03; before, external_ids say it
	ExternalIDs   map[string]string     `ovsdb:"external_ids"`
}

// Table returns Datapath_Binding.
func (DatapathBinding) Table() string { return "Datapath_Binding" }

// PortBinding is a row of Port_Binding, ovn-sb(5): a logical port and where it is.
type PortBinding struct {
	UUID                       ovsdb.UUID            `ovsdb:"_uuid"`
	LogicalPort                string                `ovsdb:"logical_port"`
	Type                       string                `ovsdb:"type"`
	Datapath                   ovsdb.UUID            `ovsdb:"datapath"`           // Datapath_Binding
	TunnelKey                  int                   `ovsdb:"tunnel_key"`         // 1 to 32767
	AdditionalChassis          ovsdb.Set[ovsdb.UUID] `ovsdb:"additional_chassis"` // Chassis
	AdditionalEncap            ovsdb.Set[ovsdb.UUID] `ovsdb:"additional_encap"`   // Encap
	Chassis                    ovsdb.Set[ovsdb.UUID] `ovsdb:"chassis"`            // Chassis that holds the port
	Encap                      ovsdb.Set[ovsdb.UUID] `ovsdb:"encap"`              // Encap
	GatewayChassis             ovsdb.Set[ovsdb.UUID] `ovsdb:"gateway_chassis"`    // Gateway_Chassis
	HAChassisGroup             ovsdb.Set[ovsdb.UUID] `ovsdb:"ha_chassis_group"`   // HA_Chassis_Group
	MAC                        ovsdb.Set[string]     `ovsdb:"mac"`                // "MAC IP…"
	MirrorPort                 ovsdb.Set[string]     `ovsdb:"mirror_port"`
	MirrorRules                ovsdb.Set[ovsdb.UUID] `ovsdb:"mirror_rules"` // Mirror
	NATAddresses               ovsdb.Set[string]     `ovsdb:"nat_addresses"`
	ParentPort                 ovsdb.Set[string]     `ovsdb:"parent_port"`
	PortSecurity               ovsdb.Set[string]     `ovsdb:"port_security"`
	RequestedAdditionalChassis ovsdb.Set[ovsdb.UUID] `ovsdb:"requested_additional_chassis"` // Chassis
	RequestedChassis           ovsdb.Set[ovsdb.UUID] `ovsdb:"requested_chassis"`            // Chassis
	Tag                        ovsdb.Set[int]        `ovsdb:"tag"`
	Up                         ovsdb.Set[bool]       `ovsdb:"up"` // absent if the chassis cannot tell
	VirtualParent              ovsdb.Set[string]     `ovsdb:"virtual_parent"`
	Options                    map[string]string     `ovsdb:"options"`
	ExternalIDs                map[string]string     `ovsdb:"external_ids"`
}

// Table returns Port_Binding.
func (PortBinding) Table() string { return "Port_Binding" }

// MulticastGroup is a row of Multicast_Group, ovn-sb(5): ports that get a copy each.
type MulticastGroup struct {
	UUID      ovsdb.UUID            `ovsdb:"_uuid"`
	Name      string                `ovsdb:"name"`
	Datapath  ovsdb.UUID            `ovsdb:"datapath"`   // Datapath_Binding
	TunnelKey int                   `ovsdb:"tunnel_key"` // 32768 to 65535
	Ports     ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"`      // Port_Binding
}

// Table returns Multicast_Group.
func (MulticastGroup) Table() string { return "Multicast_Group" }

// IGMPGroup is a row of IGMP_Group, ovn-sb(5): ports that have joined a group.
type IGMPGroup struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	ChassisName string                `ovsdb:"chassis_name"`
	Datapath    ovsdb.Set[ovsdb.UUID] `ovsdb:"datapath"` // Datapath_Binding
	Address     string                `ovsdb:"address"`
	Chassis     ovsdb.Set[ovsdb.UUID] `ovsdb:"chassis"` // Chassis
	Ports       ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"`   // Port_Binding
	Protocol    string                `ovsdb:"protocol"`
}

// Table returns IGMP_Group.
func (IGMPGroup) Table() string { return "IGMP_Group" }

// IPMulticast is a row of IP_Multicast, ovn-sb(5): how a switch snoops on multicast.
type IPMulticast struct {
	UUID          ovsdb.UUID      `ovsdb:"_uuid"`
	Datapath      ovsdb.UUID      `ovsdb:"datapath"` // Datapath_Binding
	Enabled       ovsdb.Set[bool] `ovsdb:"enabled"`
	EthSrc        string          `ovsdb:"eth_src"`
	IdleTimeout   ovsdb.Set[int]  `ovsdb:"idle_timeout"`
	IP4Src        string          `ovsdb:"ip4_src"`
	IP6Src        string          `ovsdb:"ip6_src"`
	Querier       ovsdb.Set[bool] `ovsdb:"querier"`
	QueryInterval ovsdb.Set[int]  `ovsdb:"query_interval"`
	QueryMaxResp  ovsdb.Set[int]  `ovsdb:"query_max_resp"`
	SeqNo         int             `ovsdb:"seq_no"`
	TableSize     ovsdb.Set[int]  `ovsdb:"table_size"`
}

// Table returns IP_Multicast.
func (IPMulticast) Table() string { return "IP_Multicast" }
