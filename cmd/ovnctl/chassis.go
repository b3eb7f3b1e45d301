package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/decode/text"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/render"
)

// A chassis is a node with names for its numbers.
type chassis struct {
	*cluster.Node // nil if the node is unknown; its numbers then have no names
	*decode.Decoder
	notes []string
}

// chassis finds the named node and makes its decoder. Without a name it is this host, or the only readable node;
// otherwise only the Southbound provides names.
func (o *options) chassis(ctx context.Context, c *cluster.Cluster, name string) (*chassis, error) {
	n, err := o.nodeFor(ctx, c, name)
	if err != nil {
		return nil, err
	}
	zone := zoneOf(c, n)
	ch := &chassis{Node: n}
	if zone == nil && len(c.Zones) > 1 {
		ch.notes = append(ch.notes, "each zone has its own numbers: give --node")
	}
	if n == nil && len(c.Hosts) > 0 {
		ch.notes = append(ch.notes, "each node has its own numbers for ports and ct zones: give --node to name them")
	}
	var north, south, vswitch ovsdb.Reader
	if zone != nil {
		north, south = zone.NB, zone.SB
	}
	if n != nil {
		vswitch = n.Vswitch()
	}
	if ch.Decoder, err = decode.Read(ctx, north, south, vswitch, n); err != nil {
		return nil, unknownError{err}
	}
	return ch, nil
}

// nodeFor returns the named node with its database open; without a name this host or the only node, else nil.
func (o *options) nodeFor(ctx context.Context, c *cluster.Cluster, name string) (*cluster.Node, error) {
	if name != "" {
		n := c.Node(name)
		if n == nil {
			var names []string
			for _, h := range c.Hosts {
				names = append(names, h.Name)
			}
			hint := "no node was found here"
			if len(names) > 0 {
				hint = "the nodes are " + render.Clean(strings.Join(names, ", "))
			}
			return nil, usageError{fmt.Errorf("not found: node %q\nhint: %s", name, hint)}
		}
		c.OpenZones(ctx, n)
		if n.Vswitch() == nil {
			c.Gather(ctx, n)
		}
		if n.Vswitch() == nil {
			return nil, unknownError{nodeProblem(c, n)}
		}
		return n, nil
	}
	var near []*cluster.Node
	for _, n := range c.Hosts {
		if n.Local && n.Vswitch() != nil {
			return n, nil
		}
		if !n.Far() {
			near = append(near, n)
		}
	}
	if len(near) != 1 {
		return nil, nil
	}
	c.Gather(ctx, near[0])
	if near[0].Vswitch() == nil {
		return nil, nil
	}
	return near[0], nil
}

// nodeProblem returns why a node cannot be read, and what would help.
func nodeProblem(c *cluster.Cluster, n *cluster.Node) error {
	for _, p := range c.Problems {
		if p.Node == n.Name {
			return errors.New(problemText(p))
		}
	}
	return fmt.Errorf("node %s was not read\nhint: run ovnctl there, or give --via ssh or --node-exec 'PREFIX {hostname}'", render.Clean(n.Name))
}

// zoneOf returns a node's zone, or the only one; nil if unknown.
func zoneOf(c *cluster.Cluster, n *cluster.Node) *cluster.Zone {
	if n == nil {
		if len(c.Zones) == 1 {
			return c.Zones[0]
		}
		return nil
	}
	return c.ZoneOf(n)
}

// namer names the numbers in the node's flows. Groups, meters and datapath ports are read from the node on first use.
func (ch *chassis) namer(ctx context.Context) *decode.Namer {
	return decode.NewNamer(ch.Decoder, decode.NodeNumbers{
		Backends:      sync.OnceValue(func() map[uint32][]string { return ch.backends(ctx) }),
		Meters:        sync.OnceValue(func() map[uint32]string { return ch.meters(ctx) }),
		DatapathPorts: sync.OnceValue(func() map[int]string { return ch.datapathPorts(ctx) }),
	})
}

// annotator names the numbers in text from a bridge.
func (ch *chassis) annotator(ctx context.Context, bridge string) *text.Annotator {
	return text.New(ch.namer(ctx), text.Options{Bridge: bridge, Senders: func() []openflow.FlowEntry { return ch.senders(ctx) }})
}

// backends reads the backends in the integration bridge's groups.
func (ch *chassis) backends(ctx context.Context) map[uint32][]string {
	if ch.Node == nil {
		return nil
	}
	raw, err := ch.Host.Dump(ctx, ch.Names.Bridge, node.Groups)
	if err != nil {
		return nil
	}
	groups := map[uint32][]string{}
	for line := range strings.Lines(raw) {
		if g, err := openflow.ParseGroupEntry(strings.TrimSpace(line)); err == nil {
			groups[g.ID] = decode.Backends(g)
		}
	}
	return groups
}

// senders reads the integration bridge's flows that send packets to groups.
func (ch *chassis) senders(ctx context.Context) []openflow.FlowEntry {
	if ch.Node == nil {
		return nil
	}
	dump, err := ch.Host.Dump(ctx, ch.Names.Bridge, node.Flows)
	if err != nil {
		return nil
	}
	var flows []openflow.FlowEntry
	var r openflow.Reader
	for line := range strings.Lines(dump) {
		if !strings.Contains(line, "group:") {
			continue
		}
		if e, err := r.FlowEntry(strings.TrimSpace(line)); err == nil {
			flows = append(flows, e)
		}
	}
	return flows
}

// meters reads the names of the integration bridge's meters.
func (ch *chassis) meters(ctx context.Context) map[uint32]string {
	if ch.Node == nil {
		return nil
	}
	text, err := ch.Host.Control(ctx, "ovn-controller", "meter-table-list")
	if err != nil {
		return nil
	}
	return decode.ParseMeters(text)
}

// datapathPorts reads the names of the datapath's ports by number. All tunnels of one kind share a port.
func (ch *chassis) datapathPorts(ctx context.Context) map[int]string {
	if ch.Node == nil {
		return nil
	}
	text, err := ch.Host.Control(ctx, "ovs-vswitchd", "dpif/show")
	if err != nil {
		return nil
	}
	ports := map[int]string{}
	for _, p := range openflow.ParseDatapathPorts(text) {
		ports[int(p.Datapath)] = p.Name
		if p.Type == "geneve" || p.Type == "vxlan" {
			ports[int(p.Datapath)] = p.Type
		}
	}
	return ports
}
