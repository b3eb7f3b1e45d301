package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// PortGroup is a row of Port_Group, ovn-sb(5): ports, by name, that matches name by @NAME.
type PortGroup struct {
	PortGroupName
	Ports ovsdb.Set[string] `ovsdb:"ports"`
}

// PortGroupName is a row of Port_Group without its ports: tells which groups a port is in.
type PortGroupName struct {
	UUID ovsdb.UUID `ovsdb:"_uuid"`
	Name string     `ovsdb:"name"`
}
