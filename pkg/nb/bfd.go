package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// BFD is a row of BFD, ovn-nb(5): a session that watches a next hop.
type BFD struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	LogicalPort string            `ovsdb:"logical_port"`
	DetectMult  ovsdb.Set[int]    `ovsdb:"detect_mult"`
	DstIP       string            `ovsdb:"dst_ip"`
	MinRx       ovsdb.Set[int]    `ovsdb:"min_rx"`
	MinTx       ovsdb.Set[int]    `ovsdb:"min_tx"`
	Status      ovsdb.Set[string] `ovsdb:"status"`
	Options     map[string]string `ovsdb:"options"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}
