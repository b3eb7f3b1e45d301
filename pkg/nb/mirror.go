package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Mirror is a row of Mirror, ovn-nb(5): copies of a port's traffic.
type Mirror struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Name        string                `ovsdb:"name"`
	Type        string                `ovsdb:"type"`
	Filter      string                `ovsdb:"filter"`
	Index       int                   `ovsdb:"index"`
	MirrorRules ovsdb.Set[ovsdb.UUID] `ovsdb:"mirror_rules"` // Mirror_Rule
	Sink        string                `ovsdb:"sink"`
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}
