package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// SampleCollector is a row of Sample_Collector, ovn-nb(5): where samples go. Newer than OVN 23.03.
type SampleCollector struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	ID          int               `ovsdb:"id"`
	Probability int               `ovsdb:"probability"`
	SetID       int               `ovsdb:"set_id"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns Sample_Collector.
func (SampleCollector) Table() string { return "Sample_Collector" }
