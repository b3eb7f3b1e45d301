package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/archive"
)

// restore puts a database of a saved deployment where the host's server will find it. A server of another release converts
// it, as it does after an upgrade. Without a saved deployment there is nothing to do.
func (s *State) restore(ctx context.Context, host, saved, file string) (err error) {
	if s.Topology.Saved == "" {
		return nil
	}
	tree, err := archive.Open(ctx, s.Topology.Saved)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tree.Close()) }()
	from, err := tree.File(saved)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := os.OpenFile(filepath.Join(s.Dir, host, file), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// waitForBindings returns when the nodes have the flows of a saved Northbound, and the ports that were bound are bound to
// the same chassis: gateways may have moved while tunnels came up.
func (s *State) waitForBindings(ctx context.Context, host string) error {
	if _, err := s.Run(ctx, host, append(s.nbctl(host), "--wait=hv", "sync")...); err != nil {
		return err
	}
	args := []string{"ovn-sbctl", "--timeout=60", "--db=" + s.socket(host, "sb"), "init"}
	for _, port := range sortedKeys(s.Topology.Bound[host]) {
		args = append(args, "--", "wait-until", "Port_Binding", port, "chassis="+s.Topology.Bound[host][port])
	}
	if _, err := s.Run(ctx, host, args...); err != nil {
		return err
	}
	_, err := s.Run(ctx, host, append(s.nbctl(host), "--wait=hv", "sync")...)
	return err
}

// checkPorts verifies that interfaces have the OpenFlow ports that the node's flows were written for. ovs-vswitchd gives
// an interface the port that its row has from before.
func (s *State) checkPorts(ctx context.Context, n Node) error {
	if len(n.Interfaces) == 0 {
		return nil
	}
	out, err := s.Run(ctx, n.Name, "ovs-vsctl", "--timeout=120", "--bare", "--format=table", "--no-headings", "--columns=name,ofport", "list", "Interface")
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) != 2 {
			continue
		}
		if want, ok := n.Interfaces[f[0]]; ok && f[1] != strconv.Itoa(want) {
			return fmt.Errorf("%s: interface %s has OpenFlow port %s, its flows mean %d", n.Name, f[0], f[1], want)
		}
	}
	return nil
}

// uplinks returns the node's uplinks.
func (n Node) uplinks() []Uplink {
	if len(n.Uplinks) > 0 {
		return n.Uplinks
	}
	return []Uplink{{Name: "eth0"}}
}

// fabricLink returns the fabric's end of an uplink: the first of a node has the node's name, or its number where that is
// too long for a device.
func (t Topology) fabricLink(n Node, u Uplink) string {
	for i, other := range t.Nodes {
		if other.Name == n.Name && (len(n.Name) > 12 || u != n.uplinks()[0]) {
			return fmt.Sprintf("up%d-%s", i, u.Name)
		}
	}
	return n.Name
}

// underlayRouters returns the addresses of the underlay's router.
func (t Topology) underlayRouters() []netip.Prefix {
	if len(t.Underlay.Routers) > 0 {
		return t.Underlay.Routers
	}
	return []netip.Prefix{netip.PrefixFrom(UnderlayGateway4, 24), netip.PrefixFrom(UnderlayGateway6, 64)}
}

// host returns the name of the namespace that the interface is in.
func (p Pod) host() string { return cmp.Or(p.In, p.Name) }

// device returns the interface's name there.
func (p Pod) device() string { return cmp.Or(p.Device, "eth0") }
