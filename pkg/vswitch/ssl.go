package vswitch

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

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

// SSLFiles is a row of SSL with the files that a connection to the other databases needs.
type SSLFiles struct {
	PrivateKey  string `ovsdb:"private_key"`
	Certificate string `ovsdb:"certificate"`
	CACert      string `ovsdb:"ca_cert"`
}

// Table returns SSL.
func (SSLFiles) Table() string { return "SSL" }
