package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Global is a row of SB_Global, ovn-sb(5): the deployment's only row.
type Global struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Connections ovsdb.Set[ovsdb.UUID] `ovsdb:"connections"` // Connection
	IPsec       bool                  `ovsdb:"ipsec"`
	NBCfg       int                   `ovsdb:"nb_cfg"` // copied from NB_Global by northd
	SSL         ovsdb.Set[ovsdb.UUID] `ovsdb:"ssl"`    // SSL
	Options     map[string]string     `ovsdb:"options"`
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// GlobalNBCfg is a row of SB_Global with only nb_cfg: whether it changed during a capture.
type GlobalNBCfg struct {
	NBCfg int `ovsdb:"nb_cfg"`
}

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

// SSL is a row of SSL, ovn-sb(5): the server's TLS files.
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
