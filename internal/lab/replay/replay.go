// Package replay turns a saved deployment into a lab: real packets on what a CMS wrote, without its programs.
//
// # What is taken from where
//
// The hosts start with the saved databases: central, or each zone's node, with the Northbound and Southbound, and nodes
// with their conf.db. The rest is what the databases say or imply:
//
//   - pods and VMs: the interfaces of conf.db with an iface-id; addresses and gateways are those of the logical port, of its
//     DHCP options, and of the routers on its switch;
//   - the underlay: the encap addresses, and the next hops of routers that no port of the deployment has. A router's MAC
//     address is the one that the Southbound learned;
//   - flows of bridges other than the integration bridge: the saved dump;
//   - addresses, routes, rules and packet filter of a node: the saved text, ip_addr, ip_route, ip_rule and nft_ruleset.
//     Where there is none, the encap address, and for a node's own logical port its address, routes to the networks behind
//     its router, and masquerade for them.
//
// # What a replay lacks
//
// No CMS runs: what was saved stays. Nested ports (VLAN trunks) have no interface. Routes in tables other than main are not
// in the saved text.
package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// ports are those that hosts of testdata/deployments reply on, as far as their packets ask.
var ports = []int{22, 53, 80, 443, 2222, 5000, 5353, 5432, 6443, 8080, 8443, 9090}

// Load reads a saved deployment, a directory or archive, and returns it as a topology, with the release that it ran.
func Load(ctx context.Context, path string) (t lab.Topology, release string, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return t, "", err
	}
	tree, err := archive.Open(ctx, path)
	if err != nil {
		return t, "", err
	}
	defer func() { err = errors.Join(err, tree.Close()) }()
	d := &deployment{tree: tree, zones: map[string]*zone{}, topology: lab.Topology{
		Name: "replay-" + strings.TrimSuffix(filepath.Base(path), ".tar.zst"), OVN: true, Bridge: "br-int", Saved: path, Ports: ports,
		Routed: map[netip.Prefix]netip.Addr{},
	}}
	for _, read := range []func(context.Context) error{d.readZones, d.readNodes} {
		if err := read(ctx); err != nil {
			return t, "", fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := d.describe(); err != nil {
		return t, "", fmt.Errorf("%s: %w", path, err)
	}
	return d.topology, d.release(ctx), nil
}

// A deployment is being turned into a topology.
type deployment struct {
	tree     *archive.Tree
	zones    map[string]*zone // by directory; "" if there is one
	nodes    []*node
	topology lab.Topology
}

// A zone is a Northbound with what its Southbound learned.
type zone struct {
	northbound
	learned learned
}

type northbound struct {
	Switches    []nb.LogicalSwitchBare
	Ports       []nb.LogicalSwitchPortBrief
	Routers     []nb.LogicalRouterBare
	RouterPorts []nb.LogicalRouterPort
	Routes      []nb.StaticRoute
	DHCP        []nb.DHCPOptions
	Balancers   []nb.LoadBalancer
	Neighbours  []nb.StaticMACBinding
}

// learned is what a Southbound has that no Northbound says.
type learned struct {
	MACs     []sb.MACBinding
	Bindings []sb.PortBinding
}

// A node is a host's conf.db.
type node struct {
	name string
	local
}

type local struct {
	Switch     []vswitch.OpenvSwitch
	Bridges    []vswitch.BridgeBrief
	Ports      []vswitch.PortBrief
	Interfaces []vswitch.Interface
}

func (d *deployment) readZones(ctx context.Context) error {
	dirs := []string{""}
	if !d.tree.Databases() {
		var err error
		if dirs, err = d.tree.Zones(); err != nil {
			return err
		}
		d.topology.Zones = true
	}
	if len(dirs) == 0 {
		return errors.New("no Northbound")
	}
	for _, dir := range dirs {
		z := &zone{}
		if err := d.load(ctx, filepath.Join(dir, "nb.db"), &z.northbound); err != nil {
			return err
		}
		if err := d.load(ctx, filepath.Join(dir, "sb.db"), &z.learned); err != nil {
			return err
		}
		d.zones[dir] = z
	}
	return nil
}

// load reads tables of a database file into a struct of slices.
func (d *deployment) load(ctx context.Context, file string, tables any) (err error) {
	r, err := d.tree.File(file)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	snapshot, err := ovsdb.ParseFile(file, r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	return ovsdb.Load(ctx, snapshot, tables)
}

func (d *deployment) readNodes(ctx context.Context) error {
	names, err := d.tree.Nodes()
	if err != nil {
		return err
	}
	for _, name := range names {
		n := &node{name: name}
		if err := d.load(ctx, filepath.Join(name, "conf.db"), &n.local); err != nil {
			return err
		}
		if len(n.Switch) != 1 {
			return fmt.Errorf("%s/conf.db: %d rows in Open_vSwitch", name, len(n.Switch))
		}
		d.nodes = append(d.nodes, n)
	}
	if len(d.nodes) == 0 {
		return errors.New("no conf.db of a node")
	}
	return nil
}

// describe makes the topology: first the underlay, which the rest refers to.
func (d *deployment) describe() error {
	if err := d.underlay(); err != nil {
		return err
	}
	for _, n := range d.nodes {
		if err := d.addNode(n); err != nil {
			return fmt.Errorf("%s: %w", n.name, err)
		}
		d.addPods(n)
	}
	d.addServices()
	return d.checkNames()
}

// zoneOf returns the zone that a node belongs to.
func (d *deployment) zoneOf(n *node) *zone {
	if z, ok := d.zones[""]; ok {
		return z
	}
	return d.zones[n.name]
}

// release returns the release that the nodes ran, the machine's own if it is the same; empty if nothing says which.
func (d *deployment) release(ctx context.Context) string {
	ran := d.nodes[0].Switch[0]
	if system, err := lab.Installed(ctx, lab.System); err == nil && strings.HasPrefix(system.OVS, ran.OVSVersion.Get()+"-") {
		return lab.System
	}
	if ran.SystemType.Get() != "debian" {
		return ""
	}
	return suites[ran.SystemVersion.Get()]
}

// suites are Debian's releases by the version that ovs-ctl(8) writes into conf.db.
var suites = map[string]string{"11": "bullseye", "12": "bookworm", "13": "trixie", "sid": "sid"}

// safeName is what names of hosts, ports and devices have to be like: they are words of shell commands.
var safeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}$`)

// checkNames rejects names, which anybody may have written, that a shell would read as more than a word.
func (d *deployment) checkNames() error {
	var names []string
	for _, n := range d.topology.Nodes {
		names = append(names, n.Name, n.SystemID)
	}
	for _, n := range d.nodes {
		for _, b := range n.Bridges {
			names = append(names, b.Name)
		}
		for _, i := range n.Interfaces {
			names = append(names, i.Name)
		}
	}
	for _, p := range d.topology.Pods {
		names = append(names, p.Name, cmp.Or(p.Device, "eth0"))
	}
	if i := slices.IndexFunc(names, func(name string) bool { return !safeName.MatchString(name) }); i >= 0 {
		return fmt.Errorf("%q: not a name for a host, port or device", names[i])
	}
	return nil
}
