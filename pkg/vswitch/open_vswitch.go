package vswitch

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// OpenvSwitch is a row of Open_vSwitch, ovs-vswitchd.conf.db(5): the node's only row.
type OpenvSwitch struct {
	UUID            ovsdb.UUID            `ovsdb:"_uuid"`
	Bridges         ovsdb.Set[ovsdb.UUID] `ovsdb:"bridges"` // Bridge
	CurCfg          int                   `ovsdb:"cur_cfg"` // reached by ovs-vswitchd
	DatapathTypes   ovsdb.Set[string]     `ovsdb:"datapath_types"`
	Datapaths       map[string]ovsdb.UUID `ovsdb:"datapaths"` // Datapath
	DBVersion       ovsdb.Set[string]     `ovsdb:"db_version"`
	DPDKInitialized bool                  `ovsdb:"dpdk_initialized"`
	DPDKVersion     ovsdb.Set[string]     `ovsdb:"dpdk_version"`
	IfaceTypes      ovsdb.Set[string]     `ovsdb:"iface_types"`
	ManagerOptions  ovsdb.Set[ovsdb.UUID] `ovsdb:"manager_options"` // Manager
	NextCfg         int                   `ovsdb:"next_cfg"`        // last requested by a client
	OVSVersion      ovsdb.Set[string]     `ovsdb:"ovs_version"`
	SSL             ovsdb.Set[ovsdb.UUID] `ovsdb:"ssl"` // SSL
	Statistics      map[string]string     `ovsdb:"statistics"`
	SystemType      ovsdb.Set[string]     `ovsdb:"system_type"`
	SystemVersion   ovsdb.Set[string]     `ovsdb:"system_version"`
	OtherConfig     map[string]string     `ovsdb:"other_config"`
	ExternalIDs     map[string]string     `ovsdb:"external_ids"`
}

// OpenvSwitchIDs is a row of Open_vSwitch with the columns that identify a node's deployment.
type OpenvSwitchIDs struct {
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Versions is a row of Open_vSwitch with the version of its schema.
type Versions struct {
	DBVersion ovsdb.Set[string] `ovsdb:"db_version"`
}

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

// SSL is a row of SSL, ovs-vswitchd.conf.db(5): the server's TLS files.
type SSL struct {
	UUID ovsdb.UUID `ovsdb:"_uuid"`
	SSLFiles
	BootstrapCACert bool              `ovsdb:"bootstrap_ca_cert"`
	ExternalIDs     map[string]string `ovsdb:"external_ids"`
}

// SSLFiles is a row of SSL with the files needed to connect to the other databases.
type SSLFiles struct {
	PrivateKey  string `ovsdb:"private_key"`
	Certificate string `ovsdb:"certificate"`
	CACert      string `ovsdb:"ca_cert"`
}
