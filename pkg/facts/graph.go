package facts

import (
	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// GraphOf joins the databases of a deployment, with those of all hosts that can be read, into the graph on which packets
// are followed.
func GraphOf(d *snapshot.Deployment) (*topology.Graph, error) {
	d = d.Whole()
	return snapshot.Derive(d, "", func() (*topology.Graph, error) {
		d.SideBySide(len(d.Hosts), func(i int) { _, _ = d.Hosts[i].OVSDB() }) // other checks report what cannot be read
		return topology.LoadWays(d.Context(), d.Cluster())
	})
}

// Switching returns the nodes through which packets can be followed: chassis with an ovs-vswitchd that replies, or saved
// data of one.
func Switching(d *snapshot.Deployment) []*cluster.Node {
	var nodes []*cluster.Node
	for _, h := range d.Hosts {
		if n := SwitchingOn(h); n != nil {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// SwitchingOn returns a host's node if packets can be followed through it; nil if not.
func SwitchingOn(h *snapshot.Host) *cluster.Node {
	if h.Central() || h.SystemID == "" {
		return nil
	}
	if d, err := h.Daemon("ovs-vswitchd"); err == nil && d.Liveness != snapshot.Answers {
		return nil
	}
	return h.Deployment().Cluster().Node(h.SystemID)
}
