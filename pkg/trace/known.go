package trace

import (
	"context"
	"fmt"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/held"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
)

// Known holds the names of a deployment's zones and nodes, each read once, however many packets are followed. It is safe for
// concurrent use.
type Known struct {
	cluster *cluster.Cluster
	mu      sync.Mutex
	zones   map[*cluster.Zone]func() (*decode.Logical, error)
	nodes   map[*cluster.Node]func() (*held.Value[decode.Names], error)
}

// NewKnown knows nothing yet.
func NewKnown(c *cluster.Cluster) *Known {
	return &Known{cluster: c, zones: map[*cluster.Zone]func() (*decode.Logical, error){}, nodes: map[*cluster.Node]func() (*held.Value[decode.Names], error){}}
}

// Names returns the names on an open node.
func (k *Known) Names(ctx context.Context, n *cluster.Node) (*decode.Names, error) {
	names, err := onceFor(&k.mu, k.nodes, n, func() (*held.Value[decode.Names], error) {
		logical, err := k.logical(ctx, k.cluster.ZoneOf(n))
		if err != nil {
			return nil, err
		}
		return decode.HoldNames(ctx, n.Vswitch(), n, logical)
	})
	if err != nil {
		return nil, err
	}
	return names.Get()
}

// logical returns the names in a zone; nil without a Southbound.
func (k *Known) logical(ctx context.Context, z *cluster.Zone) (*decode.Logical, error) {
	if z == nil || z.SB == nil {
		return nil, nil
	}
	return onceFor(&k.mu, k.zones, z, func() (*decode.Logical, error) { return decode.ReadLogical(ctx, z.SB) })
}

// onceFor returns what ask returned for a key the first time.
func onceFor[K comparable, T any](mu *sync.Mutex, answers map[K]func() (T, error), key K, ask func() (T, error)) (T, error) {
	mu.Lock()
	answer, ok := answers[key]
	if !ok {
		answer = sync.OnceValues(ask)
		answers[key] = answer
	}
	mu.Unlock()
	return answer()
}

// Reads are how nodes are read, for one that has read them before. What is nil is asked of the node.
type Reads struct {
	Network func(n *cluster.Node) (*node.Network, error)
	Ports   func(n *cluster.Node, bridge string) ([]openflow.PortDesc, error)
	Pod     func(n *cluster.Node, link string) (*node.PodNet, error)

	asked func(n *cluster.Node, command string, args []string) (string, error) // ovs-vswitchd
}

// A podKey names a workload by its link on a node.
type podKey struct {
	node *cluster.Node
	link string
}

// once has what nobody has read before read once each, whoever asks for it first.
func (r *Reads) once(ctx context.Context) {
	var mu sync.Mutex
	if r.Network == nil {
		networks := map[*cluster.Node]func() (*node.Network, error){}
		r.Network = func(n *cluster.Node) (*node.Network, error) {
			return onceFor(&mu, networks, n, func() (*node.Network, error) { return n.Host.Network(ctx) })
		}
	}
	if r.Pod == nil {
		pods := map[podKey]func() (*node.PodNet, error){}
		r.Pod = func(n *cluster.Node, link string) (*node.PodNet, error) {
			return onceFor(&mu, pods, podKey{n, link}, func() (*node.PodNet, error) { return n.Host.Pod(ctx, link) })
		}
	}
	replies := map[string]func() (string, error){}
	r.asked = func(n *cluster.Node, command string, args []string) (string, error) {
		return onceFor(&mu, replies, fmt.Sprintf("%s %s %q", n.Name, command, args), func() (string, error) {
			return n.Host.Control(ctx, "ovs-vswitchd", command, args...)
		})
	}
}

// control asks ovs-vswitchd what one trace need not ask twice.
func (r *Reads) control(ctx context.Context, n *cluster.Node, command string, args ...string) (string, error) {
	if r.asked != nil {
		return r.asked(n, command, args)
	}
	return n.Host.Control(ctx, "ovs-vswitchd", command, args...)
}

func (r *Reads) network(ctx context.Context, n *cluster.Node) (*node.Network, error) {
	if r.Network != nil {
		return r.Network(n)
	}
	return n.Host.Network(ctx)
}

func (r *Reads) ports(ctx context.Context, n *cluster.Node, bridge string) ([]openflow.PortDesc, error) {
	if r.Ports != nil {
		return r.Ports(n, bridge)
	}
	text, err := n.Host.Dump(ctx, bridge, node.Ports)
	return openflow.ParsePortDescs(text), err
}

func (r *Reads) pod(ctx context.Context, n *cluster.Node, link string) (*node.PodNet, error) {
	if r.Pod != nil {
		return r.Pod(n, link)
	}
	return n.Host.Pod(ctx, link)
}
