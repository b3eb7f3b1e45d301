package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Meter is a row of Meter, ovn-nb(5): a limit by name.
type Meter struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Name        string                `ovsdb:"name"`
	Bands       ovsdb.Set[ovsdb.UUID] `ovsdb:"bands"` // Meter_Band
	Fair        ovsdb.Set[bool]       `ovsdb:"fair"`
	Unit        string                `ovsdb:"unit"` // kbps or pktps
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
}

// Table returns Meter.
func (Meter) Table() string { return "Meter" }
