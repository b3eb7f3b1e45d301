package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// system is what the local Open_vSwitch database says of its host.
type system struct {
	Rows []vswitch.OpenvSwitchIDs
	SSL  []vswitch.SSLFiles
}

func (s *system) id(key string) string {
	if len(s.Rows) == 0 {
		return ""
	}
	return s.Rows[0].ExternalIDs[key]
}

// A database is a reader, or why there is none, with its rows that tell what belongs to the deployment.
type database[T ovsdb.Row] struct {
	reader  ovsdb.Reader
	rows    []T
	problem *Problem
	note    string
}

// openLive opens Northbound, Southbound and the local node in parallel, then the other zones. The first two wait for
// the third only to learn where they are.
func (c *Cluster) openLive(parent context.Context, config Config) error {
	ctx, cancel := context.WithTimeout(parent, config.Timeout)
	defer cancel()
	f := &finder{Config: config}
	local := start(func() *localNode { return openLocal(ctx, f) })
	north := start(func() database[nb.GlobalName] { return openDB[nb.GlobalName](ctx, f, northbound, local) })
	south := start(func() database[sb.ChassisIdentity] { return openDB[sb.ChassisIdentity](ctx, f, southbound, local) })

	zone := &Zone{NB: north().reader, SB: south().reader, Chassis: south().rows}
	if global := north().rows; len(global) > 0 {
		zone.Name = global[0].Name
	}
	c.Zones = []*Zone{zone}
	for _, p := range []*Problem{north().problem, south().problem, local().problem} {
		if p != nil {
			c.Problems = append(c.Problems, *p)
		}
	}
	for _, note := range []string{north().note, south().note} {
		if note != "" {
			c.note(note)
		}
	}
	c.addHosts(ctx, config, zone, south().rows, local())
	c.config = config
	c.identity = sync.OnceValue(func() ovsdb.TLSFiles {
		if config.TLS != (ovsdb.TLSFiles{}) {
			return config.TLS
		}
		return f.tls(local())
	})
	if !config.OwnZone {
		c.OpenZones(parent)
	}
	return nil
}

// start runs f in the background and returns a function that waits for its result.
func start[T any](f func() T) func() T {
	result := make(chan T, 1)
	go func() { result <- f() }()
	return sync.OnceValue(func() T { return <-result })
}

// A localNode is the host ovnctl runs on, as far as its Open_vSwitch could be read. host is nil if there is none
// here.
type localNode struct {
	host    func(name string) node.Host
	root    string // for file names in its database
	vswitch ovsdb.Reader
	system  system
	problem *Problem
}

func openLocal(ctx context.Context, f *finder) *localNode {
	place, found := f.vswitch()
	if !found {
		return &localNode{}
	}
	l := &localNode{root: place.root, host: func(name string) node.Host {
		if place.far {
			return node.VswitchOnly(name, place.remote, f.TLS, f.Timeout)
		}
		return node.Local(node.LocalConfig{
			Name:      name,
			HostRoot:  f.HostRoot,
			OVSRunDir: place.dir,
			OVNRunDir: f.ovnDir(),
			OVS:       place.remote,
			TLS:       f.TLS,
			Timeout:   f.Timeout,
			Getenv:    os.Getenv,
		})
	}}
	// Northbound and Southbound may have to wait for this one: leave them half the time.
	ctx, cancel := context.WithTimeout(ctx, f.Timeout/2)
	defer cancel()
	db, err := l.host("local").Vswitch(ctx)
	if err == nil {
		if err = ovsdb.Load(ctx, db, &l.system); err != nil {
			_ = db.Close()
		}
	}
	if err != nil {
		p := problem("Open_vSwitch", place.remote, err)
		l.problem = &p
		return l
	}
	l.vswitch = db
	return l
}

func openDB[T ovsdb.Row](ctx context.Context, f *finder, which central, local func() *localNode) (d database[T]) {
	fail := func(remote string, err error) database[T] {
		p := problem(which.name, remote, err)
		d.problem = &p
		return d
	}
	remote := f.remote(which, func() *system { return &local().system })
	if remote == "" {
		d.note = fmt.Sprintf("no %s: none was named with %s and none is found here", which.name, which.flag)
		return d
	}
	tls := f.TLS
	if needsTLS(remote) && tls == (ovsdb.TLSFiles{}) {
		tls = f.tls(local())
	}
	client, err := ovsdb.Dial(ctx, ovsdb.Config{DB: which.name, Remotes: remote, TLS: tls, Timeout: f.Timeout, MaxReply: f.MaxReply})
	if err != nil {
		return fail(remote, err)
	}
	d.reader = client
	if s := client.Status(); s.Stale {
		d.note = fmt.Sprintf("%s at %s is cut off from its cluster: rows may be old", which.name, client.Origin())
	} else if s.Clustered && !s.Leader && !f.NoLeaderOnly {
		d.note = fmt.Sprintf("%s read from a follower, %s: rows may lag behind the leader", which.name, client.Origin())
	}
	if d.rows, err = ovsdb.Find[T](ctx, client); err != nil {
		return fail(client.Origin(), err)
	}
	return d
}

// addHosts adds the nodes of a zone's chassis and the local node.
func (c *Cluster) addHosts(ctx context.Context, config Config, zone *Zone, rows []sb.ChassisIdentity, local *localNode) {
	self := local.system.id("system-id")
	if self == "" && local.problem != nil {
		self, _ = (&finder{Config: config}).inactive(ctx)
	}
	var here *Node
	for _, n := range chassisNodes(zone, rows) {
		if here == nil && local.host != nil && self != "" && n.SystemID == self {
			here = n
		} else if n.vtep {
			n.Host, n.far = node.Unreachable(n.Name, errors.New("it is a hardware VTEP")), true
		} else if n.Host, n.far = otherHost(config, n.Name, n.hostname); n.remote && !n.far {
			n.Host, n.far, n.way = node.Unreachable(n.Name, errors.New("its zone was not opened")), true, n.Host
		}
		c.Hosts = append(c.Hosts, n)
	}
	if local.host == nil {
		c.addCentral(ctx, &finder{Config: config}, zone, rows)
		return
	}
	if here == nil {
		here = &Node{Name: localName(local), SystemID: self, Zone: zone.Name}
		if c.Node(here.Name) != nil {
			here.Name = cmp.Or(self, here.Name+" (local)")
		}
		c.Hosts = append(c.Hosts, here)
	}
	here.Local, here.failed = true, local.problem != nil
	here.opened(local.vswitch)
	here.Host = local.host(here.Name)
	if len(local.system.Rows) > 0 {
		here.ExternalIDs = local.system.Rows[0].ExternalIDs
	}
}

// addCentral adds the host if it runs databases without an Open vSwitch, or its Open vSwitch is down and left only
// its database file.
func (c *Cluster) addCentral(ctx context.Context, f *finder, zone *Zone, rows []sb.ChassisIdentity) {
	dir := f.central()
	id, inactive := f.inactive(ctx)
	if dir == "" && !inactive {
		return
	}
	if dir == "" {
		dir = f.ovnDir()
	}
	name, _ := os.Hostname()
	name = cmp.Or(name, "local")
	if inactive {
		for _, r := range rows {
			if r.Name == id || id == "" && r.Hostname == name {
				name, id = cmp.Or(r.Hostname, r.Name), r.Name
			}
		}
	} else if c.Node(name) != nil {
		name += " (central)"
	}
	host := node.Local(node.LocalConfig{Name: name, HostRoot: f.HostRoot, OVNRunDir: dir, Timeout: f.Timeout, Getenv: os.Getenv})
	c.Central = &Node{Name: name, SystemID: id, Zone: zone.Name, Local: true, Host: host, failed: true}
	c.Inactive = inactive
}

// chassisNodes returns the nodes of a zone's chassis, without their hosts. The zone of a remote chassis is unknown.
func chassisNodes(zone *Zone, rows []sb.ChassisIdentity) []*Node {
	hostnames := map[string]int{}
	for _, r := range rows {
		hostnames[r.Hostname]++
	}
	var nodes []*Node
	for _, r := range rows {
		n := &Node{Name: r.Hostname, SystemID: r.Name, Zone: zone.Name, hostname: r.Hostname, vtep: r.VTEP()}
		if n.remote = isRemote(r); n.remote {
			n.Zone = ""
		}
		if n.Name == "" || hostnames[r.Hostname] > 1 {
			n.Name = r.Name
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// otherHost returns how to read a node other than the local one; far means there is no way to reach it.
func otherHost(config Config, name, hostname string) (h node.Host, far bool) {
	if config.Way == nil {
		return node.Unreachable(name, errors.New("it is another host")), true
	}
	h, err := config.Way.Host(name, hostname, config.Timeout)
	if err != nil {
		return node.Unreachable(name, err), false
	}
	node.ShelveOn(h, config.shelf)
	node.AnsweredBy(h, config.Version)
	if config.DatabasesOnly {
		node.DatabaseFirst(h)
	}
	return h, false
}

func localName(l *localNode) string {
	hostname, _ := os.Hostname()
	return cmp.Or(l.system.id("hostname"), hostname, "local")
}
