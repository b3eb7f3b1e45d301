package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Sample is a row of Sample, ovn-nb(5): which of an ACL's traffic is sampled. Newer than OVN 23.03.
type Sample struct {
	UUID       ovsdb.UUID            `ovsdb:"_uuid"`
	Collectors ovsdb.Set[ovsdb.UUID] `ovsdb:"collectors"` // Sample_Collector
	Metadata   int                   `ovsdb:"metadata"`
}

// SampleCollector is a row of Sample_Collector, ovn-nb(5): where samples go. Newer than OVN 23.03.
type SampleCollector struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	ID          int               `ovsdb:"id"`
	Probability int               `ovsdb:"probability"`
	SetID       int               `ovsdb:"set_id"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}
