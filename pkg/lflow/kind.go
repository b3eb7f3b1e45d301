package lflow

import (
	"cmp"
	"context"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// PortsOfType returns the ports of one type of all datapaths, such as localnet, in the order of their names.
func (n *Network) PortsOfType(ctx context.Context, kind string) ([]*Port, error) {
	rows, err := ovsdb.Find[sb.PortBinding](ctx, n.db, ovsdb.Where("type", "==", kind))
	if err != nil {
		return nil, err
	}
	var ports []*Port
	for _, row := range rows {
		p, err := n.Port(ctx, row.LogicalPort)
		if err != nil {
			return nil, err
		}
		if p != nil {
			ports = append(ports, p)
		}
	}
	slices.SortFunc(ports, func(a, b *Port) int { return cmp.Compare(a.Name(), b.Name()) })
	return ports, nil
}

// Groups are the multicast groups of the datapath in the order of their keys.
func (d *Datapath) Groups(ctx context.Context) ([]*Group, error) {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	if err := d.net.loadPorts(ctx, d); err != nil {
		return nil, err
	}
	groups := make([]*Group, 0, len(d.groups))
	for _, g := range d.groups {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b *Group) int { return cmp.Compare(a.Row.TunnelKey, b.Row.TunnelKey) })
	return groups, nil
}
