package trace

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/cause"
	"github.com/ovnctl/ovnctl/pkg/trace/ovssim"
)

// A location is where a packet is about to be: at a port of a bridge, or in a host's own network stack.
type location struct {
	node   *nodeView
	bridge string        // empty: the host
	port   packet.PortID // where it enters the bridge
	table  int           // not 0: already in the bridge, about to be looked up in this table
	link   string        // where it enters the host; empty: the host sends it itself
	packet packet.Flow
	tunnel *journey.Encapsulation // the tunnel it came through; nil if none
	// carries is the packet inside, if packet is the outer one of a tunnel; nil if it is not.
	carries *tunnelled
	assumed []journey.Assumption // about where it starts
	began   string               // where it starts: what its TTL begins with and why; empty if its sender was not looked at
	// unsummed is, where it starts, why the packet lacks its checksum; nil if it has it, and where that is not known.
	unsummed *journey.Cause
}

// A nodeView is a node with what is needed to decode the numbers in its flows.
type nodeView struct {
	*cluster.Node
	reads   *Reads
	sw      *ovssim.Fallback
	names   *decode.Names
	bridges []*topology.Bridge // which else might be read again
	decoder *decode.Decoder
	seen    []decode.Seen // all steps so far, for the decoder

	flows      []openflow.FlowEntry // of the integration bridge, once read
	controller *controllerState     // once read

	network    *node.Network
	networkErr error
	filter     []node.Chain // of the host, once read
	filterErr  error
	limits     []openflow.ZoneLimit // of conntrack zones, once read
	limitsRead bool
	table      *bool  // whether the conntrack table is full, once asked
	numbers    string // the datapath's numbers of ports, dpif/show, once asked

	workloads map[string]workload       // by the node's end of the link
	ports     map[string]*topology.Port // by the link that carries them
}

// Control asks a daemon of the node, as ofproto/trace and what belongs to it is asked; the numbers of ports are asked for once.
func (v *nodeView) Control(ctx context.Context, daemon, command string, args ...string) (string, error) {
	if command != "dpif/show" {
		return v.sw.Control(ctx, daemon, command, args...)
	}
	if v.numbers != "" {
		return v.numbers, nil
	}
	reply, err := v.reads.control(ctx, v.Node, command)
	if errors.Is(err, node.ErrUnavailable) {
		reply, err = v.sw.Control(ctx, daemon, command) // which may know them by itself
	}
	v.numbers = reply
	return reply, err
}

// zoneView is what is read once for all nodes of a zone.
type zoneView struct {
	flows   *decode.LogicalFlows
	objects *decode.Objects
}

// view returns the node as a trace sees it. It opens only what is needed of the node, and nothing of others.
func (t *tracer) view(ctx context.Context, n *cluster.Node) (*nodeView, error) {
	if v, ok := t.views[n]; ok {
		return v, nil
	}
	if n.Vswitch() == nil && t.coming != nil {
		t.coming()
	}
	if !n.Far() {
		t.cluster.Gather(ctx, n)
	}
	if n.Vswitch() == nil {
		t.notAsked(n)
		return nil, t.unreadable(n)
	}
	g, err := t.graph.WithNodes(ctx, t.cluster)
	if err != nil {
		return nil, err
	}
	t.graph = g
	zone := t.zone(t.cluster.ZoneOf(n))
	v := &nodeView{Node: n, reads: &t.reads, sw: &ovssim.Fallback{Host: n.Host}, bridges: t.graph.BridgesOf(n.Name), ports: map[string]*topology.Port{}}
	for _, p := range t.graph.Ports {
		for _, a := range p.Interfaces {
			if a.Node == n.Name {
				v.ports[a.Interface] = p
			}
		}
	}
	if v.names, err = t.known.Names(ctx, n); err != nil {
		return nil, err
	}
	v.decoder = &decode.Decoder{Names: v.names, Flows: zone.flows, Objects: zone.objects}
	if t.views == nil {
		t.views = map[*cluster.Node]*nodeView{}
	}
	t.views[n] = v
	return v, nil
}

// notAsked records an unreachable node.
func (t *tracer) notAsked(n *cluster.Node) {
	if !slices.Contains(t.unasked, n.Name) {
		t.unasked = append(t.unasked, n.Name)
	}
}

// simulatedOn records a node whose ovs-vswitchd was simulated.
func (t *tracer) simulatedOn(n *cluster.Node) {
	if !slices.Contains(t.simulated, n.Name) {
		t.simulated = append(t.simulated, n.Name)
	}
}

// missing reports whether an error means that the capture lacks a node's reply.
func (t *tracer) missing(n *cluster.Node, err error) bool {
	if !errors.Is(err, node.ErrUnavailable) {
		return false
	}
	t.notAsked(n)
	return true
}

// A causeError is an error with a known cause for the verdict.
type causeError struct{ journey.Cause }

func (e causeError) Error() string { return cause.Words(e.Cause) }

// causeOf returns the cause that an error stands for.
func causeOf(err error) journey.Cause {
	if e, ok := errors.AsType[causeError](err); ok {
		return e.Cause
	}
	return journey.Cause{Kind: journey.SourceUnread, Detail: err.Error()}
}

// unreadable explains why a node is unreachable, and what to try.
func (t *tracer) unreadable(n *cluster.Node) error {
	c := journey.Cause{Kind: journey.NodeUnread, Node: n.Name, Detail: "node " + n.Name + " was not read: run ovnctl there, or give --via ssh or --node-exec 'PREFIX {hostname}'"}
	for _, p := range t.cluster.Problems {
		if p.Node == n.Name {
			c.Detail = strings.TrimSuffix(p.Error()+": "+p.Next, ": ")
		}
	}
	return causeError{c}
}

// networkOf returns the logical network of a zone, if the packet was followed through it.
func (t *tracer) networkOf(z *cluster.Zone) *logicalflow.Network {
	if t.walker == nil {
		return nil
	}
	return t.walker.Network(z.Name)
}

// zone returns what is read of a zone; nothing of nil.
func (t *tracer) zone(z *cluster.Zone) *zoneView {
	if v, ok := t.zones[z]; ok {
		return v
	}
	v := &zoneView{}
	if z != nil && z.SB != nil {
		v.flows = decode.NewLogicalFlows(z.SB)
		if net := t.networkOf(z); net != nil {
			v.flows.Beside(net)
		}
	}
	if z != nil {
		v.objects = t.objects[z.Name]
	}
	if t.zones == nil {
		t.zones = map[*cluster.Zone]*zoneView{}
	}
	t.zones[z] = v
	return v
}

// net returns what the node's kernel knows of its network, read once.
func (v *nodeView) net(ctx context.Context) (*node.Network, error) {
	if v.network == nil && v.networkErr == nil {
		v.network, v.networkErr = v.reads.network(ctx, v.Node)
	}
	return v.network, v.networkErr
}

// firewall returns the packet filter of the node's host, read once.
func (v *nodeView) firewall(ctx context.Context) ([]node.Chain, error) {
	if v.filter == nil && v.filterErr == nil {
		if v.filter, v.filterErr = v.Host.Firewall(ctx); v.filterErr == nil && v.filter == nil {
			v.filter = []node.Chain{}
		}
	}
	return v.filter, v.filterErr
}

// findInterface returns a node's first interface that satisfies wanted, with its port and bridge; nil if none does.
func (t *tracer) findInterface(node string, wanted func(*topology.Bridge, *topology.BridgePort, *topology.Interface) bool) (*topology.Bridge, *topology.BridgePort, *topology.Interface) {
	for _, b := range t.graph.BridgesOf(node) {
		for _, p := range b.Ports {
			if k := slices.IndexFunc(p.Interfaces, func(i *topology.Interface) bool { return wanted(b, p, i) }); k >= 0 {
				return b, p, p.Interfaces[k]
			}
		}
	}
	return nil, nil, nil
}

// bridgePort finds the port with an OpenFlow port number on a node's bridge.
func (t *tracer) bridgePort(node, bridge string, port uint32) (*topology.BridgePort, *topology.Interface) {
	_, p, i := t.findInterface(node, func(b *topology.Bridge, _ *topology.BridgePort, i *topology.Interface) bool {
		return b.Name == bridge && (uint32(i.OFPort) == port || port == packet.PortLocal && i.Name == b.Name)
	})
	return p, i
}

// interfaceOf finds a node's interface by name, and its bridge.
func (t *tracer) interfaceOf(node, name string) (*topology.Bridge, *topology.Interface) {
	b, _, i := t.findInterface(node, func(_ *topology.Bridge, _ *topology.BridgePort, i *topology.Interface) bool { return i.Name == name })
	return b, i
}

// uplink returns the port through which packets from outside enter a node's bridge, preferably the one named: of a bond the
// active interface, as a bond refuses some packets by the others.
func (t *tracer) uplink(node, bridge string) (string, packet.PortID, bool) {
	var found *topology.Bridge
	for _, b := range t.graph.BridgesOf(node) {
		if len(b.Uplinks) > 0 && (found == nil || b.Name == bridge) {
			found = b
		}
	}
	if found == nil {
		return "", packet.PortID{}, false
	}
	_, _, uplink := t.findInterface(node, func(b *topology.Bridge, p *topology.BridgePort, i *topology.Interface) bool {
		return b.Name == found.Name && (p.Name == b.Uplinks[0] || i.Name == b.Uplinks[0]) && i.OFPort > 0 && (p.BondActive == "" || p.BondActive == i.Name)
	})
	if uplink == nil {
		return "", packet.PortID{}, false
	}
	return found.Name, packet.PortID{Number: uint32(uplink.OFPort)}, true
}

// holder returns the node that owns an address on the underlay: its own, one of a gateway router bound to it, or one
// that a distributed router or a port of a physical network's switch has there. It is nil if no node here has the
// address.
func (t *tracer) holder(a netip.Addr) *cluster.Node {
	if h := t.hosts.byAddress[a]; h != nil {
		return t.cluster.Node(h.chassis.Name)
	}
	for _, r := range t.graph.Routers {
		if r.Chassis != "" && t.routerHas(r, a) {
			return t.cluster.Node(r.Chassis)
		}
	}
	for _, n := range t.cluster.Hosts {
		v, ok := t.views[n]
		if !ok || v.network == nil {
			continue
		}
		if v.network.Owns(a) {
			return n
		}
	}
	if e, ok := t.entryOf(a); ok && e.chassis != "" {
		return t.cluster.Node(e.chassis)
	}
	return nil
}

// holderView returns the node in reach that owns an address on the underlay; nil if there is none.
func (r *run) holderView(ctx context.Context, a netip.Addr) *nodeView {
	return r.inReach(ctx, r.holder(a))
}

// inReach returns what is known of a node; nil if there is none, or it cannot be read.
func (t *tracer) inReach(ctx context.Context, n *cluster.Node) *nodeView {
	if n == nil {
		return nil
	}
	v, err := t.view(ctx, n)
	if err != nil {
		return nil
	}
	return v
}
