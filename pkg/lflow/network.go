package lflow

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/expr"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// A Network is the logical network of one zone.
type Network struct {
	db      ovsdb.Reader
	version expr.Version

	datapaths []*Datapath
	byUUID    map[ovsdb.UUID]*Datapath
	byKey     map[int]*Datapath
	chassis   map[ovsdb.UUID]*Chassis

	mu     sync.Mutex
	ports  map[string]*Port // by name; nil for a name that no port has
	groups []sb.LogicalDPGroup
	flows  map[ovsdb.UUID]flowSet // by datapath or group
	sets   sets
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
	ports  []*Port // in the order of their names; nil until they are read
	byKey  map[int]*Port
	groups map[int]*Group
	owners []ovsdb.UUID // the datapath, and the groups it is in; nil until they are known
	loaded bool
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
	n := &Network{
		db: southbound, byUUID: map[ovsdb.UUID]*Datapath{}, byKey: map[int]*Datapath{}, chassis: map[ovsdb.UUID]*Chassis{},
		ports: map[string]*Port{}, flows: map[ovsdb.UUID]flowSet{},
	}
	n.sets.net = n
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
		n.version, _ = expr.ParseVersion(g.Options["northd_internal_version"]) // without one all releases are meant
	}
	for _, row := range rows.Datapaths {
		d := newDatapath(n, row)
		n.datapaths = append(n.datapaths, d)
		n.byUUID[row.UUID], n.byKey[row.TunnelKey] = d, d
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
func (n *Network) Version() expr.Version { return n.version }

// Datapaths are all datapaths in the order of their names.
func (n *Network) Datapaths() []*Datapath { return n.datapaths }

// Datapath returns the datapath of a row, nil if there is none.
func (n *Network) Datapath(id ovsdb.UUID) *Datapath { return n.byUUID[id] }

// DatapathByKey returns the datapath with a tunnel key, nil if there is none.
func (n *Network) DatapathByKey(key int) *Datapath { return n.byKey[key] }

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
	n.mu.Lock()
	defer n.mu.Unlock()
	if p, ok := n.ports[name]; ok {
		return p, nil
	}
	rows, err := ovsdb.Find[sb.PortBinding](ctx, n.db, ovsdb.Where("logical_port", "==", name))
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		if d := n.byUUID[row.Datapath]; d != nil {
			if err := n.loadPorts(ctx, d); err != nil {
				return nil, err
			}
		}
	}
	p := n.ports[name]
	n.ports[name] = p
	return p, nil
}

// loadPorts reads the ports and multicast groups of a datapath.
func (n *Network) loadPorts(ctx context.Context, d *Datapath) error {
	if d.byKey != nil {
		return nil
	}
	var ports []sb.PortBinding
	var groups []sb.MulticastGroup
	here := []ovsdb.Condition{ovsdb.Where("datapath", "==", d.Row.UUID)}
	if err := n.db.Select(ctx, &ovsdb.Query{Rows: &ports, Where: here}, &ovsdb.Query{Rows: &groups, Where: here}); err != nil {
		return err
	}
	d.byKey, d.groups = make(map[int]*Port, len(ports)), make(map[int]*Group, len(groups))
	byUUID := make(map[ovsdb.UUID]*Port, len(ports))
	for _, row := range ports {
		p := &Port{Row: row, Datapath: d}
		d.ports = append(d.ports, p)
		d.byKey[row.TunnelKey], byUUID[row.UUID], n.ports[row.LogicalPort] = p, p, p
	}
	byName := func(a, b *Port) int { return strings.Compare(a.Name(), b.Name()) }
	slices.SortFunc(d.ports, byName)
	for _, row := range groups {
		g := &Group{Row: row}
		for _, id := range row.Ports {
			if p := byUUID[id]; p != nil {
				g.Ports = append(g.Ports, p)
			}
		}
		slices.SortFunc(g.Ports, byName)
		d.groups[row.TunnelKey] = g
	}
	return nil
}

// Ports are the ports of the datapath in the order of their names.
func (d *Datapath) Ports(ctx context.Context) ([]*Port, error) {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	err := d.net.loadPorts(ctx, d)
	return d.ports, err
}

// PortByKey returns the port with a key in this datapath, nil if there is none.
func (d *Datapath) PortByKey(ctx context.Context, key int) (*Port, error) {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	err := d.net.loadPorts(ctx, d)
	return d.byKey[key], err
}

// GroupByKey returns the multicast group with a key in this datapath, nil if there is none.
func (d *Datapath) GroupByKey(ctx context.Context, key int) (*Group, error) {
	d.net.mu.Lock()
	defer d.net.mu.Unlock()
	err := d.net.loadPorts(ctx, d)
	return d.groups[key], err
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
