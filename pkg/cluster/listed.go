package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// openListed opens the deployment of all nodes that the way lists. This host is no part of it.
func (c *Cluster) openListed(ctx context.Context, config Config) error {
	way := config.Way.(node.Lister)
	names, err := way.Nodes(ctx)
	if hint := hintOf(err); err != nil && hint != "" {
		return fmt.Errorf("%w\nhint: %s", err, hint)
	}
	if err != nil {
		return err
	}
	c.config = config
	c.identity = func() ovsdb.TLSFiles { return config.TLS }
	for _, name := range names {
		n := &Node{Name: name, hostname: name}
		if n.Host, n.far = otherHost(config, name, name); !n.far {
			n.Host, n.far, n.way, n.remote = node.Unreachable(name, errors.New("its zone was not opened")), true, n.Host, true
		}
		c.Hosts = append(c.Hosts, n)
	}
	if err := c.openCentrals(ctx, way); err != nil {
		return err
	}
	c.OpenZones(ctx)
	return nil
}

// openCentrals opens the zones whose databases serve many nodes. A member that cannot be read is a Problem only if no other of its
// database can.
func (c *Cluster) openCentrals(ctx context.Context, way node.Lister) error {
	centrals, err := way.Centrals(ctx, c.timeout)
	if err != nil {
		return err
	}
	var problems []Problem
	for _, h := range centrals {
		n := &Node{Name: h.Name(), Host: h, way: h}
		zone, err := c.openZone(ctx, n)
		n.way = nil
		if err != nil {
			node.Close(h)
			problems = append(problems, zoneProblem(n, err))
			continue
		}
		c.join(zone, n)
		c.close = append(c.close, func() error {
			node.Close(h)
			return nil
		})
	}
	if len(c.Zones) == 0 {
		c.Problems = append(c.Problems, problems...)
	}
	return nil
}
