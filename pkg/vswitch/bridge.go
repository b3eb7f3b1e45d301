package vswitch

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Bridge is a row of Bridge, ovs-vswitchd.conf.db(5): a bridge.
type Bridge struct {
	BridgeBrief
	AutoAttach          ovsdb.Set[ovsdb.UUID] `ovsdb:"auto_attach"` // AutoAttach
	DatapathID          ovsdb.Set[string]     `ovsdb:"datapath_id"` // not in files
	DatapathVersion     string                `ovsdb:"datapath_version"`
	FloodVLANs          ovsdb.Set[int]        `ovsdb:"flood_vlans"`
	FlowTables          map[int]ovsdb.UUID    `ovsdb:"flow_tables"` // Flow_Table
	IPFIX               ovsdb.Set[ovsdb.UUID] `ovsdb:"ipfix"`       // IPFIX
	McastSnoopingEnable bool                  `ovsdb:"mcast_snooping_enable"`
	Mirrors             ovsdb.Set[ovsdb.UUID] `ovsdb:"mirrors"` // Mirror
	NetFlow             ovsdb.Set[ovsdb.UUID] `ovsdb:"netflow"` // NetFlow
	RSTPEnable          bool                  `ovsdb:"rstp_enable"`
	RSTPStatus          map[string]string     `ovsdb:"rstp_status"`
	SFlow               ovsdb.Set[ovsdb.UUID] `ovsdb:"sflow"` // sFlow
	Status              map[string]string     `ovsdb:"status"`
	STPEnable           bool                  `ovsdb:"stp_enable"`
}

// BridgeBrief is a row of Bridge with the columns that checks and repairs use.
type BridgeBrief struct {
	UUID         ovsdb.UUID            `ovsdb:"_uuid"`
	Name         string                `ovsdb:"name"`
	Controller   ovsdb.Set[ovsdb.UUID] `ovsdb:"controller"`    // Controller
	DatapathType string                `ovsdb:"datapath_type"` // empty or system is the kernel, netdev is userspace
	FailMode     ovsdb.Set[string]     `ovsdb:"fail_mode"`     // standalone if absent, or secure
	Ports        ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"`         // Port
	Protocols    ovsdb.Set[string]     `ovsdb:"protocols"`     // of OpenFlow; the default set if empty
	OtherConfig  map[string]string     `ovsdb:"other_config"`
	ExternalIDs  map[string]string     `ovsdb:"external_ids"`
}

// BridgeName is a row of Bridge with only its name: tells captures which bridges of a node to read.
type BridgeName struct {
	Name string `ovsdb:"name"`
}

// Controller is a row of Controller, ovs-vswitchd.conf.db(5): an OpenFlow controller of a bridge.
type Controller struct {
	UUID                 ovsdb.UUID        `ovsdb:"_uuid"`
	Type                 ovsdb.Set[string] `ovsdb:"type"`
	Target               string            `ovsdb:"target"`
	ConnectionMode       ovsdb.Set[string] `ovsdb:"connection_mode"`
	ControllerBurstLimit ovsdb.Set[int]    `ovsdb:"controller_burst_limit"`
	ControllerQueueSize  ovsdb.Set[int]    `ovsdb:"controller_queue_size"`
	ControllerRateLimit  ovsdb.Set[int]    `ovsdb:"controller_rate_limit"`
	EnableAsyncMessages  ovsdb.Set[bool]   `ovsdb:"enable_async_messages"`
	InactivityProbe      ovsdb.Set[int]    `ovsdb:"inactivity_probe"`
	IsConnected          bool              `ovsdb:"is_connected"` // not in files
	LocalGateway         ovsdb.Set[string] `ovsdb:"local_gateway"`
	LocalIP              ovsdb.Set[string] `ovsdb:"local_ip"`
	LocalNetmask         ovsdb.Set[string] `ovsdb:"local_netmask"`
	MaxBackoff           ovsdb.Set[int]    `ovsdb:"max_backoff"`
	Role                 ovsdb.Set[string] `ovsdb:"role"`
	Status               map[string]string `ovsdb:"status"` // not in files
	OtherConfig          map[string]string `ovsdb:"other_config"`
	ExternalIDs          map[string]string `ovsdb:"external_ids"`
}

// FlowTable is a row of Flow_Table, ovs-vswitchd.conf.db(5): limits of an OpenFlow table.
type FlowTable struct {
	UUID           ovsdb.UUID        `ovsdb:"_uuid"`
	Name           ovsdb.Set[string] `ovsdb:"name"`
	FlowLimit      ovsdb.Set[int]    `ovsdb:"flow_limit"`
	Groups         ovsdb.Set[string] `ovsdb:"groups"`
	OverflowPolicy ovsdb.Set[string] `ovsdb:"overflow_policy"`
	Prefixes       ovsdb.Set[string] `ovsdb:"prefixes"`
	ExternalIDs    map[string]string `ovsdb:"external_ids"`
}

// Mirror is a row of Mirror, ovs-vswitchd.conf.db(5): copies of a bridge's traffic.
type Mirror struct {
	UUID          ovsdb.UUID            `ovsdb:"_uuid"`
	Name          string                `ovsdb:"name"`
	Filter        ovsdb.Set[string]     `ovsdb:"filter"`
	OutputPort    ovsdb.Set[ovsdb.UUID] `ovsdb:"output_port"` // Port
	OutputVLAN    ovsdb.Set[int]        `ovsdb:"output_vlan"`
	SelectAll     bool                  `ovsdb:"select_all"`
	SelectDstPort ovsdb.Set[ovsdb.UUID] `ovsdb:"select_dst_port"` // Port
	SelectSrcPort ovsdb.Set[ovsdb.UUID] `ovsdb:"select_src_port"` // Port
	SelectVLAN    ovsdb.Set[int]        `ovsdb:"select_vlan"`
	Snaplen       ovsdb.Set[int]        `ovsdb:"snaplen"`
	Statistics    map[string]int        `ovsdb:"statistics"`
	ExternalIDs   map[string]string     `ovsdb:"external_ids"`
}
