package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// LogicalFlows says which rows of Logical_Flow a capture has.
type LogicalFlows string

// The logical flows of a capture: all, those of datapaths with a port on the nodes that were read, or none.
const (
	AllFlows   LogicalFlows = "all"
	LocalFlows LogicalFlows = "local"
	NoFlows    LogicalFlows = "none"
)

// A Capture is a deployment being written to an archive. All that its nodes reply from Capture on, to whomever, goes
// into it.
type Capture struct {
	Flows LogicalFlows
	// Progress, if not nil, is called with what is being read, from one goroutine at a time.
	Progress func(what string)

	cluster *Cluster
	zones   []*Zone // as read by Databases
	w       *archive.Writer
	telling sync.Mutex
}

// Capture starts recording all hosts. The index says why a host was not reached.
func (c *Cluster) Capture(ctx context.Context, w *archive.Writer) *Capture {
	dirs := map[*Node]string{}
	for _, n := range c.all() {
		if !n.far {
			dirs[n] = archive.SafeName(n.Name)
		}
	}
	w.Describe(func(x *archive.Index) {
		for _, n := range c.all() {
			x.Nodes = append(x.Nodes, archive.IndexNode{
				Name: n.Name, SystemID: n.SystemID, Dir: dirs[n], Local: n.Local, Central: n == c.Central, Inactive: n == c.Central && c.Inactive,
			})
		}
		x.Started = c.time.UTC()
		x.Notes = append(x.Notes, c.Notes...)
	})
	for _, p := range c.Problems {
		w.Miss(p.Node, p.What, p)
	}
	c.record(ctx, func(n *Node) node.Keeper { return w.Node(n.Name, archive.SafeName(n.Name)) })
	return &Capture{Flows: AllFlows, cluster: c, w: w}
}

func (c *Capture) tell(format string, args ...any) {
	c.telling.Lock()
	defer c.telling.Unlock()
	if c.Progress != nil {
		c.Progress(fmt.Sprintf(format, args...))
	}
}

// Databases writes Northbound and Southbound of all zones. The index has what cannot be read; the error means that
// the archive cannot be written.
func (c *Capture) Databases(ctx context.Context) error {
	if err := c.w.Checkpoint(); err != nil {
		return err
	}
	for i, z := range c.cluster.Zones {
		dir := c.cluster.ZoneDir(i)
		read := &Zone{Name: z.Name, id: z.id, via: z.via}
		c.zones = append(c.zones, read)
		for _, db := range []struct {
			file   string
			which  central
			reader ovsdb.Reader
			read   *ovsdb.Reader
		}{{"nb.db", northbound, z.NB, &read.NB}, {"sb.db", southbound, z.SB, &read.SB}} {
			if db.reader == nil {
				continue
			}
			c.tell("reading %s", db.which.name)
			var err error
			*db.read, err = c.database(ctx, path.Join(dir, db.file), z, db.reader)
			if err != nil && !errors.Is(err, errUnwritable) {
				c.w.Miss("", db.which.name, err)
				c.cluster.Problems = append(c.cluster.Problems, problem(db.which.name, db.reader.Origin(), err))
				err = nil
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Cluster returns the deployment with Northbound and Southbound as read by Databases, so that later reads do not
// request large tables from their servers. It needs no Close of its own.
func (c *Capture) Cluster() *Cluster {
	live := c.cluster
	return &Cluster{
		Zones: c.zones, Hosts: live.Hosts, Central: live.Central, Inactive: live.Inactive, Problems: live.Problems, Notes: live.Notes,
		time: live.time, timeout: live.timeout,
	}
}

// ZoneDir returns the directory of saved data for the databases of a zone, by its index: the top if there is only one.
func (c *Cluster) ZoneDir(i int) string {
	switch {
	case len(c.Zones) == 1:
		return ""
	case c.Zones[i].Name == "":
		return fmt.Sprintf("zone%d", i+1)
	}
	return archive.SafeName(c.Zones[i].Name)
}

// errUnwritable marks an error of the archive itself, which nothing can work around.
var errUnwritable = errors.New("the capture cannot be written")

func (c *Capture) keep(name, what string, content []byte) error {
	if err := c.w.Keep("", name, what, content); err != nil {
		return fmt.Errorf("%w: %w", errUnwritable, err)
	}
	return nil
}

// mostMegaflows bounds what one daemon is asked for, like node.MostConnections.
const mostMegaflows = 50_000

// Nodes reads all nodes that can be reached, in parallel. The index has what they did not reply to.
func (c *Capture) Nodes(ctx context.Context) {
	c.cluster.Gather(ctx)
	var reads errgroup.Group
	reads.SetLimit(gatherers)
	done := 0
	var mu sync.Mutex
	nodes := slices.DeleteFunc(slices.Clone(c.cluster.all()), func(n *Node) bool { return n.far && n.Vswitch() == nil })
	for _, n := range nodes {
		reads.Go(func() error {
			c.node(ctx, n)
			mu.Lock()
			defer mu.Unlock()
			done++
			c.tell("%d of %d nodes read", done, len(nodes))
			return nil
		})
	}
	_ = reads.Wait()
}

// controls are the commands for each daemon in any case: short replies, no changes.
var controls = lazy.Value[map[string][]string]{Make: func() map[string][]string {
	return map[string][]string{
		"ovs-vswitchd": {
			"version", "dpif/show", "dpctl/show", "ofproto/list-tunnels", "ovs/route/show", "tnl/ports/show", "tnl/neigh/show", "tnl/arp/show",
			"bfd/show", "cfm/show", "lacp/show", "bond/show", "upcall/show", "coverage/show", "memory/show", "dpif-netdev/pmd-stats-show", "mcast-snooping/show",
		},
		"ovsdb-server": {"version", "ovsdb-server/list-remotes", "memory/show", "coverage/show"},
		"ovn-controller": {
			"version", "connection-status", "debug/status", "ct-zone-list", "group-table-list", "meter-table-list", "lflow-cache/show-stats", "inc-engine/show-stats",
			"debug/dump-local-bindings", "debug/dump-related-ports", "debug/dump-peer-ports", "debug/dump-local-template-vars", "debug/dump-mac-bindings", "coverage/show", "memory/show",
		},
		"ovn-northd": {"version", "status", "is-paused", "nb-connection-status", "sb-connection-status", "inc-engine/show-stats", "coverage/show", "memory/show"},
		"ovnnb_db":   {"version", "ovsdb-server/list-remotes", "ovsdb-server/list-dbs", "memory/show", "coverage/show"},
		"ovnsb_db":   {"version", "ovsdb-server/list-remotes", "ovsdb-server/list-dbs", "memory/show", "coverage/show"},
	}
}}

// defaults are the files with the options of services, below the host's configuration directory.
var defaults = []string{
	"default/openvswitch-switch", "default/openvswitch", "default/ovn-host", "default/ovn-central", "default/ovn-controller", "default/ovn-northd",
	"sysconfig/openvswitch", "sysconfig/ovn", "sysconfig/ovn-controller", "sysconfig/ovn-northd",
}

// files describe the host and its state.
var files = []string{
	"/etc/os-release", "/etc/hostname", "/proc/version", "/proc/cmdline", "/proc/meminfo", "/proc/loadavg", "/proc/uptime", "/proc/modules",
	"/proc/sys/net/netfilter/nf_conntrack_count", "/proc/sys/net/netfilter/nf_conntrack_max", "/proc/net/snmp", "/proc/net/snmp6",
}

var units = []string{
	"openvswitch-switch.service", "openvswitch.service", "ovs-vswitchd.service", "ovsdb-server.service", "openvswitch-ipsec.service",
	"ovn-host.service", "ovn-central.service", "ovn-controller.service", "ovn-northd.service", "ovn-ovsdb-server-nb.service", "ovn-ovsdb-server-sb.service",
	"NetworkManager.service", "systemd-networkd.service", "networking.service",
}

// node reads one node. The recorder keeps its replies and notes failures; only replies that decide what to read next
// are parsed here.
func (c *Capture) node(ctx context.Context, n *Node) {
	h := n.Host
	dirs, _ := h.Dirs(ctx)
	daemons, _ := h.Daemons(ctx)
	_, _ = h.Network(ctx)
	_, _ = h.Firewall(ctx)
	_, _ = h.Sockets(ctx)
	_, _ = h.Processes(ctx)
	for _, file := range defaults {
		_, _ = h.ReadFile(ctx, path.Join(cmp.Or(dirs.Etc, "/etc"), file))
	}
	for _, file := range files {
		_, _ = h.ReadFile(ctx, file)
	}
	for _, unit := range units {
		if _, err := h.Unit(ctx, unit); errors.Is(err, node.ErrUnavailable) {
			break // nor of the others: there is no systemd
		}
	}
	for _, log := range []string{"ovs-vswitchd", "ovsdb-server", "ovn-controller", "ovn-northd", "ovsdb-server-nb", "ovsdb-server-sb"} {
		_, _ = h.Log(ctx, log)
	}
	for _, d := range daemons {
		if d.State != node.Answers || ctx.Err() != nil {
			continue
		}
		for _, command := range controls.Get()[d.Name] {
			_, _ = h.Control(ctx, d.Name, command)
		}
		switch d.Name {
		case "ovs-vswitchd":
			_, _ = h.Control(ctx, d.Name, "tnl/ports/show", "-v")
			c.vswitch(ctx, n)
		case "ovnnb_db":
			_, _ = h.Control(ctx, d.Name, "cluster/status", northbound.name)
		case "ovnsb_db":
			_, _ = h.Control(ctx, d.Name, "cluster/status", southbound.name)
		}
	}
}

// vswitch reads ovs-vswitchd's tables, those of the OVS datapath only if they are small.
func (c *Capture) vswitch(ctx context.Context, n *Node) {
	h := n.Host
	if n.Vswitch() != nil {
		bridges, _ := ovsdb.Find[vswitch.BridgeName](ctx, n.Vswitch())
		for _, b := range bridges {
			for _, kind := range []node.DumpKind{node.Flows, node.Groups, node.Ports, node.TLVMap, node.Meters} {
				_, _ = h.Dump(ctx, b.Name, kind)
			}
			_, _ = h.Control(ctx, "ovs-vswitchd", "dpif/show-dp-features", b.Name)
			_, _ = h.Control(ctx, "ovs-vswitchd", "fdb/show", b.Name)
			_, _ = h.Control(ctx, "ovs-vswitchd", "fdb/stats-show", b.Name)
			_, _ = h.Control(ctx, "ovs-vswitchd", "stp/show", b.Name)
			_, _ = h.Control(ctx, "ovs-vswitchd", "rstp/show", b.Name)
		}
	}
	shown, err := h.Control(ctx, "ovs-vswitchd", "dpctl/show")
	if err != nil {
		return
	}
	for _, dp := range node.ParseDatapaths(shown) {
		if dp.Flows > mostMegaflows {
			c.w.Miss(n.Name, "datapath flows of "+dp.Name, fmt.Errorf("%d flows: ovs-vswitchd would not reply to anything else meanwhile", dp.Flows))
		} else {
			_, _ = h.Control(ctx, "ovs-vswitchd", "dpctl/dump-flows", "-m", dp.Name)
		}
		text, err := h.Control(ctx, "ovs-vswitchd", "dpctl/ct-get-nconns", dp.Name)
		var connections int
		if err != nil {
			continue
		}
		if _, err := fmt.Sscan(text, &connections); err != nil || connections > node.MostConnections {
			c.w.Miss(n.Name, "connections of "+dp.Name, fmt.Errorf("%s connections: ovs-vswitchd would not reply to anything else meanwhile", strings.TrimSpace(text)))
			continue
		}
		_, _ = h.Control(ctx, "ovs-vswitchd", "dpctl/dump-conntrack", "-m", "-s", dp.Name)
	}
}
