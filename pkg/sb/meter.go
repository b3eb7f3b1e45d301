package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Meter is a row of Meter, ovn-sb(5): a named rate limit.
type Meter struct {
	UUID  ovsdb.UUID            `ovsdb:"_uuid"`
	Name  string                `ovsdb:"name"`
	Bands ovsdb.Set[ovsdb.UUID] `ovsdb:"bands"` // Meter_Band
	Unit  string                `ovsdb:"unit"`  // kbps or pktps
}

// MeterBand is a row of Meter_Band, ovn-sb(5): the rate of a meter.
type MeterBand struct {
	UUID      ovsdb.UUID `ovsdb:"_uuid"`
	Action    string     `ovsdb:"action"`
	BurstSize int        `ovsdb:"burst_size"`
	Rate      int        `ovsdb:"rate"`
}
