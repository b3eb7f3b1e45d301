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

// Table returns Datapath.
func (Datapath) Table() string { return "Datapath" }
