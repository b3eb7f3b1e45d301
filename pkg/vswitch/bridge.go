package vswitch

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Bridge is a row of Bridge, ovs-vswitchd.conf.db(5): a bridge.
type Bridge struct {
	UUID                ovsdb.UUID            `ovsdb:"_uuid"`
	Name                string                `ovsdb:"name"`
	AutoAttach          ovsdb.Set[ovsdb.UUID] `ovsdb:"auto_attach"`   // AutoAttach
	Controller          ovsdb.Set[ovsdb.UUID] `ovsdb:"controller"`    // Controller
	DatapathID          ovsdb.Set[string]     `ovsdb:"datapath_id"`   // not in files
	DatapathType        string                `ovsdb:"datapath_type"` // empty or system is the kernel, netdev is userspace
	DatapathVersion     string                `ovsdb:"datapath_version"`
	FailMode            ovsdb.Set[string]     `ovsdb:"fail_mode"` // standalone if absent, or secure
	FloodVLANs          ovsdb.Set[int]        `ovsdb:"flood_vlans"`
	FlowTables          map[int]ovsdb.UUID    `ovsdb:"flow_tables"` // Flow_Table
	IPFIX               ovsdb.Set[ovsdb.UUID] `ovsdb:"ipfix"`       // IPFIX
	McastSnoopingEnable bool                  `ovsdb:"mcast_snooping_enable"`
	Mirrors             ovsdb.Set[ovsdb.UUID] `ovsdb:"mirrors"` // Mirror
	NetFlow             ovsdb.Set[ovsdb.UUID] `ovsdb:"netflow"` // NetFlow
	Ports               ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"`   // Port
	Protocols           ovsdb.Set[string]     `ovsdb:"protocols"`
	RSTPEnable          bool                  `ovsdb:"rstp_enable"`
	RSTPStatus          map[string]string     `ovsdb:"rstp_status"`
	SFlow               ovsdb.Set[ovsdb.UUID] `ovsdb:"sflow"` // sFlow
	Status              map[string]string     `ovsdb:"status"`
	STPEnable           bool                  `ovsdb:"stp_enable"`
	OtherConfig         map[string]string     `ovsdb:"other_config"`
	ExternalIDs         map[string]string     `ovsdb:"external_ids"`
}

// Table returns Bridge.
func (Bridge) Table() string { return "Bridge" }

// BridgeBrief is a row of Bridge with what checks and repairs look at.
type BridgeBrief struct {
	UUID         ovsdb.UUID            `ovsdb:"_uuid"`
	Name         string                `ovsdb:"name"`
	Controller   ovsdb.Set[ovsdb.UUID] `ovsdb:"controller"`    // Controller
	DatapathType string                `ovsdb:"datapath_type"` // empty or system is the kernel, netdev is userspace
	FailMode     ovsdb.Set[string]     `ovsdb:"fail_mode"`     // standalone if absent, or secure
	Ports        ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"`         // Port
	OtherConfig  map[string]string     `ovsdb:"other_config"`
	ExternalIDs  map[string]string     `ovsdb:"external_ids"`
}

// Table returns Bridge.
func (BridgeBrief) Table() string { return "Bridge" }

// BridgeName is a row of Bridge by its name alone: which bridges a capture reads of a node.
type BridgeName struct {
	Name string `ovsdb:"name"`
}

// Table returns Bridge.
func (BridgeName) Table() string { return "Bridge" }
