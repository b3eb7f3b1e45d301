package reach

import (
	"context"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace"
	"github.com/ovnctl/ovnctl/pkg/trace/ovn"
)

// Beneath is what the nodes do to packets that the logical networks deliver: which tunnels lose them, and which workloads
// cannot be reached where they are attached. The nil value knows of no loss.
type Beneath struct {
	tunnels map[[2]string]trace.Loss // by the names of the two chassis
	ports   map[string]trace.Loss    // by logical port
	// Unread names the nodes of the plan that were not read, of which the best is assumed.
	Unread []string
}

const (
	maxNodes     = 32   // that are read: each follows a packet to each of the others
	maxWorkloads = 1000 // of a node that are looked at
)

// LookBeneath looks at the nodes of a plan's parties, as [trace.Ground] does. Of a plan with more than maxNodes it reads
// none.
func LookBeneath(ctx context.Context, c *cluster.Cluster, g *topology.Graph, p *Plan) (*Beneath, error) {
	n := &Beneath{tunnels: map[[2]string]trace.Loss{}, ports: map[string]trace.Loss{}, Unread: []string{}}
	var nodes []*cluster.Node
	names := p.Nodes(c)
	for _, name := range names {
		switch node := c.Node(name); {
		case node == nil || node.Far():
			n.Unread = append(n.Unread, name)
		default:
			nodes = append(nodes, node)
		}
	}
	if len(nodes) > maxNodes {
		n.Unread = names
		return n, nil
	}
	c.Gather(ctx, nodes...)
	ground := trace.NewGround(c, g, trace.NewKnown(c), trace.Reads{})
	for _, node := range nodes {
		if node.Vswitch() == nil {
			n.Unread = append(n.Unread, node.Name)
			continue
		}
		if err := n.read(ctx, ground, c, node); err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			n.Unread = append(n.Unread, node.Name)
		}
	}
	return n, nil
}

func (n *Beneath) read(ctx context.Context, ground *trace.Ground, c *cluster.Cluster, node *cluster.Node) error {
	lost, _, err := ground.Tunnels(ctx, node, maxNodes)
	if err != nil {
		return err
	}
	for _, l := range lost {
		if from, to := c.Node(l.From), c.Node(l.To); from != nil && to != nil {
			n.tunnels[[2]string{from.SystemID, to.SystemID}] = l
		}
	}
	if lost, _, err = ground.Workloads(ctx, node, maxWorkloads); err != nil {
		return err
	}
	for _, l := range lost {
		n.ports[l.Port] = l
	}
	return nil
}

// Nodes returns the names of the nodes that the plan's parties are on, each once; with a service, all: its backends may be
// anywhere.
func (p *Plan) Nodes(c *cluster.Cluster) []string {
	names := []string{}
	for _, party := range slices.Concat(p.from, p.to) {
		if party.match.Kind == topology.KindService {
			for _, n := range c.Hosts {
				names = append(names, n.Name)
			}
		} else if party.Node != "" {
			names = append(names, party.Node)
		}
	}
	slices.SortFunc(names, topology.CompareNames)
	return slices.Compact(names)
}

// lost returns why a round trip that the logical networks deliver fails at the nodes; ok is false if nothing is known to.
func (n *Beneath) lost(from topology.Match, r *trace.Round) (c Cause, ok bool) {
	if n == nil {
		return Cause{}, false
	}
	if from.Port != nil {
		if l, ok := n.ports[from.Port.Name]; ok {
			return causeOfLoss(l, false), true
		}
	}
	forward, reply := r.Tunnels()
	if l, ok := n.tunnel(forward); ok {
		return causeOfLoss(l, false), true
	}
	if l, ok := n.ports[r.Receiver()]; ok {
		return causeOfLoss(l, false), true
	}
	if l, ok := n.tunnel(reply); ok {
		return causeOfLoss(l, true), true
	}
	return Cause{}, false
}

// tunnel returns the loss of the first of the tunnels that has one.
func (n *Beneath) tunnel(tunnels []*ovn.Tunnel) (trace.Loss, bool) {
	for _, t := range tunnels {
		if t.From == nil || t.To == nil {
			continue
		}
		if l, ok := n.tunnels[[2]string{t.From.Row.Name, t.To.Row.Name}]; ok {
			return l, true
		}
	}
	return trace.Loss{}, false
}

// causeOfLoss returns a cause that blames the node where a packet is lost.
func causeOfLoss(l trace.Loss, reply bool) Cause {
	return Cause{Outcome: journey.Dropped, Reply: reply, Kind: l.Because.Kind, Text: l.Words, Object: &decode.Object{Kind: "node", Name: l.Because.Node}}
}
