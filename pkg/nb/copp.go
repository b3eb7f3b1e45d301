package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Copp is a row of Copp, ovn-nb(5): meters on packets for the controller.
type Copp struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	Meters      map[string]string `ovsdb:"meters"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}
