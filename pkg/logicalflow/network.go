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

// A Network is one zone's logical network.
type Network struct {
	db      ovsdb.Reader
	version release.Series

	datapaths []*Datapath
	byUUID    map[ovsdb.UUID]*Datapath
	chassis   map[ovsdb.UUID]*Chassis

	loader
	all    all
	ports  sync.Map // name to *Port; nil if not found
	memory memory
}

// A Chassis is a node with its tunnel endpoints.
type Chassis struct {
	Row    sb.Chassis
	Encaps []sb.Encap // ordered by type and address
}

// A Datapath is a logical switch or router.
type Datapath struct {
	Row    sb.DatapathBinding
	NBUUID ovsdb.UUID // of its Northbound row; empty if unknown
	Name   string     // of the switch or router, else the row's UUID
	Name2  string     // the CMS's own name, often empty
	Router bool

	net    *Network
	mu     sync.Mutex // held while the contents are read
	inside atomic.Pointer[contents]
	views  [2][maxTables]atomic.Pointer[view]
}

// contents is a datapath besides its flows.
type contents struct {
	ports  []*Port // ordered by name
	byKey  map[int]*Port
	groups map[int]*Group
	owners []*owner
}

// Key is the datapath's number in packets and tunnels.
func (d *Datapath) Key() int { return d.Row.TunnelKey }

// A Port is a logical port.
type Port struct {
	Row      sb.PortBinding
	Datapath *Datapath
}

// Key is the port's number in packets of its datapath.
func (p *Port) Key() int { return p.Row.TunnelKey }

// Name is the port's name.
func (p *Port) Name() string { return p.Row.LogicalPort }

// A Group is a datapath's multicast group.
type Group struct {
	Row   sb.MulticastGroup
	Ports []*Port // ordered by name
}

// Open reads what every lookup needs: the datapaths, the chassis and ovn-northd's release.
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
		n.version, _ = release.ParseSeries(g.Options["northd_internal_version"]) // if unknown, all releases are meant
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

// Version is the release of ovn-northd that wrote the flows; zero if unknown.
func (n *Network) Version() release.Series { return n.version }

// Datapaths returns all datapaths, ordered by name.
func (n *Network) Datapaths() []*Datapath { return n.datapaths }

// Datapath returns the datapath of a row, nil if not found.
func (n *Network) Datapath(id ovsdb.UUID) *Datapath { return n.byUUID[id] }

// Chassis returns the chassis of a row, nil if not found.
func (n *Network) Chassis(id ovsdb.UUID) *Chassis { return n.chassis[id] }

// ChassisByName returns the chassis with a system-id, nil if not found.
func (n *Network) ChassisByName(name string) *Chassis {
	for _, c := range n.chassis {
		if c.Row.Name == name {
			return c
		}
	}
	return nil
}

// Port returns the port with that name, nil if not found.
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

// contents reads the datapath's ports and multicast groups, and the datapath groups it is in.
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

// fill builds a datapath's ports and multicast groups from their rows.
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

// Ports returns the datapath's ports, ordered by name.
func (d *Datapath) Ports(ctx context.Context) ([]*Port, error) {
	c, err := d.contents(ctx)
	if err != nil {
		return nil, err
	}
	return c.ports, nil
}

// PortByKey returns the port with a key in this datapath, nil if not found.
func (d *Datapath) PortByKey(ctx context.Context, key int) (*Port, error) {
	c, err := d.contents(ctx)
	if err != nil {
		return nil, err
	}
	return c.byKey[key], nil
}

// GroupByKey returns the multicast group with a key in this datapath, nil if not found.
func (d *Datapath) GroupByKey(ctx context.Context, key int) (*Group, error) {
	c, err := d.contents(ctx)
	if err != nil {
		return nil, err
	}
	return c.groups[key], nil
}

// Groups returns the datapath's multicast groups, ordered by key.
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

// Peer returns the port at the other end of a patch port, nil if none. For a chassisredirect port it is the distributed
// port's peer.
func (p *Port) Peer(ctx context.Context) (*Port, error) {
	name := p.Row.Options["peer"]
	if name == "" {
		return nil, nil
	}
	return p.Datapath.net.Port(ctx, name)
}

// String returns a readable name: switch "node1".
func (d *Datapath) String() string {
	kind := "switch"
	if d.Router {
		kind = "router"
	}
	return fmt.Sprintf("%s %q", kind, d.Name)
}

// Bindings returns the port rows of one type in all datapaths, without loading the datapaths.
func (n *Network) Bindings(ctx context.Context, kind string) ([]sb.PortBinding, error) {
	return ovsdb.Find[sb.PortBinding](ctx, n.db, ovsdb.Where("type", "==", kind))
}

// CountFlows is the number of logical flows in the whole Southbound. The server must list them all, once: avoid it on
// large ones.
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
