package vswitch

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// A Bridge is a row of Bridge, ovs-vswitchd.conf.db(5).
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

// A Port is a row of Port, ovs-vswitchd.conf.db(5).
type PortBrief struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Name        string                `ovsdb:"name"`
	Interfaces  ovsdb.Set[ovsdb.UUID] `ovsdb:"interfaces"` // Interface
	Tag         ovsdb.Set[int]        `ovsdb:"tag"`        // VLAN
	OtherConfig map[string]string     `ovsdb:"other_config"`
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// Table returns Port.
func (PortBrief) Table() string { return "Port" }

// An Interface is a row of Interface, ovs-vswitchd.conf.db(5).
type InterfaceBrief struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	Type        string            `ovsdb:"type"`
	BFD         map[string]string `ovsdb:"bfd"`
	BFDStatus   map[string]string `ovsdb:"bfd_status"`
	Error       ovsdb.Set[string] `ovsdb:"error"`      // why it could not be opened
	LinkState   ovsdb.Set[string] `ovsdb:"link_state"` // up or down; not in files
	MAC         ovsdb.Set[string] `ovsdb:"mac"`
	MACInUse    ovsdb.Set[string] `ovsdb:"mac_in_use"`
	OFPort      ovsdb.Set[int]    `ovsdb:"ofport"`     // -1 if the interface could not be opened, absent before that
	Statistics  map[string]int    `ovsdb:"statistics"` // not in files
	Options     map[string]string `ovsdb:"options"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns Interface.
func (InterfaceBrief) Table() string { return "Interface" }
