package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// ZoneOf returns the zone of a node; nil if it was not read. The only zone is that of any node not known to be in
// another.
func (c *Cluster) ZoneOf(n *Node) *Zone {
	if n.remote {
		return nil
	}
	if len(c.Zones) == 1 {
		return c.Zones[0]
	}
	for _, z := range c.Zones {
		if z.Name == n.Zone {
			return z
		}
	}
	return nil
}

// zonesTime is how many times as long as one zone all zones may take.
const zonesTime = 3

// namedZones is how many unreadable zones are named; of more, the number is.
const namedZones = 5

// OpenZones opens the zones of the named nodes, or of all nodes that can be reached, in parallel: each by the node's
// own databases, through the command prefix. A node whose zone cannot be opened is not read: it would be judged by
// databases that do not know it. A failure becomes a Problem. A zone is tried once.
func (c *Cluster) OpenZones(ctx context.Context, nodes ...*Node) {
	if len(nodes) == 0 {
		nodes = slices.Clone(c.Hosts)
		c.noteZones()
	}
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n *Node) bool { return n.way == nil })
	if len(nodes) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, zonesTime*c.timeout)
	defer cancel()
	var opens errgroup.Group
	opens.SetLimit(gatherers)
	zones := make([]*Zone, len(nodes))
	errs := make([]error, len(nodes))
	for i, n := range nodes {
		opens.Go(func() error {
			if ctx.Err() != nil {
				errs[i] = fmt.Errorf("not reached in time: %w", ctx.Err())
			} else {
				zones[i], errs[i] = c.openZone(ctx, n)
				if errs[i] == nil {
					errs[i] = zones[i].knows(n)
				}
			}
			return nil
		})
	}
	_ = opens.Wait()
	for i, n := range nodes {
		if errs[i] == nil {
			c.join(zones[i], n)
		}
	}
	var failed []*Node
	for i, n := range nodes {
		if n.way == nil { // it was reached, or is of a zone that was
			continue
		}
		node.Close(n.way)
		n.Host, n.way, n.failed = node.Unreachable(n.Name, errs[i]), nil, true
		if failed = append(failed, n); len(failed) <= namedZones {
			c.Problems = append(c.Problems, zoneProblem(n, errs[i]))
		}
	}
	if more := len(failed) - namedZones; more > 0 {
		c.Problems = append(c.Problems, Problem{What: fmt.Sprintf("the zones of %d more nodes", more), Err: errors.New("as those"), OtherZone: true})
	}
}

// join adds a zone that was opened from a node, with its nodes, unless it is open already.
func (c *Cluster) join(zone *Zone, from *Node) {
	for _, z := range c.Zones {
		if z.id != "" && z.id == zone.id {
			_ = zone.close()
			if from.way != nil {
				c.reached(from, z)
			}
			return
		}
	}
	if zone.Name == "" || slices.ContainsFunc(c.Zones, func(z *Zone) bool { return z.Name == zone.Name }) {
		zone.Name = from.Name
	}
	c.Zones = append(c.Zones, zone)
	for _, db := range []ovsdb.Reader{zone.NB, zone.SB} {
		if s, ok := db.(*node.Copy); ok {
			c.note(fmt.Sprintf("%s of zone %s was read at once, with ovsdb-client: node %s has none of socat, ncat, nc -U, python3 and perl", s.Name(), zone.Name, from.Name))
		}
	}
	if zone.NB == nil {
		c.note(fmt.Sprintf("no %s of zone %s: node %s names none and has no socket of it", northbound.name, zone.Name, from.Name))
	}
	for _, n := range chassisNodes(zone, zone.Chassis) {
		known := c.Node(n.SystemID)
		if known == nil {
			known = c.listed(n.hostname)
		}
		switch {
		case n.remote:
		case known == nil: // the other zones know the gateways only
			n.Host, n.far = otherHost(c.config, n.Name, n.hostname)
			c.keepHost(n)
			c.Hosts = append(c.Hosts, n)
		case known.way != nil:
			known.SystemID = n.SystemID
			c.reached(known, zone)
		}
	}
}

// listed returns the node with a hostname of which nothing is known but that it is there; nil if there is none.
func (c *Cluster) listed(hostname string) *Node {
	for _, n := range c.Hosts {
		if n.SystemID == "" && n.way != nil && sameHost(n.hostname, hostname) {
			return n
		}
	}
	return nil
}

// sameHost reports whether two names are of one host: one may lack the domain.
func sameHost(a, b string) bool {
	return a != "" && b != "" && (a == b || strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+"."))
}

// reached makes a node one of a zone that was read.
func (c *Cluster) reached(n *Node, zone *Zone) {
	n.Zone, n.Host = zone.Name, n.way
	n.way, n.far, n.remote = nil, false, false
	c.keepHost(n)
}

// close closes a zone's databases.
func (z *Zone) close() error {
	var errs []error
	for _, db := range []ovsdb.Reader{z.NB, z.SB} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// again returns the zone for a second sample. A database that was read at once is not part of that: its rows are those
// of the first.
func (z *Zone) again() *Zone {
	second := *z
	for _, db := range []*ovsdb.Reader{&second.NB, &second.SB} {
		if _, copied := (*db).(*node.Copy); copied {
			*db = nil
		}
	}
	return &second
}

// noteZones notes whose zones are out of reach.
func (c *Cluster) noteZones() {
	var names []string
	for _, n := range c.Hosts {
		if n.remote && n.way == nil && !n.failed && !n.vtep {
			names = append(names, n.Name)
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	if more := len(names) - namedZones; more > 0 {
		names = append(names[:namedZones], fmt.Sprintf("%d more", more))
	}
	c.note(fmt.Sprintf("zones of nodes %s not read, nor the nodes: give --via ssh or --node-exec 'PREFIX {hostname}' to reach them, or run ovnctl there", strings.Join(names, ", ")))
}

func zoneProblem(n *Node, err error) Problem {
	p := Problem{What: "the zone of node " + n.Name, Node: n.Name, Err: err, OtherZone: true}
	if e, ok := errors.AsType[*ovsdb.Error](err); ok {
		p.Where, p.Err, p.Next = e.Remote, fmt.Errorf("%s: %w", e.Database, e.Err), e.Hint
	}
	if p.Next == "" {
		p.Next = hintOf(err)
	}
	if p.Next == "" {
		p.Next = "try the command of --node-exec by hand with sh at its end, or give it more time with -t"
	}
	return p
}

// openZone opens the databases that serve a node of another zone, on that node.
func (c *Cluster) openZone(ctx context.Context, n *Node) (*Zone, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*c.timeout)
	defer cancel()
	found, err := node.FindDatabases(ctx, n.way)
	if err != nil {
		return nil, err
	}
	if found.SB == "" {
		return nil, fmt.Errorf("node %s: it names no OVN_Southbound and has no socket of one", n.Name)
	}
	north := start(func() opened { return c.openFound(ctx, found, northbound.name, found.NB) })
	south := c.openFound(ctx, found, southbound.name, found.SB)
	z := &Zone{NB: north().db, SB: south.db, via: n}
	err = cmp.Or(south.err, north().err)
	if err == nil {
		err = z.identify(ctx)
	}
	if err != nil {
		_ = z.close()
		return nil, err
	}
	return z, nil
}

// knows returns an error, and closes the zone, if a node is not one of its chassis.
func (z *Zone) knows(n *Node) error {
	for _, r := range z.Chassis {
		if !isRemote(r) && (r.Name == n.SystemID || n.SystemID == "" && sameHost(r.Hostname, n.hostname)) {
			return nil
		}
	}
	_ = z.close()
	return fmt.Errorf("the Southbound at %s is not that of chassis %s (%s): does the command prefix lead to node %s?", z.SB.Origin(), n.SystemID, n.Name, n.Name)
}

// An opened database, or why it is not.
type opened struct {
	db  ovsdb.Reader
	err error
}

func (c *Cluster) openFound(ctx context.Context, found *node.Databases, name, remotes string) opened {
	if remotes == "" {
		return opened{}
	}
	config := ovsdb.Config{DB: name, Remotes: remotes, MaxReply: c.config.MaxReply}
	if needsTLS(remotes) {
		config.TLS = c.identity()
	}
	db, err := found.Open(ctx, config)
	if err != nil {
		return opened{err: err}
	}
	return opened{db: db}
}

// identify reads which zone it is.
func (z *Zone) identify(ctx context.Context) error {
	var south struct {
		Global  []ovsdb.Key[sb.Global]
		Chassis []sb.ChassisIdentity
	}
	if err := ovsdb.Load(ctx, z.SB, &south); err != nil {
		return err
	}
	z.Chassis = south.Chassis
	if len(south.Global) > 0 {
		z.id = south.Global[0].UUID
	}
	if z.NB == nil {
		return nil
	}
	north, err := ovsdb.Find[nb.GlobalName](ctx, z.NB)
	if err == nil && len(north) > 0 {
		z.Name = north[0].Name
	}
	return err
}

// isRemote reports whether a chassis is another zone's.
func isRemote(r sb.ChassisIdentity) bool { return r.OtherConfig["is-remote"] == "true" }
