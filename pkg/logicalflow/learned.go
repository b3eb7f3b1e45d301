package logicalflow

import (
	"cmp"
	"context"
	"maps"
	"net/netip"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// Neighbours is what a router knows about the owner of an address behind one of its ports, learned or static.
type Neighbours struct {
	Learned *sb.MACBinding       // nil if none
	Static  *sb.StaticMACBinding // nil if none
}

// bindings are a port's neighbours.
type bindings struct {
	learned []sb.MACBinding
	static  []sb.StaticMACBinding
}

// Neighbours looks up an address behind a port. Of several rows, the Southbound's first counts.
func (p *Port) Neighbours(ctx context.Context, a netip.Addr) (Neighbours, error) {
	b, err := p.bindings(ctx)
	if err != nil {
		return Neighbours{}, err
	}
	var found Neighbours
	if i := slices.IndexFunc(b.learned, func(m sb.MACBinding) bool {
		return m.Datapath == p.Datapath.Row.UUID && sameAddress(m.IP, a)
	}); i >= 0 {
		found.Learned = &b.learned[i]
	}
	if i := slices.IndexFunc(b.static, func(m sb.StaticMACBinding) bool {
		return m.Datapath == p.Datapath.Row.UUID && sameAddress(m.IP, a)
	}); i >= 0 {
		found.Static = &b.static[i]
	}
	return found, nil
}

func (p *Port) bindings(ctx context.Context) (*bindings, error) {
	n := p.Datapath.net
	return recall(&n.memory.learned, p.Name(), func() (*bindings, error) {
		b := &bindings{}
		where := []ovsdb.Condition{ovsdb.Where("logical_port", "==", p.Name())}
		queries := []*ovsdb.Query{{Rows: &b.learned, Where: where}}
		if n.db.Has("Static_MAC_Binding", "") {
			queries = append(queries, &ovsdb.Query{Rows: &b.static, Where: where})
		}
		return b, n.db.Select(ctx, queries...)
	})
}

func sameAddress(text string, a netip.Addr) bool {
	b, err := netip.ParseAddr(text)
	return err == nil && b == a
}

// FDB returns the MAC addresses the switch has learned.
func (d *Datapath) FDB(ctx context.Context) ([]sb.FDB, error) {
	return recall(&d.net.memory.fdb, d.Key(), func() ([]sb.FDB, error) {
		if !d.net.db.Has("FDB", "") {
			return nil, nil
		}
		return ovsdb.Find[sb.FDB](ctx, d.net.db, ovsdb.Where("dp_key", "==", d.Key()))
	})
}

// LoadBalancers returns the datapath's, as Southbound rows.
func (d *Datapath) LoadBalancers(ctx context.Context) ([]sb.LoadBalancer, error) {
	return recall(&d.net.memory.balancers, d.Row.UUID, func() ([]sb.LoadBalancer, error) { return d.readBalancers(ctx) })
}

func (d *Datapath) readBalancers(ctx context.Context) ([]sb.LoadBalancer, error) {
	c, err := d.contents(ctx)
	if err != nil || !d.net.db.Has("Load_Balancer", "") {
		return nil, err
	}
	var queries []*ovsdb.Query
	ask := func(column, function string, value any) {
		if d.net.db.Has("Load_Balancer", column) {
			queries = append(queries, &ovsdb.Query{Rows: &[]sb.LoadBalancer{}, Where: []ovsdb.Condition{ovsdb.Where(column, function, value)}})
		}
	}
	ask("datapaths", "includes", []ovsdb.UUID{d.Row.UUID})
	for _, o := range c.owners[1:] {
		for _, column := range []string{"datapath_group", "ls_datapath_group", "lr_datapath_group"} {
			ask(column, "==", o.id)
		}
	}
	for _, id := range d.Row.LoadBalancers {
		ask("_uuid", "==", id)
	}
	if err := d.net.db.Select(ctx, queries...); err != nil {
		return nil, err
	}
	rows := map[ovsdb.UUID]sb.LoadBalancer{}
	for _, q := range queries {
		for _, row := range *q.Rows.(*[]sb.LoadBalancer) {
			rows[row.UUID] = row
		}
	}
	return slices.SortedFunc(maps.Values(rows), func(a, b sb.LoadBalancer) int { return cmp.Compare(a.UUID, b.UUID) }), nil
}

// LoadBalancers returns all datapaths'.
func (n *Network) LoadBalancers(ctx context.Context) ([]sb.LoadBalancer, error) {
	return recall(&n.memory.balancers, "", func() ([]sb.LoadBalancer, error) {
		if !n.db.Has("Load_Balancer", "") {
			return nil, nil
		}
		return ovsdb.Find[sb.LoadBalancer](ctx, n.db)
	})
}

// DNS are the names that OVN resolves in the datapath.
func (d *Datapath) DNS(ctx context.Context) ([]sb.DNS, error) {
	return recall(&d.net.memory.dns, d.Row.UUID, func() ([]sb.DNS, error) {
		return ovsdb.Find[sb.DNS](ctx, d.net.db, ovsdb.Where("datapaths", "includes", []ovsdb.UUID{d.Row.UUID}))
	})
}
