package catalog

import (
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// chassisUUID is the UUID of a chassis' row; empty: there is none.
func chassisUUID(c *sb.Chassis) ovsdb.UUID {
	if c == nil {
		return ""
	}
	return c.UUID
}
