package decode

import (
	"context"
	"fmt"
	"time"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// ReadLogical reads the Southbound's part of the names.
func ReadLogical(ctx context.Context, southbound ovsdb.Reader) (*Logical, error) {
	var rows Southbound
	if err := ovsdb.Load(ctx, southbound, &rows); err != nil {
		return nil, err
	}
	return NewLogical(rows), nil
}

// ReadNames joins them with what a node's database, tunnel options and release
// say. The node's database is open; l may be nil.
func ReadNames(ctx context.Context, n *cluster.Node, l *Logical) (*Names, error) {
	var rows Vswitch
	if err := ovsdb.Load(ctx, n.Vswitch, &rows); err != nil {
		return nil, fmt.Errorf("node %s: %w", n.Name, err)
	}
	bridge := NewNames(l, rows, nil, Version{}).Bridge
	var tlvs []openflow.TLV
	if text, err := n.Host.Dump(ctx, bridge, node.TLVMap); err == nil {
		tlvs = openflow.ParseTLVMap(text)
	}
	return NewNames(l, rows, tlvs, release(ctx, n)), nil
}

// release is that of a node's ovn-controller, zero if it does not say so soon:
// which flag bits it uses depends on it, and no more. A controller that hangs
// must not hold the answer.
func release(ctx context.Context, n *cluster.Node) Version {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	text, err := n.Host.Control(ctx, "ovn-controller", "version")
	if err != nil {
		return Version{}
	}
	return ParseVersion(text)
}
