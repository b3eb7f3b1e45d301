package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Global is a row of NB_Global, ovn-nb(5): the one row about the deployment,
// how far its parts have come with the configuration, and its options.
type Global struct {
	UUID           ovsdb.UUID            `ovsdb:"_uuid"`
	Name           string                `ovsdb:"name"`
	Connections    ovsdb.Set[ovsdb.UUID] `ovsdb:"connections"`      // Connection
	HVCfg          int                   `ovsdb:"hv_cfg"`           // as far as every chassis has come
	HVCfgTimestamp int                   `ovsdb:"hv_cfg_timestamp"` // milliseconds since 1970, 0 if never
	IPsec          bool                  `ovsdb:"ipsec"`
	NBCfg          int                   `ovsdb:"nb_cfg"`           // as the client last asked
	NBCfgTimestamp int                   `ovsdb:"nb_cfg_timestamp"` // milliseconds since 1970, 0 if never
	SBCfg          int                   `ovsdb:"sb_cfg"`           // as far as northd has come
	SBCfgTimestamp int                   `ovsdb:"sb_cfg_timestamp"` // milliseconds since 1970, 0 if never
	SSL            ovsdb.Set[ovsdb.UUID] `ovsdb:"ssl"`              // SSL
	Options        map[string]string     `ovsdb:"options"`
	ExternalIDs    map[string]string     `ovsdb:"external_ids"`
}

// Table returns NB_Global.
func (Global) Table() string { return "NB_Global" }

// GlobalName is a row of NB_Global with the name of the zone.
type GlobalName struct {
	Name string `ovsdb:"name"`
}

// Table returns NB_Global.
func (GlobalName) Table() string { return "NB_Global" }
