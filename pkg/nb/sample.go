package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Sample is a row of Sample, ovn-nb(5): what of an ACL's traffic is sampled. Newer than OVN 23.03.
type Sample struct {
	UUID       ovsdb.UUID            `ovsdb:"_uuid"`
	Collectors ovsdb.Set[ovsdb.UUID] `ovsdb:"collectors"` // Sample_Collector
	Metadata   int                   `ovsdb:"metadata"`
}

// Table returns Sample.
func (Sample) Table() string { return "Sample" }
