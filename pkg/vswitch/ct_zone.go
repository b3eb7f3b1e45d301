package vswitch

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// CTZone is a row of CT_Zone, ovs-vswitchd.conf.db(5): a connection tracking zone that has a limit
// or timeouts of its own.
type CTZone struct {
	UUID          ovsdb.UUID            `ovsdb:"_uuid"`
	Limit         ovsdb.Set[int]        `ovsdb:"limit"`
	TimeoutPolicy ovsdb.Set[ovsdb.UUID] `ovsdb:"timeout_policy"` // CT_Timeout_Policy
	ExternalIDs   map[string]string     `ovsdb:"external_ids"`
}

// Table returns CT_Zone.
func (CTZone) Table() string { return "CT_Zone" }
