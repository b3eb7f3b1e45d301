package vswitch

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Mirror is a row of Mirror, ovs-vswitchd.conf.db(5): copies of a bridge's traffic.
type Mirror struct {
	UUID          ovsdb.UUID            `ovsdb:"_uuid"`
	Name          string                `ovsdb:"name"`
	Filter        ovsdb.Set[string]     `ovsdb:"filter"`
	OutputPort    ovsdb.Set[ovsdb.UUID] `ovsdb:"output_port"` // Port
	OutputVLAN    ovsdb.Set[int]        `ovsdb:"output_vlan"`
	SelectAll     bool                  `ovsdb:"select_all"`
	SelectDstPort ovsdb.Set[ovsdb.UUID] `ovsdb:"select_dst_port"` // Port
	SelectSrcPort ovsdb.Set[ovsdb.UUID] `ovsdb:"select_src_port"` // Port
	SelectVLAN    ovsdb.Set[int]        `ovsdb:"select_vlan"`
	Snaplen       ovsdb.Set[int]        `ovsdb:"snaplen"`
	Statistics    map[string]int        `ovsdb:"statistics"`
	ExternalIDs   map[string]string     `ovsdb:"external_ids"`
}

// Table returns Mirror.
func (Mirror) Table() string { return "Mirror" }
