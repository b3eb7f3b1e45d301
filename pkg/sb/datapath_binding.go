package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// DatapathBinding is a row of Datapath_Binding, ovn-sb(5): a logical switch or router.
type DatapathBinding struct {
	UUID          ovsdb.UUID            `ovsdb:"_uuid"`
	Type          ovsdb.Set[string]     `ovsdb:"type"`       // logical-switch or logical-router; newer than OVN 25.03
	TunnelKey     int                   `ovsdb:"tunnel_key"` // VNI of the tunnels
	LoadBalancers ovsdb.Set[ovsdb.UUID] `ovsdb:"load_balancers"`
	NBUUID        ovsdb.Set[ovsdb.UUID] `ovsdb:"nb_uuid"` // newer than OVN 25.03; before, in external_ids
	ExternalIDs   map[string]string     `ovsdb:"external_ids"`
}
