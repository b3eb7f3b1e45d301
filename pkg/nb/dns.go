package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// DNS is a row of DNS, ovn-nb(5): names that the switches resolve.
type DNS struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Records     map[string]string `ovsdb:"records"`
	Options     map[string]string `ovsdb:"options"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}
