package trace

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/cause"
	"github.com/ovnctl/ovnctl/pkg/trace/ovs"
)

// A Ground answers what carries OVN: whether tunnel packets pass between nodes, and whether workloads take part in their
// networks. It follows packets as traces do, so that a check and a trace cannot disagree. It is not safe for concurrent
// use; each of several questions at a time has a Ground of its own, from [Ground.Beside].
type Ground struct{ tracer }

// NewGround prepares the questions about a deployment. Its nodes are read as reads says.
func NewGround(c *cluster.Cluster, g *topology.Graph, known *Known, reads Reads) *Ground {
	return &Ground{tracer{deployment: newDeployment(c, g), known: known, reads: reads}}
}

// Beside returns a Ground for another question at the same time.
func (g *Ground) Beside() *Ground {
	return &Ground{tracer{deployment: g.deployment, known: g.known, reads: g.reads}}
}

// ReadPods has the namespaces of workloads read by a function.
func (g *Ground) ReadPods(read func(n *cluster.Node, link string) (*node.PodNet, error)) {
	g.reads.Pod = read
}

// A Loss is a packet that does not pass.
type Loss struct {
	From, To string // nodes, of a tunnel; or the node alone
	Port     string // logical, of a workload
	Because  journey.Cause
	Words    string // the cause
}

// loss returns the loss for a verdict; ok is false if nothing is known to be lost.
func loss(from, to string, v journey.Verdict) (Loss, bool) {
	if v.Outcome != journey.Dropped && v.Outcome != journey.Rejected || v.Because.Detail == "martian" { // by which link a packet comes in is assumed
		return Loss{}, false
	}
	if v.Because.Node == "" {
		v.Because.Node = v.Node
	}
	return Loss{From: from, To: to, Because: v.Because, Words: cause.Words(v.Because)}, true
}

// Tunnels follows an encapsulated packet from a node to each of its peers, at most the given number, and returns those
// that are lost, and how many ways could be followed. From a peer that cannot be read it follows one that arrives. What cannot
// be looked at is not lost.
func (g *Ground) Tunnels(ctx context.Context, n *cluster.Node, most int) (lost []Loss, followed int, err error) {
	v, err := g.view(ctx, n)
	if err != nil {
		return nil, 0, err
	}
	for _, port := range g.peers(v, most) {
		to := g.cluster.Node(port.Tunnel.Chassis)
		if to == nil {
			continue
		}
		verdict, err := g.throughTunnel(ctx, v, to, port)
		if err != nil {
			return lost, followed, err
		}
		if verdict.Outcome != journey.Unknown {
			followed++
		}
		if l, ok := loss(n.Name, to.Name, verdict); ok {
			lost = append(lost, l)
		}
		if _, err := g.view(ctx, to); err == nil {
			continue
		}
		if verdict, err = g.fromTunnel(ctx, v, to, port); err != nil {
			return lost, followed, err
		}
		if verdict.Outcome != journey.Unknown {
			followed++
		}
		if l, ok := loss(to.Name, n.Name, verdict); ok {
			lost = append(lost, l)
		}
	}
	return lost, followed, nil
}

// peers returns a node's tunnel ports, one for each peer, beginning with those that follow it in the alphabet: so each
// node is the peer of as many others.
func (g *Ground) peers(v *nodeView, most int) []decode.OFPort {
	ports := slices.DeleteFunc(v.names.OFPorts(""), func(p decode.OFPort) bool { return p.Tunnel == nil || !p.Tunnel.Remote.IsValid() || p.Number <= 0 })
	slices.SortFunc(ports, func(a, b decode.OFPort) int {
		return cmp.Or(cmp.Compare(a.Tunnel.Chassis, b.Tunnel.Chassis), cmp.Compare(a.Interface, b.Interface))
	})
	ports = slices.CompactFunc(ports, func(a, b decode.OFPort) bool { return a.Tunnel.Chassis == b.Tunnel.Chassis })
	first := slices.IndexFunc(ports, func(p decode.OFPort) bool { return p.Tunnel.Chassis > v.SystemID })
	if first > 0 {
		ports = slices.Concat(ports[first:], ports[:first])
	}
	return ports[:min(len(ports), most)]
}

// throughTunnel sends a packet into a tunnel port, and follows it to where it comes out, or leaves for a node that cannot
// be read.
func (g *Ground) throughTunnel(ctx context.Context, v *nodeView, to *cluster.Node, port decode.OFPort) (journey.Verdict, error) {
	r := g.run()
	inner := Packet{Protocol: "udp", Src: port.Tunnel.Remote, Dst: port.Tunnel.Remote, SourcePort: 9, Port: 9}.frame(noMAC, anyMAC)
	inner.SetUint("tun_id", 1)
	at := location{node: v, bridge: port.Bridge, packet: inner}
	start := ovs.Start{Bridge: port.Bridge, Packet: inner, Actions: fmt.Sprintf("output:%d", port.Number)}
	start.Packet.SetInPort(packet.PortID{Number: packet.PortLocal})
	walk, err := ovs.Follow(ctx, v, v.Name, r.ct, start)
	if err != nil || len(walk.Leaves) == 0 {
		return journey.Verdict{Outcome: journey.Unknown}, ctx.Err()
	}
	leaf := walk.Leaves[0]
	if leaf.Kind != ovs.ToTunnel {
		return r.untunnelled(at, leaf), nil
	}
	var o outcome
	if _, err := r.view(ctx, to); err == nil {
		if err := r.toTunnel(ctx, at, leaf, &o); err != nil {
			return journey.Verdict{}, err
		}
		return r.outerWay(ctx, &o)
	}
	end := location{node: &nodeView{Node: to, reads: &r.reads}, tunnel: &journey.Encapsulation{Type: port.Type}}
	r.encapsulate(ctx, at, port, leaf, r.encap(v, port), port.Tunnel.Remote, end, &o)
	return r.outerWay(ctx, &o)
}

// fromTunnel follows a packet from a peer that cannot be read, from a node's uplink to its tunnel port.
func (g *Ground) fromTunnel(ctx context.Context, v *nodeView, from *cluster.Node, port decode.OFPort) (journey.Verdict, error) {
	r := g.run()
	own := r.encap(v, port)
	if !own.IsValid() || own.Is6() != port.Tunnel.Remote.Is6() {
		return journey.Verdict{Outcome: journey.Unknown}, nil
	}
	frame := outerFrame(port, port.Tunnel.Remote, own)
	setMAC(&frame, "eth_src", anyMAC)
	setMAC(&frame, "eth_dst", v.macAt(ctx, own))
	end := location{node: v, bridge: port.Bridge, port: packet.PortID{Number: uint32(port.Number)}, tunnel: &journey.Encapsulation{Type: port.Type}}
	at := location{node: v, packet: frame, carries: &tunnelled{from: &nodeView{Node: from, reads: &r.reads}, to: end}}
	net, err := v.net(ctx)
	if err != nil {
		return journey.Verdict{Outcome: journey.Unknown}, ctx.Err()
	}
	for _, a := range net.Addresses {
		if a.Prefix.Addr() == own {
			at.link = a.Link
		}
	}
	if at.link == "" {
		return journey.Verdict{Outcome: journey.Unknown}, nil // a check of its own reports it
	}
	if b := r.bridgeAt(ctx, v, own); b != nil {
		bridge, uplink, ok := r.uplink(v.Name, b.Name)
		if !ok || bridge != b.Name {
			return journey.Verdict{Outcome: journey.Unknown}, nil
		}
		at.bridge, at.port, at.link = bridge, uplink, ""
	}
	return r.outerWay(ctx, &outcome{next: &at})
}

// run starts a connection of its own.
func (g *Ground) run() *run {
	return &run{tracer: &g.tracer, ct: &ovs.Conntrack{}, dpHash: 1, outerOnly: true}
}

// untunnelled returns the verdict for a packet that ovs-vswitchd does not send into a tunnel.
func (r *run) untunnelled(at location, leaf ovs.Leaf) journey.Verdict {
	c := journey.Cause{Kind: journey.OVSDrops, Node: at.node.Name, Bridge: at.bridge, Detail: leaf.Reason}
	if leaf.Reason == "" {
		return journey.Verdict{Outcome: journey.Unknown, Node: at.node.Name}
	}
	return journey.Verdict{Outcome: journey.Dropped, Node: at.node.Name, Datapath: at.bridge, Because: c}
}

// outerWay follows an outer packet until it comes out of its tunnel.
func (r *run) outerWay(ctx context.Context, o *outcome) (journey.Verdict, error) {
	for range maxLocations {
		switch {
		case o.end != nil:
			return o.end.verdict, nil
		case o.next == nil:
			return journey.Verdict{Outcome: journey.Unknown}, nil
		case slices.ContainsFunc(o.assumed, func(a journey.Assumption) bool { return a.Kind == journey.HostNetworks }):
			return journey.Verdict{Outcome: journey.Unknown}, nil
		case o.next.carries == nil:
			return journey.Verdict{Outcome: journey.Delivered, Node: o.next.node.Name}, nil
		}
		next, err := r.visit(ctx, *o.next)
		if err != nil || len(next) == 0 {
			return journey.Verdict{Outcome: journey.Unknown}, ctx.Err()
		}
		o = &next[0]
	}
	return journey.Verdict{Outcome: journey.Unknown}, nil
}
