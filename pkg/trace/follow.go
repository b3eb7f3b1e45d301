package trace

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/cause"
	"github.com/ovnctl/ovnctl/pkg/trace/ovs"
)

// A tracer answers one query. It caches what it reads for all the paths that it follows.
type tracer struct {
	deployment
	walker    *Walker  // that followed the packet through the logical flows; nil if there are none
	noNodes   bool     // do not read nodes
	unasked   []string // unreachable nodes on the path
	simulated []string // nodes whose ovs-vswitchd was simulated
	views     map[*cluster.Node]*nodeView
	zones     map[*cluster.Zone]*zoneView
	coming    func()    // waits for nodes that are read while others are asked; nil if there are none
	beganAt   *nodeView // the node that sends the first packet itself; nil if a workload or the network outside does

	ingress  *journey.Ingress // where the packet enters a bridge
	firstTTL int              // of the first packet, as it begins
	commands []string         // that show the same, in order

	known    *Known
	reads    Reads
	standing *Standing // nil: wait to see what lasts

	laterHops map[*journey.Direction][]journey.Hop // of a later packet of the same connection
}

// A run follows one connection: its first packet and then the reply.
type run struct {
	*tracer
	ct     *ovs.Conntrack
	dpHash uint32 // selects the bucket of hashed groups
	// fromOutside is set if the connection begins in the network outside.
	fromOutside bool
	outerOnly   bool           // what comes out of a tunnel is not followed
	replying    bool           // the packet is the reply
	ttl         string         // what its TTL begins with and why; empty if its sender was not looked at
	length      int            // of the packets in bytes, Ethernet header included; 0: unknown
	untaken     *journey.Cause // a zone that was too full for the connection
	unsummed    *journey.Cause // the packet lacks its checksum; nil if it has it
	// backend is where the packet was first translated to, if anywhere.
	backend netip.AddrPort
}

// An ending is where a packet, or a copy of it, ends.
type ending struct {
	verdict journey.Verdict
	reached string   // with Delivered: the receiver, in words
	outside bool     // with Delivered: it left for the network outside
	at      location // where its reply starts, with the packet as it arrived
	link    string   // the node's end of the receiving workload's link; empty if there is none
	hops    []journey.Hop
	stray   bool             // a flooded copy for another receiver
	learned *journey.Learned // with Dropped: what its drop taught
	assumed []journey.Assumption
}

// maxLocations bounds a path: the hosts and bridges that a packet and its copies visit.
const maxLocations = 64

// follow takes a packet from a location to where it ends. Of several copies, the one that arrives counts; if none does,
// the one that came furthest.
func (r *run) follow(ctx context.Context, start location) (ending, error) {
	type branch struct {
		location
		hops    []journey.Hop
		assumed []journey.Assumption
	}
	queue := []branch{{location: start, assumed: start.assumed}}
	var best *ending
	for n := 0; len(queue) > 0; n++ {
		if n == maxLocations {
			return ending{}, causeError{journey.Cause{Kind: journey.Loop, Detail: fmt.Sprint(maxLocations)}}
		}
		b := queue[0]
		queue = queue[1:]
		outcomes, err := r.visit(ctx, b.location)
		if ctx.Err() != nil {
			return ending{}, ctx.Err()
		}
		if err != nil {
			c := journey.Cause{Kind: journey.VswitchdSilent, Node: b.node.Name, Detail: err.Error()}
			if r.missing(b.node.Node, err) {
				c.Kind = journey.NotRecorded
			}
			v := journey.Verdict{Outcome: journey.Unknown, Node: b.node.Name, Datapath: b.bridge, Because: c}
			outcomes = []outcome{{end: &ending{verdict: v}}}
		}
		for _, o := range outcomes {
			hops, assumed := join(b.hops, o.hops, b.table != 0), slices.Concat(b.assumed, o.assumed)
			if o.next != nil {
				queue = append(queue, branch{*o.next, hops, assumed})
				continue
			}
			e := o.end
			e.hops, e.assumed = hops, slices.Concat(assumed, e.assumed)
			if best == nil || better(e, best) {
				best = e
			}
		}
	}
	if best == nil {
		return ending{}, causeError{journey.Cause{Kind: journey.NoEnd}}
	}
	return *best, nil
}

// join appends a location's hops to those before it. A packet that was only held up continues in its last hop.
func join(before, hops []journey.Hop, heldUp bool) []journey.Hop {
	all := slices.Concat(before, hops)
	n := len(before)
	if !heldUp || n == 0 || len(hops) == 0 || all[n-1].Datapath != all[n].Datapath {
		return all
	}
	merged := all[n-1]
	merged.Steps = slices.Concat(all[n-1].Steps, all[n].Steps)
	merged.To = all[n].To
	all[n-1] = merged
	return slices.Delete(all, n, n+1)
}

// better reports whether copy a counts rather than b.
func better(a, b *ending) bool {
	if a.stray != b.stray {
		return b.stray
	}
	rank := map[journey.Outcome]int{journey.Delivered: 2, journey.Unknown: 1}
	return rank[a.verdict.Outcome] > rank[b.verdict.Outcome]
}

// An outcome is what one location does with a packet: it ends there or moves to the next.
type outcome struct {
	hops    []journey.Hop
	end     *ending
	next    *location
	assumed []journey.Assumption
}

func (o *outcome) assume(a ...journey.Assumption) { o.assumed = append(o.assumed, a...) }

func (r *run) visit(ctx context.Context, p location) ([]outcome, error) {
	r.ct.Invalid = r.unsummed != nil && p.carries == nil
	if p.bridge == "" {
		o, err := r.host(ctx, p)
		return []outcome{o}, err
	}
	walk, err := ovs.Follow(ctx, p.node, p.node.Name, r.ct, r.start(p))
	if err != nil {
		return nil, err
	}
	if p.node.sw.Simulated() {
		r.simulatedOn(p.node.Node)
	}
	for _, request := range walk.Requests {
		r.command(p.node, "ovs-appctl "+cause.Shell(request...))
	}
	r.learn(ctx, p.node, walk)
	if p.carries != nil {
		o, err := r.carry(ctx, p, walk)
		return []outcome{o}, err
	}
	var outcomes []outcome
	for _, leaf := range walk.Leaves {
		o := outcome{hops: r.hops(ctx, p, leaf)}
		r.noteBackend(leaf)
		if err := r.leave(ctx, p, leaf, &o); err != nil {
			return nil, err
		}
		r.metered(&o)
		r.meteredBy(p, leaf, &o)
		r.uncommitted(p, leaf, &o)
		outcomes = append(outcomes, o)
	}
	return outcomes, nil
}

// start returns where a packet enters the tables of a bridge.
func (r *run) start(p location) ovs.Start {
	start := ovs.Start{Bridge: p.bridge, Packet: p.packet, Table: p.table, Length: r.length}
	if p.table == 0 {
		start.Packet.SetInPort(p.port)
	}
	start.Packet.SetUint("dp_hash", uint64(r.dpHash))
	if r.replying && p.carries == nil {
		start.Known = "trk,est,rpl"
	}
	return start
}

// noteBackend records the backend that the packet was sent to.
func (r *run) noteBackend(leaf ovs.Leaf) {
	for _, s := range leaf.Steps {
		for _, c := range s.Tracked {
			if c.Commit && c.From.Dst != c.To.Dst && !r.backend.IsValid() {
				r.backend = netip.AddrPortFrom(c.To.Dst, c.To.DstPort)
			}
		}
	}
}

// leave handles a packet that leaves a node's bridges or ends there.
func (r *run) leave(ctx context.Context, p location, leaf ovs.Leaf, o *outcome) error {
	switch leaf.Kind {
	case ovs.ToPort:
		return r.toPort(ctx, p, leaf, o)
	case ovs.ToTunnel:
		return r.toTunnel(ctx, p, leaf, o)
	case ovs.Unknown:
		o.end = &ending{verdict: r.stopped(p, o, journey.Unknown, journey.Cause{Kind: journey.ActionUnknown, Detail: leaf.Reason})}
	case ovs.Failed:
		o.end = &ending{verdict: r.stopped(p, o, journey.Dropped, journey.Cause{Kind: journey.OVSGivesUp, Detail: leaf.Reason})}
	default:
		if next, note := r.resolved(ctx, p, leaf, o); next != nil {
			o.next = next
			addNote(o.hops, note)
			return nil
		}
		v := r.dropped(ctx, p, leaf, o)
		o.end = &ending{verdict: v, learned: r.learned(p, leaf, &v)}
	}
	return nil
}

// learned returns what OVN learned from a packet that it dropped; nil if that was not why it dropped it.
func (r *run) learned(p location, leaf ovs.Leaf, v *journey.Verdict) *journey.Learned {
	last, ok := lastStep(leaf)
	learns := func(a openflow.Action) bool { _, ok := a.(openflow.Learn); return ok }
	if !ok || leaf.Kind != ovs.Dropped || !slices.ContainsFunc(last.Parsed, learns) {
		return nil
	}
	return &journey.Learned{Node: v.Node, Datapath: v.Datapath, Stage: v.Stage, Userspace: r.netdev(p.node.Name)}
}

// addNote adds a note to the last step.
func addNote(hops []journey.Hop, note string) {
	if n := len(hops); n > 0 {
		if steps := hops[n-1].Steps; len(steps) > 0 {
			last := &steps[len(steps)-1]
			last.Notes = append(last.Notes, note)
		}
	}
}

// resolved continues with a packet that waits for its next hop's MAC address, if that can be determined: ovn-controller
// asks for it and sends the packet on once the reply comes.
func (r *run) resolved(ctx context.Context, p location, leaf ovs.Leaf, o *outcome) (*location, string) {
	last, ok := lastStep(leaf)
	if !ok || !asksForMAC(leaf) {
		return nil, ""
	}
	hop := cause.NextHop(&leaf.Packet)
	if !hop.IsValid() {
		return nil, ""
	}
	if v := r.holderView(ctx, hop); v != nil && len(r.graph.PortsAt(hop)) == 0 {
		if _, mute := (asking{from: p.node, to: v, target: hop}).mute(ctx, o); mute {
			return nil, ""
		}
	}
	mac, from, sure := r.macOf(ctx, p.node, hop)
	reply := fmt.Sprintf("and the reply is %s (%s)", mac, from)
	if mac == "" {
		if !r.asksOutside(p.node, leaf) || p.node.silent(ctx, hop) {
			return nil, ""
		}
		mac, reply = anyMAC, "and a reply from outside is assumed"
	}
	if !sure {
		o.assume(journey.Assumption{Kind: journey.NextHopAnswers, Nodes: []string{p.node.Name}, Objects: []string{hop.String()}})
	}
	next := last.Before
	setMAC(&next, "eth_dst", mac)
	note := fmt.Sprintf("%s is not resolved yet: ovn-controller asks for it, %s", hop, reply)
	return &location{node: p.node, bridge: last.Bridge, table: last.Table, packet: next}, note
}

// asksOutside reports whether the MAC address is resolved on a physical network, which cannot be read.
func (r *run) asksOutside(n *nodeView, leaf ovs.Leaf) bool {
	name := strings.TrimPrefix(r.outport(n, leaf.Packet), "cr-")
	port := r.graph.PortByName(name)
	return port != nil && r.leadsOut(port)
}

// silent reports whether a neighbour did not reply when the node asked for its MAC address.
func (v *nodeView) silent(ctx context.Context, a netip.Addr) bool {
	net, err := v.net(ctx)
	return err == nil && slices.ContainsFunc(net.Neighbours, func(x node.Neighbour) bool {
		return x.Addr == a && x.Silent()
	})
}

// macOf finds a neighbour's MAC address: in OVN, on the node that has the address, and in what the node's kernel has
// learned. It is not sure if nothing was heard from the neighbour lately.
func (r *run) macOf(ctx context.Context, n *nodeView, a netip.Addr) (mac, from string, sure bool) {
	for _, p := range r.graph.PortsAt(a) {
		if len(p.MACs) > 0 {
			return p.MACs[0], "port " + p.Name, true
		}
	}
	if v := r.holderView(ctx, a); v != nil {
		if mac := v.macAt(ctx, a); mac != "" {
			return mac, "node " + v.Name, true
		}
	}
	if net, err := n.net(ctx); err == nil {
		for _, x := range net.Neighbours {
			if x.Addr == a && x.MAC != "" && x.State != "failed" {
				return x.MAC, "neighbour of node " + n.Name, x.State == "reachable" || x.State == "permanent"
			}
		}
	}
	return "", "", false
}

// macAt returns the MAC address of the node's link that has an address.
func (v *nodeView) macAt(ctx context.Context, a netip.Addr) string {
	if _, link := v.addressOf(ctx, a); link != nil {
		return link.MAC
	}
	return ""
}

// addressOf returns an address of the node's host and its link; nil if the node does not have it, or could not be read.
func (v *nodeView) addressOf(ctx context.Context, a netip.Addr) (node.Address, *node.Link) {
	net, err := v.net(ctx)
	if err != nil {
		return node.Address{}, nil
	}
	for _, x := range net.Addresses {
		if link := net.Link(x.Link); x.Prefix.Addr() == a && link != nil {
			return x, link
		}
	}
	return node.Address{}, nil
}

func (r *run) toPort(ctx context.Context, p location, leaf ovs.Leaf, o *outcome) error {
	port, iface := r.bridgePort(p.node.Name, leaf.Bridge, leaf.Port.Number)
	if port == nil {
		o.end = &ending{verdict: r.stopped(p, o, journey.Unknown, journey.Cause{Kind: journey.NotInDatabase, Port: leaf.Port.String(), Bridge: leaf.Bridge})}
		return nil
	}
	arrived := location{node: p.node, bridge: leaf.Bridge, port: packet.PortID{Number: leaf.Port.Number}, packet: leaf.Packet}
	if len(o.hops) > 0 {
		o.hops[len(o.hops)-1].To = portName(port, iface)
	}
	switch {
	case port.Role == topology.RoleUplink:
		return r.outside(ctx, arrived, iface.Name, o)
	case port.Role == topology.RoleLocal, port.Role == topology.RoleInternal, iface.Type == "internal":
		net, err := p.node.net(ctx)
		if err == nil && net.Link(iface.Name) == nil {
			break // it was moved into its workload's namespace
		}
		o.next = &location{node: p.node, link: iface.Name, packet: leaf.Packet}
		return nil
	}
	o.end = r.atPort(ctx, arrived, port.LogicalPort, iface)
	return nil
}

func portName(port *topology.BridgePort, iface *topology.Interface) string {
	if port.LogicalPort != "" {
		return port.LogicalPort
	}
	return iface.Name
}

// atPort ends a packet at a workload's interface.
func (r *run) atPort(ctx context.Context, at location, logical string, iface *topology.Interface) *ending {
	name := logical
	if name == "" {
		name = iface.Name
	}
	v := journey.Verdict{Outcome: journey.Delivered, Node: at.node.Name, Port: name}
	reached := name
	link := ""
	var assumed []journey.Assumption
	if lsp := r.child(r.graph.PortByName(logical), &at.packet); lsp != nil {
		reached, v.Port = lsp.Label(), lsp.Name
		if lsp.Switch != nil {
			v.Datapath = lsp.Switch.Name
		}
		t, ok := at.packet.Tuple()
		if ok && !r.owns(lsp, t.Dst) {
			v.Outcome = journey.Dropped
			v.Because = journey.Cause{Kind: journey.WrongPort, Port: lsp.Name, Address: t.Dst}
			return &ending{verdict: v, at: at, stray: true}
		}
		if ok && lsp.Parent == "" && slices.Contains(lsp.Addresses, t.Dst.String()) {
			link = iface.Name
			if stopped := r.takes(ctx, at.node, link, t, macText(at.packet, "eth_src"), r.replying); stopped != nil {
				v.Outcome, v.Because = stopped.Outcome, stopped.Because
			}
		}
		assumed = r.unseen(ctx, at.node, link, lsp, t, macText(at.packet, "eth_src"), r.replying, true)
	}
	if need := r.length - ethernetHeader; v.Outcome == journey.Delivered && iface.MTU > 0 && need > iface.MTU {
		v.Outcome = journey.Dropped
		v.Because = journey.Cause{Kind: journey.LinkTooSmall, Link: iface.Name, Node: at.node.Name, Detail: fmt.Sprintf("%d of %d", need, iface.MTU)}
	}
	if c, drops := r.queueDrops(ctx, at, iface.Name); drops && v.Outcome == journey.Delivered {
		v.Outcome, v.Because = journey.Dropped, c
	}
	if iface.LinkState == "down" && v.Outcome == journey.Delivered {
		v.Outcome, v.Because = journey.Dropped, journey.Cause{Kind: journey.LinkDown, Link: iface.Name, Port: name}
	}
	return &ending{verdict: v, at: at, link: link, assumed: assumed, reached: reached + " on " + at.node.Name}
}

func (d *deployment) owns(p *topology.Port, a netip.Addr) bool {
	if len(p.Addresses) == 0 || p.UnknownAddresses {
		return true // any address is allowed
	}
	if slices.ContainsFunc(d.graph.PortsAt(a), func(at *topology.Port) bool { return at == p || at.VirtualParent == p.Name }) {
		return true
	}
	for _, line := range p.PortSecurity { // MAC ADDRESS[/LENGTH]…
		for word := range strings.FieldsSeq(line) {
			n, err := netip.ParsePrefix(word)
			x, err2 := netip.ParseAddr(word)
			if err == nil && n.Contains(a) || err2 == nil && x == a {
				return true
			}
		}
	}
	return false
}

// child returns the child port for the packet's VLAN, or the port itself.
func (d *deployment) child(p *topology.Port, packet *packet.Flow) *topology.Port {
	vlan := int(packet.Uint("dl_vlan"))
	if p == nil || vlan == 0 {
		return p
	}
	for _, c := range d.graph.Ports {
		if c.Parent == p.Name && c.Tag == vlan {
			return c
		}
	}
	return p
}

// fresh returns the packet as on the wire, without a bridge's metadata.
func fresh(p packet.Flow) packet.Flow {
	p.ClearConntrack()
	p.ClearRegisters()
	p.ClearTunnel()
	p.SetUint("pkt_mark", 0)
	return p
}
