package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// AddressSet is a row of Address_Set, ovn-nb(5): addresses that matches name by $NAME.
type AddressSet struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	Addresses   ovsdb.Set[string] `ovsdb:"addresses"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}
