package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// BFD is a row of BFD, ovn-sb(5): a session that watches a next hop.
type BFD struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	LogicalPort string            `ovsdb:"logical_port"`
	ChassisName string            `ovsdb:"chassis_name"`
	DetectMult  int               `ovsdb:"detect_mult"`
	Disc        int               `ovsdb:"disc"`
	DstIP       string            `ovsdb:"dst_ip"`
	MinRx       int               `ovsdb:"min_rx"`
	MinTx       int               `ovsdb:"min_tx"`
	SrcPort     int               `ovsdb:"src_port"`
	Status      string            `ovsdb:"status"`
	Options     map[string]string `ovsdb:"options"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}
