package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Global is a row of SB_Global, ovn-sb(5): the one row about the deployment.
type Global struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Connections ovsdb.Set[ovsdb.UUID] `ovsdb:"connections"` // Connection
	IPsec       bool                  `ovsdb:"ipsec"`
	NBCfg       int                   `ovsdb:"nb_cfg"` // copied from NB_Global by northd
	SSL         ovsdb.Set[ovsdb.UUID] `ovsdb:"ssl"`    // SSL
	Options     map[string]string     `ovsdb:"options"`
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// Table returns SB_Global.
func (Global) Table() string { return "SB_Global" }

// GlobalNBCfg is a row of SB_Global with the configuration that it shows: whether it moved while a capture read it.
type GlobalNBCfg struct {
	NBCfg int `ovsdb:"nb_cfg"`
}

// Table returns SB_Global.
func (GlobalNBCfg) Table() string { return "SB_Global" }
