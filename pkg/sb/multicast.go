package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// MulticastGroup is a row of Multicast_Group, ovn-sb(5): ports that get a copy each.
type MulticastGroup struct {
	UUID      ovsdb.UUID            `ovsdb:"_uuid"`
	Name      string                `ovsdb:"name"`
	Datapath  ovsdb.UUID            `ovsdb:"datapath"`   // Datapath_Binding
	TunnelKey int                   `ovsdb:"tunnel_key"` // 32768 to 65535
	Ports     ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"`      // Port_Binding
}

// IGMPGroup is a row of IGMP_Group, ovn-sb(5): ports that have joined a group.
type IGMPGroup struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	ChassisName string                `ovsdb:"chassis_name"`
	Datapath    ovsdb.Set[ovsdb.UUID] `ovsdb:"datapath"` // Datapath_Binding
	Address     string                `ovsdb:"address"`
	Chassis     ovsdb.Set[ovsdb.UUID] `ovsdb:"chassis"` // Chassis
	Ports       ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"`   // Port_Binding
	Protocol    string                `ovsdb:"protocol"`
}

// IPMulticast is a row of IP_Multicast, ovn-sb(5): how a switch snoops on multicast.
type IPMulticast struct {
	UUID          ovsdb.UUID      `ovsdb:"_uuid"`
	Datapath      ovsdb.UUID      `ovsdb:"datapath"` // Datapath_Binding
	Enabled       ovsdb.Set[bool] `ovsdb:"enabled"`
	EthSrc        string          `ovsdb:"eth_src"`
	IdleTimeout   ovsdb.Set[int]  `ovsdb:"idle_timeout"`
	IP4Src        string          `ovsdb:"ip4_src"`
	IP6Src        string          `ovsdb:"ip6_src"`
	Querier       ovsdb.Set[bool] `ovsdb:"querier"`
	QueryInterval ovsdb.Set[int]  `ovsdb:"query_interval"`
	QueryMaxResp  ovsdb.Set[int]  `ovsdb:"query_max_resp"`
	SeqNo         int             `ovsdb:"seq_no"`
	TableSize     ovsdb.Set[int]  `ovsdb:"table_size"`
}
