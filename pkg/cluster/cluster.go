package cluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// Config says what to open. The zero Config is the deployment that the host
// ovnctl runs on is part of.
type Config struct {
	NB  string // remotes of OVN_Northbound, a comma list as ovsdb(7) has it
	SB  string // remotes of OVN_Southbound
	OVS string // remotes of the local Open_vSwitch

	TLS ovsdb.TLSFiles
	// NoLeaderOnly accepts rows of a cluster's follower without a note.
	// Reads take them either way.
	NoLeaderOnly bool

	Offline  string        // a directory, capture, archive or database file to read from, instead of anything live
	Saved    *archive.Tree // what Offline would open, where it is open already: the cluster closes it
	NodeExec string        // command prefix that reaches another node, with {hostname} in it
	HostRoot string        // the host's root directory, seen from a debug container
	Alone    bool          // a host that ran a database, of OVN or Open vSwitch, is enough, though none can be read: to see what is wrong with it
	Timeout  time.Duration // of opening all this, and of each request; 5 s
	Record   string        // a directory into which the nodes' answers are written
}

// A Cluster is a deployment that has been opened.
type Cluster struct {
	Zones    []*Zone
	Hosts    []*Node   // in the order of their names
	Central  *Node     // the host ovnctl runs on, where that has OVN's databases and no Open vSwitch; nil: it is not so
	Inactive bool      // Central has an Open vSwitch, of which nothing runs and only the files are left
	Problems []Problem // what was named, or is of this host, and could not be read
	Notes    []string  // what a reader should know of the sources

	time     time.Time
	timeout  time.Duration
	close    []func() error
	snapshot bool // offline
	captured bool // offline, from a capture that was finished

	mu sync.Mutex // of Problems and Notes, while nodes are gathered
}

// A Zone is a Northbound and a Southbound database. One that could not be read
// is nil.
type Zone struct {
	Name   string // NB_Global.name; often empty
	NB, SB ovsdb.Reader
	// Chassis are the rows of a live Southbound when it was opened: what was written since shows against them.
	Chassis []sb.ChassisIdentity
}

// A Node is a chassis, or the local host without OVN.
type Node struct {
	Name     string // Chassis.hostname where it tells the nodes apart, else Chassis.name
	SystemID string // Chassis.name
	Zone     string // Zone.Name; empty also when the node's zone is not among those read
	Local    bool   // this is the host ovnctl runs on
	// Host answers for all beyond Vswitch and is never nil. The one of a node that cannot be read says why.
	Host node.Host
	// Vswitch is the node's Open_vSwitch database, nil until
	// Cluster.Gather has opened it. The local node's is open at once.
	Vswitch ovsdb.Reader
	// ExternalIDs of Open_vSwitch, of the local node, as they were when it was opened.
	ExternalIDs map[string]string

	hostname string // Chassis.hostname
	remote   bool   // known as a chassis of another zone only
	vtep     bool   // a switch of hardware, which is not asked
	far      bool   // no way to it is known, and nobody gave one
	failed   bool   // it was tried, and Problems says why it could not be read

	gathering sync.Mutex // of Vswitch and failed
}

// Far reports whether there is no way to the node: nobody gave one, or nothing of it was saved.
func (n *Node) Far() bool { return n.far && n.Vswitch == nil }

// TLVMap returns the tunnel options of a bridge, as ovs-ofctl dump-tlv-map prints them.
func (n *Node) TLVMap(ctx context.Context, bridge string) (string, error) {
	return n.Host.Dump(ctx, bridge, node.TLVMap)
}

// ControllerVersion returns the reply of ovn-controller to the command version. It is empty if there is none within two
// seconds: a controller that hangs must not hold what is asked for.
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
		if n.Vswitch != nil {
			f(n.Name, n.Zone, n.Vswitch)
		}
	}
}

// A Problem is a source that could not be read.
type Problem struct {
	What  string // "OVN_Southbound", "node node2"
	Node  string // the name of the node, empty of a database
	Where string // "unix:/run/ovn/ovnsb_db.sock"; empty when that is the trouble
	Err   error
	Next  string // what to try, a sentence without period
}

// Error is p in one line without the next step.
func (p Problem) Error() string {
	reason := strings.TrimPrefix(p.Err.Error(), p.What+": ")
	if p.Where == "" || strings.Contains(reason, p.Where) {
		return fmt.Sprintf("cannot read %s: %s", p.What, reason)
	}
	return fmt.Sprintf("cannot read %s at %s: %s", p.What, p.Where, reason)
}

// Unwrap is the cause.
func (p Problem) Unwrap() error { return p.Err }

// Source is what was read and when, the "source" of every JSON document.
type Source struct {
	NB    string   `json:"nb,omitempty"` // where the Northbound rows are from; several zones: a comma list
	SB    string   `json:"sb,omitempty"`
	Nodes []string `json:"nodes"` // the nodes that were read, by name
	Time  string   `json:"time"`  // RFC 3339, UTC; of saved data: when it was saved
	Stale bool     `json:"stale"` // a database is cut off from its cluster

	// Simulated are the nodes on a packet's path that were simulated from their flows.
	Simulated []string `json:"simulated,omitempty"`
}

const defaultTimeout = 5 * time.Second

// Open opens what the Config names and what can be found. What cannot be read
// is in Problems; the error is for when nothing can. Close the Cluster.
func Open(ctx context.Context, config Config) (*Cluster, error) {
	if config.Timeout <= 0 {
		config.Timeout = defaultTimeout
	}
	c := &Cluster{time: time.Now(), timeout: config.Timeout}
	open := c.openLive
	if config.Offline != "" || config.Saved != nil {
		open = c.openOffline
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

// nothing is the error of a Cluster of which no part can be read.
func (c *Cluster) nothing(config Config) error {
	for _, z := range c.Zones {
		if z.NB != nil || z.SB != nil {
			return nil
		}
	}
	for _, n := range c.Hosts {
		if n.Vswitch != nil || c.snapshot {
			return nil
		}
	}
	// A local node that nobody named is one by what Open vSwitch has left in its run directory.
	traces := config.OVS == "" && slices.ContainsFunc(c.Hosts, func(n *Node) bool { return n.Local })
	if config.Alone && (c.Central != nil || traces) {
		return nil
	}
	if len(c.Problems) == 0 {
		return errors.New("no OVN or Open vSwitch database was named and none is found here\nhint: give --nb, --sb or --ovs, or --offline DIR")
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

// damaged is the problem of a database that was read in part; nil when it was
// read whole.
func damaged(what string, db ovsdb.Reader) *Problem {
	s, ok := db.(*ovsdb.Snapshot)
	if !ok || s.Damage() == "" {
		return nil
	}
	return &Problem{What: "all of " + what, Where: s.Origin(), Err: errors.New(s.Damage()), Next: saveAgain}
}

const saveAgain = "save it again with ovsdb-client backup"

// Close ends all connections. Of a recording that is incomplete it says why.
func (c *Cluster) Close() error {
	var errs []error
	for _, z := range c.Zones {
		for _, db := range []ovsdb.Reader{z.NB, z.SB} {
			if db != nil {
				errs = append(errs, db.Close())
			}
		}
	}
	for _, n := range c.Hosts {
		if n.Vswitch != nil {
			errs = append(errs, n.Vswitch.Close())
		}
		node.Close(n.Host)
	}
	for _, f := range c.close {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// record has all hosts recorded, each by a keeper of its own.
func (c *Cluster) record(ctx context.Context, keeper func(*Node) node.Keeper) {
	for _, n := range c.all() {
		n.Host = node.Recorder(n.Host, keeper(n))
		c.close = append(c.close, func() error { return node.RecordingError(n.Host) })
		if n.Vswitch == nil {
			continue
		}
		// The local one was open before: once more, for the record.
		if db, err := n.Host.Vswitch(ctx); err == nil {
			c.close = append(c.close, n.Vswitch.Close)
			n.Vswitch = db
		}
	}
}

// VTEP says that the chassis is a switch of hardware: nobody asks it.
func (n *Node) VTEP() bool { return n.vtep }

// all are all hosts, one that runs databases alone among them.
func (c *Cluster) all() []*Node {
	if c.Central == nil {
		return c.Hosts
	}
	return append(slices.Clone(c.Hosts), c.Central)
}

// Source is what has been read so far.
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
		if n.Vswitch != nil {
			s.Nodes = append(s.Nodes, n.Name)
		}
	}
	return s
}

// Node finds a node by name, by hostname or by system-id; nil: there is none.
func (c *Cluster) Node(name string) *Node {
	for _, n := range c.Hosts {
		if n.Name == name || n.SystemID != "" && n.SystemID == name {
			return n
		}
	}
	return nil
}

// gatherers bounds the nodes that are read at the same time.
const gatherers = 16

// Gather opens the Open_vSwitch databases of the named nodes, or of all nodes
// to which there is a way, side by side. One that fails becomes a Problem. A
// node is tried once, however often it is named. A question that concerns two
// nodes of many names those two.
func (c *Cluster) Gather(ctx context.Context, nodes ...*Node) {
	all := len(nodes) == 0
	if all {
		nodes = c.Hosts
		c.noteFar()
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, gatherers)
	errs := make([]error, len(nodes))
	for i, n := range nodes {
		if all && n.far || slices.Index(nodes, n) < i {
			continue
		}
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = n.gather(ctx)
		})
	}
	wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, n := range nodes {
		switch {
		case errs[i] == nil:
		case n.remote: // it is of another deployment's zone, and need not be in reach
			c.Notes = append(c.Notes, fmt.Sprintf("node %s of another zone not read: %v", n.Name, errs[i]))
		default:
			c.Problems = append(c.Problems, c.nodeProblem(n, errs[i]))
		}
	}
}

// gather opens a node's Open_vSwitch database; the error is for the one who
// tried first.
func (n *Node) gather(ctx context.Context) (err error) {
	n.gathering.Lock()
	defer n.gathering.Unlock()
	if n.Vswitch != nil || n.failed {
		return nil
	}
	n.Vswitch, err = n.Host.Vswitch(ctx)
	n.failed = err != nil
	return err
}

// Again is the deployment for a second look: the same databases, and nodes of
// which nothing that was read before is known. It needs no Close of its own.
func (c *Cluster) Again() *Cluster {
	again := &Cluster{Zones: c.Zones, time: time.Now(), timeout: c.timeout, snapshot: c.snapshot}
	fresh := func(n *Node) *Node {
		f := &Node{
			Name: n.Name, SystemID: n.SystemID, Zone: n.Zone, Local: n.Local, Host: node.Again(n.Host),
			hostname: n.hostname, remote: n.remote, vtep: n.vtep, far: n.far,
		}
		if n.Local { // its connection reads anew each time
			f.Vswitch, f.failed = n.Vswitch, n.failed
		}
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

// Offline says that it is read from what was saved, not all of which need be of one moment.
func (c *Cluster) Offline() bool { return c.snapshot }

// Captured says that it is read from a capture that was finished: what the databases and the nodes said was saved together.
func (c *Cluster) Captured() bool { return c.captured }

// noteFar says how many nodes are left out of all.
func (c *Cluster) noteFar() {
	far := 0
	for _, n := range c.Hosts {
		if n.far && !n.vtep {
			far++
		}
	}
	switch {
	case far == 0:
	case c.snapshot:
		c.note(fmt.Sprintf("%d nodes not read: they have no directory here", far))
	default:
		c.note(fmt.Sprintf("%d other nodes not read: give --node-exec 'PREFIX {hostname}' to reach them", far))
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
		p.Next = "give --node-exec 'PREFIX {hostname}', or run there"
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
	if flag := flags[what]; flag != "" {
		p.Next = "name another server with " + flag
	}
	return p
}

var flags = map[string]string{northbound.name: northbound.flag, southbound.name: southbound.flag, "Open_vSwitch": "--ovs"}
