package logicalflow

import (
	"context"
	"strconv"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// ByCookie returns a datapath's flows whose UUIDs begin with a number, as the cookies of the OpenFlow flows do that
// ovn-controller makes of them. It reads only those. known is false, and nothing read, unless lookups have read all of the
// datapath's matches before.
func (n *Network) ByCookie(ctx context.Context, datapath ovsdb.UUID, cookie uint32) (rows []sb.LogicalFlow, known bool, err error) {
	d := n.byUUID[datapath]
	if d == nil {
		return nil, false, nil
	}
	c := d.inside.Load()
	if c == nil {
		return nil, false, nil
	}
	for _, o := range c.owners {
		if o.loaded.Load() < maxTables {
			return nil, false, nil
		}
	}
	for _, o := range c.owners {
		for _, e := range o.beginning(cookie) {
			f, err := n.understood(ctx, e, nil)
			if err != nil {
				return nil, false, err
			}
			rows = append(rows, f.Row)
		}
	}
	return rows, true, nil
}

// beginning returns the owner's flows whose UUIDs begin with a number. All of them must be loaded.
func (o *owner) beginning(cookie uint32) []*entry {
	o.indexing.Do(func() {
		o.byCookie = map[uint32][]*entry{}
		for p := range o.tables {
			for _, t := range o.tables[p] {
				if t == nil {
					continue
				}
				for _, e := range t.entries {
					if n, err := strconv.ParseUint(string(e.id[:min(8, len(e.id))]), 16, 32); err == nil {
						o.byCookie[uint32(n)] = append(o.byCookie[uint32(n)], e)
					}
				}
			}
		}
	})
	return o.byCookie[cookie]
}
