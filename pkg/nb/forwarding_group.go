package nb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// ForwardingGroup is a row of Forwarding_Group, ovn-nb(5): ports that share one address.
type ForwardingGroup struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	ChildPort   ovsdb.Set[string] `ovsdb:"child_port"`
	Liveness    bool              `ovsdb:"liveness"`
	VIP         string            `ovsdb:"vip"`
	VMAC        string            `ovsdb:"vmac"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns Forwarding_Group.
func (ForwardingGroup) Table() string { return "Forwarding_Group" }
