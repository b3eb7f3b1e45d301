package cluster

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// ZoneVersions are the versions of the schemas of a zone's databases, and where those were read.
type ZoneVersions struct {
	Zone       string `json:"zone"`
	Northbound string `json:"northbound,omitempty"` // "7.0.0"; absent if it was not read
	Southbound string `json:"southbound,omitempty"`
	NB         string `json:"nb,omitempty"`
	SB         string `json:"sb,omitempty"`
}

// NodeVersions are the versions of a node's daemons and of its Open_vSwitch, and how it was reached.
type NodeVersions struct {
	Node    string          `json:"node"`
	Zone    string          `json:"zone"`
	From    string          `json:"from"`             // "local", "via ssh: node2", "capture.tar.zst/node2"
	Schema  string          `json:"schema,omitempty"` // of Open_vSwitch: "8.3.1"
	Daemons []DaemonVersion `json:"daemons"`          // sorted by name
}

// A DaemonVersion is the version of a daemon that replies.
type DaemonVersion struct {
	Name    string           `json:"name"`
	State   node.DaemonState `json:"state"`
	Version string           `json:"version,omitempty"`
}

// ZoneVersions returns the versions of all zones that were read.
func (c *Cluster) ZoneVersions() []ZoneVersions {
	list := []ZoneVersions{}
	for _, z := range c.Zones {
		if z.NB == nil && z.SB == nil {
			continue
		}
		v := ZoneVersions{Zone: z.Name}
		if z.NB != nil {
			v.Northbound, v.NB = z.NB.Version(), z.NB.Origin()
		}
		if z.SB != nil {
			v.Southbound, v.SB = z.SB.Version(), z.SB.Origin()
		}
		list = append(list, v)
	}
	slices.SortStableFunc(list, func(a, b ZoneVersions) int { return strings.Compare(a.Zone, b.Zone) })
	return list
}

// NodeVersions asks all nodes in reach, side by side. A node that does not reply becomes a Problem.
func (c *Cluster) NodeVersions(ctx context.Context) []NodeVersions {
	c.Gather(ctx)
	nodes := slices.DeleteFunc(slices.Clone(c.all()), func(n *Node) bool { return n.far || n.vtep || n.failed && !n.Local })
	versions := make([]NodeVersions, len(nodes))
	errs := make([]error, len(nodes))
	var asks errgroup.Group
	asks.SetLimit(gatherers)
	for i, n := range nodes {
		asks.Go(func() error {
			versions[i], errs[i] = n.versions(ctx)
			return nil
		})
	}
	_ = asks.Wait()
	for i, n := range nodes {
		if errs[i] != nil {
			c.Problems = append(c.Problems, c.nodeProblem(n, errs[i]))
		}
	}
	return versions
}

// versions asks one node; what is known beside an error is returned.
func (n *Node) versions(ctx context.Context) (NodeVersions, error) {
	v := NodeVersions{Node: n.Name, Zone: n.Zone, From: n.Host.Origin(), Daemons: []DaemonVersion{}}
	if db := n.Vswitch(); db != nil {
		rows, err := ovsdb.Find[vswitch.Versions](ctx, db)
		if err != nil {
			return v, err
		}
		if v.Schema = db.Version(); v.Schema == "" && len(rows) > 0 { // rows that come without their schema
			v.Schema = rows[0].DBVersion.Get()
		}
	}
	daemons, err := n.Host.Daemons(ctx)
	for _, d := range daemons {
		v.Daemons = append(v.Daemons, DaemonVersion{Name: d.Name, State: d.State, Version: d.Version})
	}
	slices.SortFunc(v.Daemons, func(a, b DaemonVersion) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Version, b.Version))
	})
	return v, err
}
