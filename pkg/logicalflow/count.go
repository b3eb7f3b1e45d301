package logicalflow

import (
	"context"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// CountFlows is the number of logical flows of the whole Southbound. The server has to name them all, once: that is not
// for large ones.
func (n *Network) CountFlows(ctx context.Context) (int, error) {
	if known := n.rows.Load(); known > 0 {
		return int(known), nil
	}
	rows, err := ovsdb.Find[ovsdb.Key[sb.LogicalFlow]](ctx, n.db)
	if err != nil {
		return 0, err
	}
	n.rows.Store(int64(len(rows)))
	return len(rows), nil
}
