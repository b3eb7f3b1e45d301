package vswitch

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Datapath is a row of Datapath, ovs-vswitchd.conf.db(5): a datapath that bridges use.
type Datapath struct {
	UUID               ovsdb.UUID         `ovsdb:"_uuid"`
	Capabilities       map[string]string  `ovsdb:"capabilities"`
	CTZoneDefaultLimit ovsdb.Set[int]     `ovsdb:"ct_zone_default_limit"`
	CTZones            map[int]ovsdb.UUID `ovsdb:"ct_zones"` // CT_Zone
	DatapathVersion    string             `ovsdb:"datapath_version"`
	ExternalIDs        map[string]string  `ovsdb:"external_ids"`
}

// CTZone is a row of CT_Zone, ovs-vswitchd.conf.db(5): a ct zone with its own limit or timeouts.
type CTZone struct {
	UUID          ovsdb.UUID            `ovsdb:"_uuid"`
	Limit         ovsdb.Set[int]        `ovsdb:"limit"`
	TimeoutPolicy ovsdb.Set[ovsdb.UUID] `ovsdb:"timeout_policy"` // CT_Timeout_Policy
	ExternalIDs   map[string]string     `ovsdb:"external_ids"`
}
