package vswitch

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// FlowTable is a row of Flow_Table, ovs-vswitchd.conf.db(5): limits of an OpenFlow table.
type FlowTable struct {
	UUID           ovsdb.UUID        `ovsdb:"_uuid"`
	Name           ovsdb.Set[string] `ovsdb:"name"`
	FlowLimit      ovsdb.Set[int]    `ovsdb:"flow_limit"`
	Groups         ovsdb.Set[string] `ovsdb:"groups"`
	OverflowPolicy ovsdb.Set[string] `ovsdb:"overflow_policy"`
	Prefixes       ovsdb.Set[string] `ovsdb:"prefixes"`
	ExternalIDs    map[string]string `ovsdb:"external_ids"`
}

// Table returns Flow_Table.
func (FlowTable) Table() string { return "Flow_Table" }
