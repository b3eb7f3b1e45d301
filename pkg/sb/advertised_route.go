package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// AdvertisedRoute is a row of Advertised_Route, ovn-sb(5): a route told to the fabric. Newer than OVN 23.03.
type AdvertisedRoute struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	LogicalPort ovsdb.UUID            `ovsdb:"logical_port"` // Port_Binding
	Datapath    ovsdb.UUID            `ovsdb:"datapath"`     // Datapath_Binding
	IPPrefix    string                `ovsdb:"ip_prefix"`
	TrackedPort ovsdb.Set[ovsdb.UUID] `ovsdb:"tracked_port"` // Port_Binding
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// Table returns Advertised_Route.
func (AdvertisedRoute) Table() string { return "Advertised_Route" }
