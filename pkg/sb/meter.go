package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Meter is a row of Meter, ovn-sb(5): a limit by name.
type Meter struct {
	UUID  ovsdb.UUID            `ovsdb:"_uuid"`
	Name  string                `ovsdb:"name"`
	Bands ovsdb.Set[ovsdb.UUID] `ovsdb:"bands"` // Meter_Band
	Unit  string                `ovsdb:"unit"`  // kbps or pktps
}

// Table returns Meter.
func (Meter) Table() string { return "Meter" }
