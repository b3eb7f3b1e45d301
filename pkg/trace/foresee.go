package trace

import (
	"context"
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/trace/ovs"
)

// usualBridge is the name of nearly every integration bridge: it is not known before a node's database is read.
const usualBridge = "br-int"

// usual returns what every trace asks ovs-vswitchd of a node that it comes by.
func usual(userspace bool) [][]string {
	questions := [][]string{{"dpif/show"}, {"dpctl/ct-get-limits"}}
	if userspace {
		questions = append(questions, []string{"dpctl/ct-get-maxconns", userspaceDatapath}, []string{"dpctl/ct-get-nconns", userspaceDatapath})
	}
	return questions
}

// Prepare has nodes on other hosts answer with their first reply what every trace asks of a node that it comes by. Call it
// before the deployment is loaded.
func Prepare(c *cluster.Cluster) {
	for _, n := range c.Hosts {
		ahead := node.AskAhead(n.Host)
		ahead.Control("ovn-controller", "version")
		ahead.Dump(usualBridge, node.TLVMap)
		for _, question := range usual(true) {
			ahead.Control("ovs-vswitchd", question[0], question[1:]...)
		}
	}
}

// foresee has the other end of a tunnel, on another host, answer in one round trip what is asked of it if nothing stands in the
// way: how its bridges treat the outer packet and the one inside, what its workload is like, and where the reply goes. What comes
// otherwise is asked when it comes.
func (r *run) foresee(ctx context.Context, c *tunnelled, source, remote netip.Addr, outer packet.Flow) {
	far := c.to
	ahead := node.AskAhead(far.node.Host)
	defer ahead.Send(ctx)
	under := location{node: far.node, packet: fresh(outer), carries: c}
	if b := r.bridgeAt(ctx, far.node, remote); b != nil {
		under.bridge, under.port, _ = r.uplink(far.node.Name, b.Name)
	}
	if under.bridge != "" {
		r.askAhead(under)
	}
	if r.outerOnly {
		return
	}
	r.askAhead(far)
	t, ok := far.packet.Tuple()
	if !ok {
		return
	}
	ports := r.graph.PortsAt(t.Dst)
	if h := r.hosts.byAddress[t.Dst]; len(ports) == 0 && h != nil && h.port != nil {
		if port := r.graph.PortByName(h.port.Name); port != nil { // with what was read of the nodes
			ports = append(ports, port)
		}
	}
	for _, port := range ports {
		for _, a := range port.Interfaces {
			if a.Node != far.node.Name || a.OFPort <= 0 {
				continue
			}
			ahead.Pod(ctx, a.Interface)
			reply, ok := ovs.Reply(far.packet)
			if r.replying || !ok {
				continue
			}
			then := r.answering()
			r.byGateway(port, &reply)
			then.askAhead(location{node: far.node, bridge: far.bridge, port: packet.PortID{Number: uint32(a.OFPort)}, packet: reply})
			if under.bridge != "" {
				then.askAhead(location{node: far.node, bridge: under.bridge, port: packet.PortID{Number: packet.PortLocal}, packet: r.back(ctx, c, source, remote, outer), carries: c})
			}
		}
	}
}

// foreseeAnswer has a node on another host, which a packet reaches over the underlay, answer with what its bridge does how that treats
// the host's reply.
func (r *run) foreseeAnswer(at location) {
	reply, ok := ovs.Reply(at.packet)
	if r.replying || !ok {
		return
	}
	at.port, at.packet = packet.PortID{Number: packet.PortLocal}, reply
	r.answering().askAhead(at)
}

// answering returns the run as it is when the reply is followed.
func (r *run) answering() *run {
	then := *r
	then.replying = true
	return &then
}

// askAhead asks ahead what a bridge does with a packet.
func (r *run) askAhead(at location) {
	request := r.start(at).Request()
	node.AskAhead(at.node.Host).Control("ovs-vswitchd", request[0], request[1:]...)
}

// back returns the outer packet of the reply to one that came through a tunnel.
func (r *run) back(ctx context.Context, c *tunnelled, source, remote netip.Addr, outer packet.Flow) packet.Flow {
	p := outer
	t, _ := outer.Tuple()
	t.Src, t.Dst = remote, source
	p.SetTuple(t)
	setMAC(&p, "eth_src", c.to.node.macAt(ctx, remote))
	setMAC(&p, "eth_dst", c.from.macAt(ctx, source))
	return p
}
