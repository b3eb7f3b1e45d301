package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Global is a row of NB_Global, ovn-nb(5): the deployment's only row: the progress of its configuration, and
// its options.
type Global struct {
	UUID           ovsdb.UUID            `ovsdb:"_uuid"`
	Name           string                `ovsdb:"name"`
	Connections    ovsdb.Set[ovsdb.UUID] `ovsdb:"connections"`      // Connection
	HVCfg          int                   `ovsdb:"hv_cfg"`           // reached by every chassis
	HVCfgTimestamp int                   `ovsdb:"hv_cfg_timestamp"` // milliseconds since 1970, 0 if never
	IPsec          bool                  `ovsdb:"ipsec"`
	NBCfg          int                   `ovsdb:"nb_cfg"`           // last requested by a client
	NBCfgTimestamp int                   `ovsdb:"nb_cfg_timestamp"` // milliseconds since 1970, 0 if never
	SBCfg          int                   `ovsdb:"sb_cfg"`           // reached by northd
	SBCfgTimestamp int                   `ovsdb:"sb_cfg_timestamp"` // milliseconds since 1970, 0 if never
	SSL            ovsdb.Set[ovsdb.UUID] `ovsdb:"ssl"`              // SSL
	Options        map[string]string     `ovsdb:"options"`
	ExternalIDs    map[string]string     `ovsdb:"external_ids"`
}

// GlobalName is a row of NB_Global with only the zone's name.
type GlobalName struct {
	Name string `ovsdb:"name"`
}

// Connection is a row of Connection, ovn-nb(5): an address on which the server listens.
type Connection struct {
	UUID            ovsdb.UUID        `ovsdb:"_uuid"`
	Target          string            `ovsdb:"target"`
	InactivityProbe ovsdb.Set[int]    `ovsdb:"inactivity_probe"`
	IsConnected     bool              `ovsdb:"is_connected"` // not in files
	MaxBackoff      ovsdb.Set[int]    `ovsdb:"max_backoff"`
	Status          map[string]string `ovsdb:"status"` // not in files
	OtherConfig     map[string]string `ovsdb:"other_config"`
	ExternalIDs     map[string]string `ovsdb:"external_ids"`
}

// SSL is a row of SSL, ovn-nb(5): the server's TLS files.
type SSL struct {
	UUID            ovsdb.UUID        `ovsdb:"_uuid"`
	BootstrapCACert bool              `ovsdb:"bootstrap_ca_cert"`
	CACert          string            `ovsdb:"ca_cert"`
	Certificate     string            `ovsdb:"certificate"`
	PrivateKey      string            `ovsdb:"private_key"` // path of the file
	SSLCiphers      string            `ovsdb:"ssl_ciphers"`
	SSLCiphersuites string            `ovsdb:"ssl_ciphersuites"`
	SSLProtocols    string            `ovsdb:"ssl_protocols"`
	ExternalIDs     map[string]string `ovsdb:"external_ids"`
}
