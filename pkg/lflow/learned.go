package lflow

import (
	"context"
	"net/netip"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// Neighbours are what a router knows of the owner of an address behind one of its ports: learned rows and static ones.
type Neighbours struct {
	Learned *sb.MACBinding       // nil if there is none
	Static  *sb.StaticMACBinding // nil if there is none
}

// Neighbours looks an address up behind a port.
func (p *Port) Neighbours(ctx context.Context, a netip.Addr) (Neighbours, error) {
	n := p.Datapath.net
	var learned []sb.MACBinding
	var static []sb.StaticMACBinding
	where := []ovsdb.Condition{ovsdb.Where("logical_port", "==", p.Name())}
	queries := []*ovsdb.Query{{Rows: &learned, Where: where}}
	if n.db.Has("Static_MAC_Binding", "") {
		queries = append(queries, &ovsdb.Query{Rows: &static, Where: where})
	}
	if err := n.db.Select(ctx, queries...); err != nil {
		return Neighbours{}, err
	}
	var found Neighbours
	if i := slices.IndexFunc(learned, func(m sb.MACBinding) bool {
		return m.Datapath == p.Datapath.Row.UUID && sameAddress(m.IP, a)
	}); i >= 0 {
		found.Learned = &learned[i]
	}
	if i := slices.IndexFunc(static, func(m sb.StaticMACBinding) bool {
		return m.Datapath == p.Datapath.Row.UUID && sameAddress(m.IP, a)
	}); i >= 0 {
		found.Static = &static[i]
	}
	return found, nil
}

func sameAddress(text string, a netip.Addr) bool {
	b, err := netip.ParseAddr(text)
	return err == nil && b == a
}

// FDB are the MAC addresses that the switch has learned.
func (d *Datapath) FDB(ctx context.Context) ([]sb.FDB, error) {
	if !d.net.db.Has("FDB", "") {
		return nil, nil
	}
	return ovsdb.Find[sb.FDB](ctx, d.net.db, ovsdb.Where("dp_key", "==", d.Key()))
}

// LoadBalancers are those of the datapath, as rows of the Southbound.
func (d *Datapath) LoadBalancers(ctx context.Context) ([]sb.LoadBalancer, error) {
	if !d.net.db.Has("Load_Balancer", "") {
		return nil, nil
	}
	rows, err := ovsdb.Find[sb.LoadBalancer](ctx, d.net.db)
	if err != nil {
		return nil, err
	}
	groups, err := ovsdb.Find[sb.LogicalDPGroup](ctx, d.net.db)
	if err != nil {
		return nil, err
	}
	within := map[ovsdb.UUID]bool{}
	for _, g := range groups {
		within[g.UUID] = g.Datapaths.Has(d.Row.UUID)
	}
	return slices.DeleteFunc(rows, func(row sb.LoadBalancer) bool {
		return !row.Datapaths.Has(d.Row.UUID) && !within[row.DatapathGroup.Get()] && !within[row.LSDatapathGroup.Get()] &&
			!within[row.LRDatapathGroup.Get()] && !d.Row.LoadBalancers.Has(row.UUID)
	}), nil
}

// DNS are the names that the datapath answers for.
func (d *Datapath) DNS(ctx context.Context) ([]sb.DNS, error) {
	return ovsdb.Find[sb.DNS](ctx, d.net.db, ovsdb.Where("datapaths", "includes", []ovsdb.UUID{d.Row.UUID}))
}
