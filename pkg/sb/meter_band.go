package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// MeterBand is a row of Meter_Band, ovn-sb(5): the rate of a meter.
type MeterBand struct {
	UUID      ovsdb.UUID `ovsdb:"_uuid"`
	Action    string     `ovsdb:"action"`
	BurstSize int        `ovsdb:"burst_size"`
	Rate      int        `ovsdb:"rate"`
}

// Table returns Meter_Band.
func (MeterBand) Table() string { return "Meter_Band" }
