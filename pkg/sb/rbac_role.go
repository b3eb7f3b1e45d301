package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// RBACRole is a row of RBAC_Role, ovn-sb(5): what the clients of a Connection may change.
type RBACRole struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Name        string                `ovsdb:"name"`
	Permissions map[string]ovsdb.UUID `ovsdb:"permissions"` // RBAC_Permission
}

// Table returns RBAC_Role.
func (RBACRole) Table() string { return "RBAC_Role" }
