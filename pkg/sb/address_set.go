package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// AddressSet is a row of Address_Set, ovn-sb(5): addresses that matches name by $NAME.
type AddressSet struct {
	UUID      ovsdb.UUID        `ovsdb:"_uuid"`
	Name      string            `ovsdb:"name"`
	Addresses ovsdb.Set[string] `ovsdb:"addresses"`
}
