package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

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

// Table returns IP_Multicast.
func (IPMulticast) Table() string { return "IP_Multicast" }
