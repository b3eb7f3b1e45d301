package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// MACBinding is a row of MAC_Binding, ovn-sb(5): a neighbour that a router has learned.
type MACBinding struct {
	UUID        ovsdb.UUID `ovsdb:"_uuid"`
	LogicalPort string     `ovsdb:"logical_port"`
	Datapath    ovsdb.UUID `ovsdb:"datapath"` // Datapath_Binding
	IP          string     `ovsdb:"ip"`
	MAC         string     `ovsdb:"mac"`
	Timestamp   int        `ovsdb:"timestamp"` // milliseconds since 1970, 0 in old rows
}

// Table returns MAC_Binding.
func (MACBinding) Table() string { return "MAC_Binding" }

// StaticMACBinding is a row of Static_MAC_Binding, ovn-sb(5): a neighbour known in advance.
type StaticMACBinding struct {
	UUID               ovsdb.UUID `ovsdb:"_uuid"`
	LogicalPort        string     `ovsdb:"logical_port"`
	Datapath           ovsdb.UUID `ovsdb:"datapath"` // Datapath_Binding
	IP                 string     `ovsdb:"ip"`
	MAC                string     `ovsdb:"mac"`
	OverrideDynamicMAC bool       `ovsdb:"override_dynamic_mac"`
}

// Table returns Static_MAC_Binding.
func (StaticMACBinding) Table() string { return "Static_MAC_Binding" }

// FDB is a row of FDB, ovn-sb(5): a MAC address that a switch has learned.
type FDB struct {
	UUID      ovsdb.UUID `ovsdb:"_uuid"`
	DPKey     int        `ovsdb:"dp_key"` // Datapath_Binding.tunnel_key
	MAC       string     `ovsdb:"mac"`
	PortKey   int        `ovsdb:"port_key"`  // Port_Binding.tunnel_key
	Timestamp int        `ovsdb:"timestamp"` // milliseconds since 1970
}

// Table returns FDB.
func (FDB) Table() string { return "FDB" }

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

// Table returns BFD.
func (BFD) Table() string { return "BFD" }

// ECMPNexthop is a row of ECMP_Nexthop, ovn-sb(5): a next hop of symmetric replies. Newer than OVN 23.03.
type ECMPNexthop struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Datapath    ovsdb.UUID        `ovsdb:"datapath"` // Datapath_Binding
	MAC         string            `ovsdb:"mac"`
	Nexthop     string            `ovsdb:"nexthop"`
	Port        ovsdb.UUID        `ovsdb:"port"` // Port_Binding
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns ECMP_Nexthop.
func (ECMPNexthop) Table() string { return "ECMP_Nexthop" }

// LearnedRoute is a row of Learned_Route, ovn-sb(5): a route learned from the fabric. Newer than OVN 23.03.
type LearnedRoute struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	LogicalPort ovsdb.UUID        `ovsdb:"logical_port"` // Port_Binding
	Datapath    ovsdb.UUID        `ovsdb:"datapath"`     // Datapath_Binding
	IPPrefix    string            `ovsdb:"ip_prefix"`
	Nexthop     string            `ovsdb:"nexthop"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns Learned_Route.
func (LearnedRoute) Table() string { return "Learned_Route" }

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
