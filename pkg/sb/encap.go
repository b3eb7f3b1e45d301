package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// Encap is a row of Encap, ovn-sb(5): how tunnels to a chassis are made.
type Encap struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Type        string            `ovsdb:"type"`
	ChassisName string            `ovsdb:"chassis_name"`
	IP          string            `ovsdb:"ip"`
	Options     map[string]string `ovsdb:"options"`
}

// Table returns Encap.
func (Encap) Table() string { return "Encap" }
