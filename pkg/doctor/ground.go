package doctor

import (
	"slices"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/trace"
)

// GroundOf prepares following packets beneath OVN. What it reads is read once for all checks; each has a Ground of its own.
func GroundOf(d *snapshot.Deployment) (*trace.Ground, error) {
	g, err := snapshot.Derive(d, "", func() (*trace.Ground, error) {
		known := trace.NewKnown(d.Cluster())
		var nodes sync.WaitGroup
		nodes.Go(func() { // while the topology is read
			d.SideBySide(len(d.Hosts), func(i int) { readNode(d.Hosts[i], known) })
		})
		g, err := facts.GraphOf(d)
		nodes.Wait()
		if err != nil {
			return nil, err
		}
		return trace.NewGround(d.Cluster(), g, known, nodeReads(d)), nil
	})
	if err != nil {
		return nil, err
	}
	return g.Beside(), nil
}

// needGround reports whether one of the checks follows packets, and there is a host from which.
func needGround(d *snapshot.Deployment, checks []*Check) bool {
	return slices.ContainsFunc(checks, func(c *Check) bool { return c.Ground }) &&
		slices.ContainsFunc(d.Hosts, func(h *snapshot.Host) bool { return !h.Central() && h.SystemID != "" })
}

// readNode reads what packets cannot be followed without. Its errors come again where they matter.
func readNode(h *snapshot.Host, known *trace.Known) {
	n := facts.SwitchingOn(h)
	if n == nil {
		return
	}
	if _, err := h.OVSDB(); err != nil {
		return
	}
	var side sync.WaitGroup
	side.Go(func() { _, _ = h.Network() })
	if names, err := known.Names(h.Deployment().Context(), n); err == nil && !h.Deployment().InTurn() {
		_, _ = h.OpenFlowPorts(names.Bridge) // of many hosts, each is asked for in its turn
	}
	side.Wait()
}

// nodeReads answers from what a sample has read.
func nodeReads(d *snapshot.Deployment) trace.Reads {
	return trace.Reads{
		Network: func(n *cluster.Node) (*node.Network, error) {
			if h := d.Host(n.Name); h != nil {
				return h.Network()
			}
			return n.Host.Network(d.Context())
		},
		Ports: func(n *cluster.Node, bridge string) ([]openflow.PortDesc, error) {
			if h := d.Host(n.Name); h != nil {
				return h.OpenFlowPorts(bridge)
			}
			return nil, node.ErrUnavailable
		},
	}
}
