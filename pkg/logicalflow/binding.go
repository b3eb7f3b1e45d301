package logicalflow

import (
	"context"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// Bindings are the rows of the ports of one type of all datapaths. Unlike [Network.PortsOfType] it reads no datapath that
// has one of them.
func (n *Network) Bindings(ctx context.Context, kind string) ([]sb.PortBinding, error) {
	return ovsdb.Find[sb.PortBinding](ctx, n.db, ovsdb.Where("type", "==", kind))
}
