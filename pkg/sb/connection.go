package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Connection is a row of Connection, ovn-sb(5): an address on which the server listens.
type Connection struct {
	UUID            ovsdb.UUID        `ovsdb:"_uuid"`
	Target          string            `ovsdb:"target"`
	InactivityProbe ovsdb.Set[int]    `ovsdb:"inactivity_probe"`
	IsConnected     bool              `ovsdb:"is_connected"` // not in files
	MaxBackoff      ovsdb.Set[int]    `ovsdb:"max_backoff"`
	ReadOnly        bool              `ovsdb:"read_only"`
	Role            string            `ovsdb:"role"`
	Status          map[string]string `ovsdb:"status"` // not in files
	OtherConfig     map[string]string `ovsdb:"other_config"`
	ExternalIDs     map[string]string `ovsdb:"external_ids"`
}

// Table returns Connection.
func (Connection) Table() string { return "Connection" }
