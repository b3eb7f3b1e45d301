package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// PortGroup is a row of Port_Group, ovn-sb(5): ports, by name, that matches name by @NAME.
type PortGroup struct {
	UUID  ovsdb.UUID        `ovsdb:"_uuid"`
	Name  string            `ovsdb:"name"`
	Ports ovsdb.Set[string] `ovsdb:"ports"`
}

// Table returns Port_Group.
func (PortGroup) Table() string { return "Port_Group" }

// PortGroupName is a row of Port_Group without its ports: which groups a port is in.
type PortGroupName struct {
	UUID ovsdb.UUID `ovsdb:"_uuid"`
	Name string     `ovsdb:"name"`
}

// Table returns Port_Group.
func (PortGroupName) Table() string { return "Port_Group" }
