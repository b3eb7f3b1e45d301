package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Meter is a row of Meter, ovn-nb(5): a named rate limit.
type Meter struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Name        string                `ovsdb:"name"`
	Bands       ovsdb.Set[ovsdb.UUID] `ovsdb:"bands"` // Meter_Band
	Fair        ovsdb.Set[bool]       `ovsdb:"fair"`
	Unit        string                `ovsdb:"unit"` // kbps or pktps
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// MeterBand is a row of Meter_Band, ovn-nb(5): the rate of a meter.
type MeterBand struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Action      string            `ovsdb:"action"`
	BurstSize   int               `ovsdb:"burst_size"`
	Rate        int               `ovsdb:"rate"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}
