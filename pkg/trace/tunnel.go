package trace

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/trace/ovs"
)

// toTunnel continues with an encapsulated packet on the node at the other end.
func (r *run) toTunnel(ctx context.Context, p location, leaf ovs.Leaf, o *outcome) error {
	port, _ := p.node.names.OFPort(leaf.Bridge, int(leaf.Port.Number))
	if port.Tunnel != nil && leaf.Remote.IsValid() && port.Tunnel.Remote != leaf.Remote {
		// A bundle's first member may be down.
		if alive, ok := p.node.names.TunnelFrom(leaf.Remote, netip.Addr{}); ok {
			port = alive
		}
	}
	tun := &journey.Encapsulation{Type: port.Type, Key: leaf.Packet.Uint("tun_id")}
	remote := leaf.Remote
	var to *cluster.Node
	if port.Tunnel != nil {
		remote, tun.Chassis = port.Tunnel.Remote, port.Tunnel.Chassis
		to = r.cluster.Node(port.Tunnel.Chassis)
	} else if to = r.holder(remote); to != nil {
		tun.Chassis = to.SystemID
	}
	tun.Remote = remote.String()
	source := r.encap(p.node, port)
	if source.IsValid() {
		tun.Source = source.String()
	}
	r.decodeTunnel(p.node, leaf.Packet, tun)
	if leaf.Unresolved {
		addNote(o.hops, fmt.Sprintf("%s is not resolved yet: ovs-vswitchd asks for it and drops this packet, the next one goes", remote))
	}
	if c, cut := r.cutOff(ctx, p.node, remote); cut && leaf.Via == "" {
		o.end = &ending{verdict: r.stopped(p, o, journey.Dropped, c)}
		return nil
	}
	o.hops = append(o.hops, journey.Hop{Node: p.node.Name, Datapath: tun.Datapath, Kind: "tunnel", Tunnel: tun, Steps: []journey.Step{}})
	if to == nil {
		o.end = &ending{verdict: r.stopped(p, o, journey.Unknown, journey.Cause{Kind: journey.NoTunnelNode, Address: remote})}
		return nil
	}
	v, err := r.view(ctx, to)
	if err != nil {
		o.end = &ending{verdict: journey.Verdict{Outcome: journey.Unknown, Node: to.Name, Because: causeOf(err)}}
		return nil
	}
	in, ok := v.names.TunnelFrom(source, remote)
	if !ok {
		c := journey.Cause{Kind: journey.NoTunnelPort, Node: to.Name, Other: source, Address: remote}
		o.end = &ending{verdict: journey.Verdict{Outcome: journey.Dropped, Node: to.Name, Because: c}}
		return nil
	}
	if c, differ := r.otherOptions(p.node, v, port.Interface, in.Interface); differ {
		o.end = &ending{verdict: r.stopped(p, o, journey.Dropped, c)}
		return nil
	}
	end := location{node: v, bridge: in.Bridge, port: packet.PortID{Number: uint32(in.Number)}, packet: r.encapsulated(p.node, v, leaf.Packet, source, remote), tunnel: tun}
	r.encapsulate(ctx, p, port, leaf, source, remote, end, o)
	return nil
}

// encap returns the address from which a node sends into a tunnel.
func (r *run) encap(n *nodeView, port decode.OFPort) netip.Addr {
	if port.Tunnel != nil && port.Tunnel.Local.IsValid() {
		return port.Tunnel.Local
	}
	for _, c := range r.graph.Chassis {
		if c.Name != n.SystemID {
			continue
		}
		for _, e := range c.Encaps {
			if ip, err := netip.ParseAddr(e.IP); err == nil && (e.Type == port.Type || port.Type == "") {
				return ip
			}
		}
	}
	for _, node := range r.graph.Nodes {
		if node.Name != n.Name {
			continue
		}
		for _, e := range node.Encaps {
			if ip, err := netip.ParseAddr(e.IP); err == nil {
				return ip
			}
		}
	}
	return netip.Addr{}
}

// encapsulated returns the packet as the other node's tunnel port passes it to its bridge.
func (r *run) encapsulated(from, to *nodeView, p packet.Flow, source, remote netip.Addr) packet.Flow {
	key := p.Uint("tun_id")
	var option packet.Value
	sent, haveOption := from.names.OptionField()
	if haveOption {
		option = p.Get(packet.TunMetadata(sent))
	}
	p = fresh(p)
	src, dst := "tun_src", "tun_dst"
	if remote.Is6() {
		src, dst = "tun_ipv6_src", "tun_ipv6_dst"
	}
	p.SetUint("tun_id", key)
	if source.IsValid() {
		p.Set(packet.MustField(src), packet.FromAddr(source))
	}
	p.Set(packet.MustField(dst), packet.FromAddr(remote))
	if received, ok := to.names.OptionField(); ok && haveOption {
		p.Set(packet.TunMetadata(received), option)
	}
	return p
}

// decodeTunnel names the contents of a tunnel header.
func (r *run) decodeTunnel(n *nodeView, p packet.Flow, tun *journey.Encapsulation) {
	key := tun.Key
	var inport, outport uint64
	if tun.Type == "vxlan" {
		key, outport = decode.SplitVNI(key)
	} else if field, ok := n.names.OptionField(); ok {
		inport, outport = decode.SplitOption(uint32(p.Get(packet.TunMetadata(field)).Lo))
	}
	if d := n.names.Datapath(key); d != nil {
		tun.Datapath = d.Name
	}
	tun.Inport, tun.Outport = r.portText(n, key, inport), r.portText(n, key, outport)
}

func (t *tracer) portText(n *nodeView, datapath, key uint64) string {
	if key == 0 {
		return ""
	}
	if p := n.names.Port(datapath, key); p != nil {
		return p.Name
	}
	if g := n.names.Group(datapath, key); g != nil {
		return g.Name
	}
	return fmt.Sprintf("%#x", key)
}
