package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// FDB is a row of FDB, ovn-sb(5): a MAC address that a switch has learned.
type FDB struct {
	UUID      ovsdb.UUID `ovsdb:"_uuid"`
	DPKey     int        `ovsdb:"dp_key"` // Datapath_Binding.tunnel_key
	MAC       string     `ovsdb:"mac"`
	PortKey   int        `ovsdb:"port_key"`  // Port_Binding.tunnel_key
	Timestamp int        `ovsdb:"timestamp"` // milliseconds since 1970
}
