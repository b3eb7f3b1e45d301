package logicalflow

import (
	"context"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// Bindings returns the rows of the ports of one type of all datapaths. It loads none of these datapaths.
func (n *Network) Bindings(ctx context.Context, kind string) ([]sb.PortBinding, error) {
	return ovsdb.Find[sb.PortBinding](ctx, n.db, ovsdb.Where("type", "==", kind))
}
