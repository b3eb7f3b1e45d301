package vswitch

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// OpenvSwitch is a row of Open_vSwitch, ovs-vswitchd.conf.db(5): the one row about the node.
type OpenvSwitch struct {
	UUID            ovsdb.UUID            `ovsdb:"_uuid"`
	Bridges         ovsdb.Set[ovsdb.UUID] `ovsdb:"bridges"` // Bridge
	CurCfg          int                   `ovsdb:"cur_cfg"` // as far as ovs-vswitchd has come
	DatapathTypes   ovsdb.Set[string]     `ovsdb:"datapath_types"`
	Datapaths       map[string]ovsdb.UUID `ovsdb:"datapaths"` // Datapath
	DBVersion       ovsdb.Set[string]     `ovsdb:"db_version"`
	DPDKInitialized bool                  `ovsdb:"dpdk_initialized"`
	DPDKVersion     ovsdb.Set[string]     `ovsdb:"dpdk_version"`
	IfaceTypes      ovsdb.Set[string]     `ovsdb:"iface_types"`
	ManagerOptions  ovsdb.Set[ovsdb.UUID] `ovsdb:"manager_options"` // Manager
	NextCfg         int                   `ovsdb:"next_cfg"`        // as the client last asked
	OVSVersion      ovsdb.Set[string]     `ovsdb:"ovs_version"`
	SSL             ovsdb.Set[ovsdb.UUID] `ovsdb:"ssl"` // SSL
	Statistics      map[string]string     `ovsdb:"statistics"`
	SystemType      ovsdb.Set[string]     `ovsdb:"system_type"`
	SystemVersion   ovsdb.Set[string]     `ovsdb:"system_version"`
	OtherConfig     map[string]string     `ovsdb:"other_config"`
	ExternalIDs     map[string]string     `ovsdb:"external_ids"`
}

// Table returns Open_vSwitch.
func (OpenvSwitch) Table() string { return "Open_vSwitch" }

// Manager is a row of Manager, ovs-vswitchd.conf.db(5): an address on which the server listens
// or which it connects to.
type Manager struct {
	UUID            ovsdb.UUID        `ovsdb:"_uuid"`
	Target          string            `ovsdb:"target"`
	ConnectionMode  ovsdb.Set[string] `ovsdb:"connection_mode"`
	InactivityProbe ovsdb.Set[int]    `ovsdb:"inactivity_probe"`
	IsConnected     bool              `ovsdb:"is_connected"` // not in files
	MaxBackoff      ovsdb.Set[int]    `ovsdb:"max_backoff"`
	Status          map[string]string `ovsdb:"status"` // not in files
	OtherConfig     map[string]string `ovsdb:"other_config"`
	ExternalIDs     map[string]string `ovsdb:"external_ids"`
}

// Table returns Manager.
func (Manager) Table() string { return "Manager" }

// SSL is a row of SSL, ovs-vswitchd.conf.db(5): the files of the server for TLS.
type SSL struct {
	UUID            ovsdb.UUID        `ovsdb:"_uuid"`
	BootstrapCACert bool              `ovsdb:"bootstrap_ca_cert"`
	CACert          string            `ovsdb:"ca_cert"`
	Certificate     string            `ovsdb:"certificate"`
	PrivateKey      string            `ovsdb:"private_key"` // path of the file
	ExternalIDs     map[string]string `ovsdb:"external_ids"`
}

// Table returns SSL.
func (SSL) Table() string { return "SSL" }

// Datapath is a row of Datapath, ovs-vswitchd.conf.db(5): a datapath that bridges use.
type Datapath struct {
	UUID               ovsdb.UUID         `ovsdb:"_uuid"`
	Capabilities       map[string]string  `ovsdb:"capabilities"`
	CTZoneDefaultLimit ovsdb.Set[int]     `ovsdb:"ct_zone_default_limit"`
	CTZones            map[int]ovsdb.UUID `ovsdb:"ct_zones"` // CT_Zone
	DatapathVersion    string             `ovsdb:"datapath_version"`
	ExternalIDs        map[string]string  `ovsdb:"external_ids"`
}

// Table returns Datapath.
func (Datapath) Table() string { return "Datapath" }

// CTZone is a row of CT_Zone, ovs-vswitchd.conf.db(5): a connection tracking zone that has a limit
// or timeouts of its own.
type CTZone struct {
	UUID          ovsdb.UUID            `ovsdb:"_uuid"`
	Limit         ovsdb.Set[int]        `ovsdb:"limit"`
	TimeoutPolicy ovsdb.Set[ovsdb.UUID] `ovsdb:"timeout_policy"` // CT_Timeout_Policy
	ExternalIDs   map[string]string     `ovsdb:"external_ids"`
}

// Table returns CT_Zone.
func (CTZone) Table() string { return "CT_Zone" }
