package logicalflow

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// A Network is the logical network of one zone.
type Network struct {
	db      ovsdb.Reader
	version release.Series

	datapaths []*Datapath
	byUUID    map[ovsdb.UUID]*Datapath
	chassis   map[ovsdb.UUID]*Chassis

	loader
	all    all
	ports  sync.Map // name to *Port; nil for a name that no port has
	memory memory
}

// A Chassis is a node with its tunnel endpoints.
type Chassis struct {
	Row    sb.Chassis
	Encaps []sb.Encap // in the order of type and address
}

// A Datapath is a logical switch or router.
type Datapath struct {
	Row    sb.DatapathBinding
	NBUUID ovsdb.UUID // of its row in the Northbound; empty if it is not said
	Name   string     // of the switch or router, else the UUID of the row
	Name2  string     // what the CMS calls it besides, often empty
	Router bool

	net    *Network
	mu     sync.Mutex // held while the contents are read
	inside atomic.Pointer[contents]
	views  [2][maxTables]atomic.Pointer[view]
}

// contents are what a datapath has beside flows.
type contents struct {
	ports  []*Port // in the order of their names
	byKey  map[int]*Port
	groups map[int]*Group
	owners []*owner
}

// Key is the number of the datapath in packets and tunnels.
func (d *Datapath) Key() int { return d.Row.TunnelKey }

// A Port is a logical port.
type Port struct {
	Row      sb.PortBinding
	Datapath *Datapath
}

// Key is the number of the port in packets of its datapath.
func (p *Port) Key() int { return p.Row.TunnelKey }

// Name is the name of the port.
func (p *Port) Name() string { return p.Row.LogicalPort }

// A Group is a multicast group of a datapath.
type Group struct {
	Row   sb.MulticastGroup
	Ports []*Port // in the order of their names
}

// Open reads what every question needs: the datapaths, the chassis and the release of ovn-northd.
func Open(ctx context.Context, southbound ovsdb.Reader) (*Network, error) {
	n := &Network{db: southbound, byUUID: map[ovsdb.UUID]*Datapath{}, chassis: map[ovsdb.UUID]*Chassis{}}
	var rows struct {
		Global    []sb.Global
		Datapaths []sb.DatapathBinding
		Chassis   []sb.Chassis
		Encaps    []sb.Encap
	}
	if err := ovsdb.Load(ctx, southbound, &rows); err != nil {
		return nil, err
	}
	for _, g := range rows.Global {
		n.version, _ = release.ParseSeries(g.Options["northd_internal_version"]) // without one all releases are meant
	}
	for _, row := range rows.Datapaths {
		d := newDatapath(n, row)
		n.datapaths = append(n.datapaths, d)
		n.byUUID[row.UUID] = d
	}
	slices.SortFunc(n.datapaths, func(a, b *Datapath) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(string(a.Row.UUID), string(b.Row.UUID)))
	})
	encaps := map[ovsdb.UUID]sb.Encap{}
	for _, e := range rows.Encaps {
		encaps[e.UUID] = e
	}
	for _, row := range rows.Chassis {
		c := &Chassis{Row: row}
		for _, id := range row.Encaps {
			c.Encaps = append(c.Encaps, encaps[id])
		}
		slices.SortFunc(c.Encaps, func(a, b sb.Encap) int {
			return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(a.IP, b.IP))
		})
		n.chassis[row.UUID] = c
	}
	return n, nil
}

func newDatapath(n *Network, row sb.DatapathBinding) *Datapath {
	d := &Datapath{Row: row, net: n, Name: row.ExternalIDs["name"], Name2: row.ExternalIDs["name2"]}
	nbUUID, router := row.ExternalIDs["logical-router"]
	if !router {
		nbUUID = row.ExternalIDs["logical-switch"]
	}
	if row.Type.Get() != "" {
		router = row.Type.Get() == "logical-router"
	}
	d.Router, d.NBUUID = router, ovsdb.UUID(cmp.Or(string(row.NBUUID.Get()), nbUUID))
	d.Name = cmp.Or(d.Name, string(row.UUID))
	return d
}

// Version is the release of ovn-northd that wrote the flows; zero if it does not say.
func (n *Network) Version() release.Series { return n.version }

// Datapaths are all datapaths in the order of their names.
func (n *Network) Datapaths() []*Datapath { return n.datapaths }

// Datapath returns the datapath of a row, nil if there is none.
func (n *Network) Datapath(id ovsdb.UUID) *Datapath { return n.byUUID[id] }

// Chassis returns the chassis of a row, nil if there is none.
func (n *Network) Chassis(id ovsdb.UUID) *Chassis { return n.chassis[id] }

// ChassisByName returns the chassis with a system-id, nil if there is none.
func (n *Network) ChassisByName(name string) *Chassis {
	for _, c := range n.chassis {
		if c.Row.Name == name {
			return c
		}
	}
	return nil
}

// Port returns the port of that name, nil if there is none.
func (n *Network) Port(ctx context.Context, name string) (*Port, error) {
	if p, ok := n.ports.Load(name); ok {
		return p.(*Port), nil
	}
	rows, err := ovsdb.Find[sb.PortBinding](ctx, n.db, ovsdb.Where("logical_port", "==", name))
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if d := n.byUUID[row.Datapath]; d != nil {
			if _, err := d.contents(ctx); err != nil {
				return nil, err
			}
		}
	}
	p, _ := n.ports.LoadOrStore(name, (*Port)(nil))
	return p.(*Port), nil
}

func byName(a, b *Port) int { return strings.Compare(a.Name(), b.Name()) }

// contents reads the ports and multicast groups of the datapath, and which groups of datapaths it is in.
func (d *Datapath) contents(ctx context.Context) (*contents, error) {
	if c := d.inside.Load(); c != nil {
		return c, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.inside.Load(); c != nil {
		return c, nil
	}
	var ports []sb.PortBinding
	var groups []sb.MulticastGroup
	var shared []ovsdb.Key[sb.LogicalDPGroup]
	here := []ovsdb.Condition{ovsdb.Where("datapath", "==", d.Row.UUID)}
	queries := []*ovsdb.Query{{Rows: &ports, Where: here}, {Rows: &groups, Where: here}}
	if d.net.grouped() {
		queries = append(queries, &ovsdb.Query{Rows: &shared, Where: []ovsdb.Condition{
			ovsdb.Where("datapaths", "includes", []ovsdb.UUID{d.Row.UUID}),
		}})
	}
	if err := d.net.db.Select(ctx, queries...); err != nil {
		return nil, err
	}
	c := d.net.fill(d, ports, groups)
	c.owners = d.net.owners(d, shared)
	d.inside.Store(c)
	return c, nil
}

// fill makes the ports and multicast groups of a datapath of their rows.
func (n *Network) fill(d *Datapath, ports []sb.PortBinding, groups []sb.MulticastGroup) *contents {
	c := &contents{byKey: make(map[int]*Port, len(ports)), groups: make(map[int]*Group, len(groups))}
	byUUID := make(map[ovsdb.UUID]*Port, len(ports))
	for _, row := range ports {
		p := &Port{Row: row, Datapath: d}
		c.ports = append(c.ports, p)
		c.byKey[row.TunnelKey], byUUID[row.UUID] = p, p
		n.ports.Store(row.LogicalPort, p)
	}
	slices.SortFunc(c.ports, byName)
	for _, row := range groups {
		g := &Group{Row: row}
		for _, id := range row.Ports {
			if p := byUUID[id]; p != nil {
				g.Ports = append(g.Ports, p)
			}
		}
		slices.SortFunc(g.Ports, byName)
		c.groups[row.TunnelKey] = g
	}
	return c
}

// Ports are the ports of the datapath in the order of their names.
func (d *Datapath) Ports(ctx context.Context) ([]*Port, error) {
	c, err := d.contents(ctx)
	if err != nil {
		return nil, err
	}
	return c.ports, nil
}

// PortByKey returns the port with a key in this datapath, nil if there is none.
func (d *Datapath) PortByKey(ctx context.Context, key int) (*Port, error) {
	c, err := d.contents(ctx)
	if err != nil {
		return nil, err
	}
	return c.byKey[key], nil
}

// GroupByKey returns the multicast group with a key in this datapath, nil if there is none.
func (d *Datapath) GroupByKey(ctx context.Context, key int) (*Group, error) {
	c, err := d.contents(ctx)
	if err != nil {
		return nil, err
	}
	return c.groups[key], nil
}

// Groups are the multicast groups of the datapath in the order of their keys.
func (d *Datapath) Groups(ctx context.Context) ([]*Group, error) {
	c, err := d.contents(ctx)
	if err != nil {
		return nil, err
	}
	groups := make([]*Group, 0, len(c.groups))
	for _, g := range c.groups {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b *Group) int { return cmp.Compare(a.Row.TunnelKey, b.Row.TunnelKey) })
	return groups, nil
}

// Peer returns the port at the other end of a patch port, nil if there is none. Of a chassisredirect port that is the
// peer of the distributed port.
func (p *Port) Peer(ctx context.Context) (*Port, error) {
	name := p.Row.Options["peer"]
	if name == "" {
		return nil, nil
	}
	return p.Datapath.net.Port(ctx, name)
}

// String names the datapath for people: switch "node1".
func (d *Datapath) String() string {
	kind := "switch"
	if d.Router {
		kind = "router"
	}
	return fmt.Sprintf("%s %q", kind, d.Name)
}

// Bindings returns the rows of the ports of one type of all datapaths. It loads none of these datapaths.
func (n *Network) Bindings(ctx context.Context, kind string) ([]sb.PortBinding, error) {
	return ovsdb.Find[sb.PortBinding](ctx, n.db, ovsdb.Where("type", "==", kind))
}

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
