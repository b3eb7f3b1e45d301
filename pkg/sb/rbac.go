package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// RBACRole is a row of RBAC_Role, ovn-sb(5): what the clients of a Connection may change.
type RBACRole struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Name        string                `ovsdb:"name"`
	Permissions map[string]ovsdb.UUID `ovsdb:"permissions"` // RBAC_Permission
}

// RBACPermission is a row of RBAC_Permission, ovn-sb(5): what a role may change in one table.
type RBACPermission struct {
	UUID          ovsdb.UUID        `ovsdb:"_uuid"`
	Authorization ovsdb.Set[string] `ovsdb:"authorization"`
	InsertDelete  bool              `ovsdb:"insert_delete"`
	TableName     string            `ovsdb:"table"`
	Update        ovsdb.Set[string] `ovsdb:"update"`
}
