package vswitch

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

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
