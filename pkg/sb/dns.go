package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// DNS is a row of DNS, ovn-sb(5): names that the chassis resolve.
type DNS struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Datapaths   ovsdb.Set[ovsdb.UUID] `ovsdb:"datapaths"` // Datapath_Binding
	Records     map[string]string     `ovsdb:"records"`
	Options     map[string]string     `ovsdb:"options"`
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}
