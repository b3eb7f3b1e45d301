package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// MeterBand is a row of Meter_Band, ovn-nb(5): the rate of a meter.
type MeterBand struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Action      string            `ovsdb:"action"`
	BurstSize   int               `ovsdb:"burst_size"`
	Rate        int               `ovsdb:"rate"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns Meter_Band.
func (MeterBand) Table() string { return "Meter_Band" }
