package vswitch

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// A FlowSampleCollectorSet says where the sample action sends what it takes.
type FlowSampleCollectorSet struct {
	UUID   ovsdb.UUID            `ovsdb:"_uuid"`
	ID     int                   `ovsdb:"id"`     // that sample names
	Bridge ovsdb.UUID            `ovsdb:"bridge"` // on which it is
	IPFIX  ovsdb.Set[ovsdb.UUID] `ovsdb:"ipfix"`  // IPFIX
}
