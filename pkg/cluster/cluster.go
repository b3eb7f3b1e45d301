package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// Config says what to open. The zero Config opens the deployment that this host is part of.
type Config struct {
	NB  string // remotes of OVN_Northbound, comma-separated, ovsdb(7)
	SB  string // remotes of OVN_Southbound
	OVS string // remotes of the local Open_vSwitch

	TLS ovsdb.TLSFiles
	// NoLeaderOnly omits the note that rows are from a cluster's follower. Reads accept them either way.
	NoLeaderOnly bool

	Offline  string        // directory, capture, archive or database file to read instead of anything live
	Saved    *archive.Tree // what Offline would open, if already open: the Cluster closes it
	Way      node.Way      // to other nodes; nil: there is none
	Version  string        // of this program; an ovnctl of the same version on another node answers for it, see [node.AnsweredBy]
	OwnZone  bool          // leave the zones of other nodes closed until OpenZones
	HostRoot string        // the host's root as seen from a debug container
	// DatabasesOnly reads the databases of the nodes without the rest of their state, until somebody asks for it.
	DatabasesOnly bool
	Alone         bool          // accept a host that ran a database of OVN or Open vSwitch though none can be read, to see what is wrong with it
	Timeout       time.Duration // for opening all this, and per request; default 5 s
	Record        string        // directory for the nodes' replies
	MaxReply      int           // bytes of one reply of a database; 0 for the default

	shelf *node.Shelf // of the Cluster that is opened: what its nodes on other hosts print
}

// A Cluster is an open deployment.
type Cluster struct {
	Zones    []*Zone
	Hosts    []*Node   // sorted by name
	Central  *Node     // the host ovnctl runs on, if it has OVN's databases and no Open vSwitch; else nil
	Inactive bool      // Central has an Open vSwitch that does not run: only its files are left
	Problems []Problem // what was named or is on this host, and could not be read
	Notes    []string  // about the sources

	config   Config                  // of a live deployment, completed
	identity func() ovsdb.TLSFiles   // of this host, for what needs TLS: finding it takes a look at all processes
	keeper   func(*Node) node.Keeper // of a recording; nil: there is none
	time     time.Time
	timeout  time.Duration
	close    []func() error
	snapshot bool // offline
	captured bool // offline, from a finished capture

	mu sync.Mutex // guards Problems and Notes during Gather
}

// A Zone is a Northbound and a Southbound database. One that could not be read
// is nil.
type Zone struct {
	Name   string // NB_Global.name; often empty
	NB, SB ovsdb.Reader
	// Chassis holds the rows of a live Southbound as of opening it, to show what was written since.
	Chassis []sb.ChassisIdentity

	id  ovsdb.UUID // of its SB_Global; empty if unknown
	via *Node      // on which it was opened; nil: from here
}

// A Node is a chassis, or the local host without OVN.
type Node struct {
	Name     string // Chassis.hostname if unique, else Chassis.name
	SystemID string // Chassis.name
	Zone     string // Zone.Name; also empty if the node's zone was not read
	Local    bool   // this is the host ovnctl runs on
	// Host reads all beyond Vswitch and is never nil. That of an unreadable node returns why.
	Host node.Host
	// ExternalIDs are the local node's, from Open_vSwitch, as of opening it.
	ExternalIDs map[string]string

	hostname string    // Chassis.hostname
	remote   bool      // its zone was not read: it is known only as a chassis of another
	way      node.Host // behind the command prefix, while its zone has not been tried
	vtep     bool      // a hardware switch, not queried
	far      bool      // nothing says how to reach it
	failed   bool      // reading it failed; Problems says why

	gathering sync.Mutex // guards failed, and is held while the database is opened
	vswitch   atomic.Pointer[ovsdb.Reader]
}

// Vswitch returns the node's Open_vSwitch database; nil until Cluster.Gather has opened it. The local node's is open at
// once. It is safe to call while another goroutine gathers.
func (n *Node) Vswitch() ovsdb.Reader {
	if db := n.vswitch.Load(); db != nil {
		return *db
	}
	return nil
}

// opened sets the node's database, which may be nil.
func (n *Node) opened(db ovsdb.Reader) {
	if db != nil {
		n.vswitch.Store(&db)
	}
}

// Hostname returns the name by which a command prefix reaches the node; empty if unknown.
func (n *Node) Hostname() string { return n.hostname }

// Far reports whether there is nothing to read the node from: no way to reach it, and no saved data.
func (n *Node) Far() bool { return n.far && n.Vswitch() == nil }

// TLVMap returns the tunnel options of a bridge, as ovs-ofctl dump-tlv-map prints them.
func (n *Node) TLVMap(ctx context.Context, bridge string) (string, error) {
	return n.Host.Dump(ctx, bridge, node.TLVMap)
}

// ControllerVersion returns ovn-controller's reply to the command version; empty if there is none within two seconds:
// a hung controller must not hold up the rest.
func (n *Node) ControllerVersion(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	text, _ := n.Host.Control(ctx, "ovn-controller", "version")
	return text
}

// EachZone calls f with the databases of each zone; those that could not be read are nil.
func (c *Cluster) EachZone(f func(name string, north, south ovsdb.Reader)) {
	for _, z := range c.Zones {
		f(z.Name, z.NB, z.SB)
	}
}

// EachNode calls f with the database of each node whose database is open.
func (c *Cluster) EachNode(f func(name, zone string, vswitch ovsdb.Reader)) {
	for _, n := range c.Hosts {
		if db := n.Vswitch(); db != nil {
			f(n.Name, n.Zone, db)
		}
	}
}

// A Problem is a source that could not be read.
type Problem struct {
	What  string // "OVN_Southbound", "node node2"
	Node  string // name of the node; empty for a database
	Where string // "unix:/run/ovn/ovnsb_db.sock"; empty if that is the trouble
	Err   error
	Next  string // what to try: no period at the end
	// OtherZone means that it is no part of this host's zone: a question that does not lead there is answered all the same.
	OtherZone bool
}

// Error returns p in one line without Next.
func (p Problem) Error() string {
	reason := strings.TrimPrefix(p.Err.Error(), p.What+": ")
	if p.Where == "" || strings.Contains(reason, p.Where) {
		return fmt.Sprintf("cannot read %s: %s", p.What, reason)
	}
	return fmt.Sprintf("cannot read %s at %s: %s", p.What, p.Where, reason)
}

// Unwrap returns it.
func (p Problem) Unwrap() error { return p.Err }

// Source is what was read and when, the "source" of every JSON document.
type Source struct {
	NB    string   `json:"nb,omitempty"` // origin of the Northbound rows, comma-separated by zone
	SB    string   `json:"sb,omitempty"`
	Nodes []string `json:"nodes"` // the nodes that were read, by name
	Time  string   `json:"time"`  // RFC 3339, UTC; for saved data, when it was saved
	Stale bool     `json:"stale"` // a database is cut off from its cluster

	// Simulated are the nodes on a packet's path that were simulated from their flows.
	Simulated []string `json:"simulated,omitempty"`
}

const defaultTimeout = 5 * time.Second

// Open opens what the Config names and what it finds. What cannot be read is in Problems; Open fails only if nothing
// can. The caller closes the Cluster.
func Open(ctx context.Context, config Config) (*Cluster, error) {
	if config.Timeout <= 0 {
		config.Timeout = defaultTimeout
	}
	config.shelf = &node.Shelf{}
	c := &Cluster{time: time.Now(), timeout: config.Timeout, close: []func() error{config.shelf.Close}}
	open := c.openLive
	if config.Offline != "" || config.Saved != nil {
		open = c.openOffline
	} else if _, listed := config.Way.(node.Lister); listed && config.NB == "" && config.SB == "" && config.OVS == "" {
		open = c.openListed
	}
	if err := open(ctx, config); err != nil {
		_ = c.Close()
		return nil, err
	}
	if config.Record != "" {
		c.record(ctx, func(n *Node) node.Keeper {
			return archive.Directory(filepath.Join(config.Record, archive.SafeName(n.Name)))
		})
	}
	slices.SortFunc(c.Hosts, func(a, b *Node) int { return strings.Compare(a.Name, b.Name) })
	if err := c.nothing(config); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// nothing returns an error if no part of a Cluster can be read.
func (c *Cluster) nothing(config Config) error {
	for _, z := range c.Zones {
		if z.NB != nil || z.SB != nil {
			return nil
		}
	}
	for _, n := range c.Hosts {
		if n.Vswitch() != nil || c.snapshot {
			return nil
		}
	}
	// A local node that nobody named was found by what Open vSwitch left in its run directory.
	traces := config.OVS == "" && slices.ContainsFunc(c.Hosts, func(n *Node) bool { return n.Local })
	if config.Alone && (c.Central != nil || traces) {
		return nil
	}
	if len(c.Problems) == 0 {
		return errors.New("no OVN or Open vSwitch database was named and none is found here\nhint: give --nb, --sb or --ovs, or --offline DIR; to try without OVN: ovnctl --offline demo topology, and ovnctl demo")
	}
	var errs []error
	for _, p := range c.Problems {
		errs = append(errs, p)
	}
	for i, p := range c.Problems { // the next steps, each once
		said := func(q Problem) bool { return q.Next == p.Next }
		if p.Next != "" && !slices.ContainsFunc(c.Problems[:i], said) {
			errs = append(errs, errors.New("hint: "+p.Next))
		}
	}
	return errors.Join(errs...)
}

// damaged returns the Problem of a partly read database; nil if it was read whole.
func damaged(what string, db ovsdb.Reader) *Problem {
	s, ok := db.(*ovsdb.Snapshot)
	if !ok || s.Damage() == "" {
		return nil
	}
	return &Problem{What: "all of " + what, Where: s.Origin(), Err: errors.New(s.Damage()), Next: saveAgain}
}

const saveAgain = "save it again with ovsdb-client backup"

// Close closes all connections. It returns why a recording is incomplete.
func (c *Cluster) Close() error {
	var errs []error
	for _, z := range c.Zones {
		errs = append(errs, z.close())
	}
	for _, n := range c.Hosts {
		if n.Vswitch() != nil {
			errs = append(errs, n.Vswitch().Close())
		}
		node.Close(n.Host)
		if n.way != nil {
			node.Close(n.way)
		}
	}
	for _, f := range c.close {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// record starts recording all hosts, each with its own keeper.
func (c *Cluster) record(ctx context.Context, keeper func(*Node) node.Keeper) {
	c.keeper = keeper
	for _, n := range c.all() {
		c.keepHost(n)
		if n.Vswitch() == nil {
			continue
		}
		// The local one was already open: open it again, recorded.
		if db, err := n.Host.Vswitch(ctx); err == nil {
			c.close = append(c.close, n.Vswitch().Close)
			n.opened(db)
		}
	}
}

// keepHost starts recording a host if others are.
func (c *Cluster) keepHost(n *Node) {
	if c.keeper != nil {
		n.Host = node.Recorder(n.Host, c.keeper(n))
		c.close = append(c.close, func() error { return node.RecordingError(n.Host) })
	}
}

// VTEP reports whether the chassis is a hardware switch, which is not queried.
func (n *Node) VTEP() bool { return n.vtep }

// all returns all hosts, including one that only runs databases.
func (c *Cluster) all() []*Node {
	if c.Central == nil {
		return c.Hosts
	}
	return append(slices.Clone(c.Hosts), c.Central)
}

// Source returns what was read so far.
func (c *Cluster) Source() Source {
	s := Source{Nodes: []string{}, Time: c.time.UTC().Format(time.RFC3339)}
	var nb, sb []string
	for _, z := range c.Zones {
		if z.NB != nil {
			nb, s.Stale = append(nb, z.NB.Origin()), s.Stale || z.NB.Status().Stale
		}
		if z.SB != nil {
			sb, s.Stale = append(sb, z.SB.Origin()), s.Stale || z.SB.Status().Stale
		}
	}
	s.NB, s.SB = strings.Join(nb, ","), strings.Join(sb, ",")
	for _, n := range c.Hosts {
		if n.Vswitch() != nil {
			s.Nodes = append(s.Nodes, n.Name)
		}
	}
	return s
}

// Node returns the node with that name, hostname or system-id, or nil.
func (c *Cluster) Node(name string) *Node {
	for _, n := range c.Hosts {
		if n.Name == name || n.SystemID != "" && n.SystemID == name {
			return n
		}
	}
	return nil
}

// Drop forgets nodes, which are not read any more.
func (c *Cluster) Drop(nodes ...*Node) {
	c.Hosts = slices.DeleteFunc(c.Hosts, func(n *Node) bool {
		if !slices.Contains(nodes, n) {
			return false
		}
		if db := n.Vswitch(); db != nil {
			c.close = append(c.close, db.Close)
		}
		c.close = append(c.close, func() error {
			node.Close(n.Host)
			return nil
		})
		return true
	})
}

// DropSilent leaves out the databases whose servers do not reply now. Why is among the Problems. Else each read waits for them.
func (c *Cluster) DropSilent(ctx context.Context) {
	var asked sync.WaitGroup
	for _, z := range c.Zones {
		for _, db := range []*ovsdb.Reader{&z.NB, &z.SB} {
			client, ok := (*db).(*ovsdb.Client)
			if !ok {
				continue
			}
			asked.Go(func() {
				err := client.Alive(ctx)
				if err == nil || ctx.Err() != nil {
					return
				}
				*db = nil
				c.mu.Lock()
				defer c.mu.Unlock()
				c.Problems = append(c.Problems, problem(client.Name(), client.Origin(), err))
			})
		}
	}
	asked.Wait()
}

// gatherers bounds the nodes that are read in parallel.
const gatherers = 16

// Gather opens the Open_vSwitch databases of the named nodes, or of all nodes that can be reached, in parallel. A
// failure becomes a Problem. A node is tried once, however often it is named. A question about two nodes of many
// names only those two.
func (c *Cluster) Gather(ctx context.Context, nodes ...*Node) {
	all := len(nodes) == 0
	if all {
		nodes = c.Hosts
		c.noteFar()
	}
	var reads errgroup.Group
	reads.SetLimit(gatherers)
	errs := make([]error, len(nodes))
	for i, n := range nodes {
		if all && n.far || slices.Index(nodes, n) < i {
			continue
		}
		reads.Go(func() error {
			errs[i] = n.gather(ctx, !c.snapshot && c.keeper == nil)
			return nil
		})
	}
	_ = reads.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, n := range nodes {
		if errs[i] != nil {
			c.Problems = append(c.Problems, c.nodeProblem(n, errs[i]))
		}
	}
}

// gather opens a node's Open_vSwitch database; only the first caller gets the error. keeps says that a host keeps the dump of what it has read.
func (n *Node) gather(ctx context.Context, keeps bool) (err error) {
	n.gathering.Lock()
	defer n.gathering.Unlock()
	if n.Vswitch() != nil || n.failed {
		return nil
	}
	db, err := n.Host.Vswitch(ctx)
	if n.failed = err != nil; n.failed {
		return err
	}
	if dump, ok := db.(*ovsdb.Snapshot); ok && keeps {
		db = dumped(n.Host, dump)
	}
	n.opened(db)
	return nil
}

// Again returns the deployment for a second sample: the same databases, and nodes with nothing cached. It needs no
// Close of its own.
func (c *Cluster) Again() *Cluster {
	again := &Cluster{time: time.Now(), timeout: c.timeout, snapshot: c.snapshot}
	shelf := &node.Shelf{} // its file goes when nobody uses it any more
	for _, z := range c.Zones {
		again.Zones = append(again.Zones, z.again())
	}
	fresh := func(n *Node) *Node {
		f := &Node{
			Name: n.Name, SystemID: n.SystemID, Zone: n.Zone, Local: n.Local, Host: node.Again(n.Host),
			hostname: n.hostname, remote: n.remote, way: n.way, vtep: n.vtep, far: n.far,
		}
		if n.Local { // its connection reads anew each time
			f.opened(n.Vswitch())
			f.failed = n.failed
		}
		node.ShelveOn(f.Host, shelf)
		return f
	}
	for _, n := range c.Hosts {
		again.Hosts = append(again.Hosts, fresh(n))
	}
	if c.Central != nil {
		again.Central, again.Inactive = fresh(c.Central), c.Inactive
	}
	return again
}

// Offline reports whether it is read from saved data, which need not all be from one moment.
func (c *Cluster) Offline() bool { return c.snapshot }

// Captured reports whether it is read from a finished capture: databases and nodes were saved together.
func (c *Cluster) Captured() bool { return c.captured }

// noteFar notes how many nodes are not read.
func (c *Cluster) noteFar() {
	far := 0
	for _, n := range c.Hosts {
		if n.far && !n.vtep && (c.snapshot || !n.remote) { // else the zone is named
			far++
		}
	}
	switch {
	case far == 0:
	case c.snapshot:
		c.note(fmt.Sprintf("%d nodes not read: they have no directory here", far))
	default:
		c.note(fmt.Sprintf("%d other nodes not read: give --via ssh or --node-exec 'PREFIX {hostname}' to reach them", far))
	}
}

func (c *Cluster) nodeProblem(n *Node, err error) Problem {
	p := problem("node "+n.Name, n.Host.Origin(), err)
	p.Node = n.Name
	switch {
	case p.Next != "":
	case c.snapshot:
		p.Next = "add what ovsdb-client backup prints on it as " + archive.SafeName(n.Name) + "/conf.db"
	case n.far:
		p.Next = "give --via ssh or --node-exec 'PREFIX {hostname}', or run there"
	default:
		p.Next = "try the command of --node-exec by hand with sh at its end, or give it more time with -t"
	}
	return p
}

func (c *Cluster) note(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.Notes, text) {
		c.Notes = append(c.Notes, text)
	}
}

// problem explains why a source could not be read, and what to try.
func problem(what, where string, err error) Problem {
	p := Problem{What: what, Where: where, Err: err}
	if e, ok := errors.AsType[*ovsdb.Error](err); ok {
		p.Where, p.Err, p.Next = e.Remote, e.Err, e.Hint
	}
	if p.Next != "" {
		return p
	}
	if p.Next = hintOf(err); p.Next != "" {
		return p
	}
	if flag := flags.Get()[what]; flag != "" {
		p.Next = "name another server with " + flag
	}
	return p
}

// hintOf returns what an error itself says to try.
func hintOf(err error) string {
	if e, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		return e.Hint()
	}
	return ""
}

var flags = lazy.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{northbound.name: northbound.flag, southbound.name: southbound.flag, "Open_vSwitch": "--ovs"}
}}
