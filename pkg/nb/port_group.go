package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// PortGroup is a row of Port_Group, ovn-nb(5): ports that share ACLs.
type PortGroup struct {
	UUID ovsdb.UUID `ovsdb:"_uuid"`
	PortGroupContents
	Ports ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"` // Logical_Switch_Port
}

// PortGroupContents is a row of Port_Group with the rows it holds: for decode, to find a row's parent.
type PortGroupContents struct {
	Name        string                `ovsdb:"name"`
	ExternalIDs map[string]string     `ovsdb:"external_ids"`
	ACLs        ovsdb.Set[ovsdb.UUID] `ovsdb:"acls"`
}
