package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// SSL is a row of SSL, ovn-sb(5): the files of the server for TLS.
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

// Table returns SSL.
func (SSL) Table() string { return "SSL" }
