package sb

import "github.com/ovnctl/ovnctl/pkg/ovsdb"

// RBACPermission is a row of RBAC_Permission, ovn-sb(5): what a role may change in one table.
type RBACPermission struct {
	UUID          ovsdb.UUID        `ovsdb:"_uuid"`
	Authorization ovsdb.Set[string] `ovsdb:"authorization"`
	InsertDelete  bool              `ovsdb:"insert_delete"`
	TableName     string            `ovsdb:"table"`
	Update        ovsdb.Set[string] `ovsdb:"update"`
}

// Table returns RBAC_Permission.
func (RBACPermission) Table() string { return "RBAC_Permission" }
