package trace

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/ovs"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// inOtherVLAN reports whether a packet leaves in another VLAN than that in which the host itself has the next hop as its
// neighbour, on the bridge's own interface. Where the bridge alone has seen the next hop's MAC address in another VLAN, an
// answer is assumed: a router often has one MAC address in all its VLANs.
func (r *run) inOtherVLAN(ctx context.Context, at location, link string, o *outcome) (journey.Cause, bool) {
	vlan, mac := int(at.packet.Uint("dl_vlan")), macText(at.packet, "eth_dst")
	if vlan == 0 {
		return journey.Cause{}, false
	}
	seen, err := r.seenInVLANs(ctx, at, mac)
	if err != nil || slices.Contains(seen, vlan) {
		return journey.Cause{}, false
	}
	hop := nextHop(at.packet, o.hops)
	if own, ok := r.neighbourInVLAN(ctx, at, hop, mac); ok && own != vlan {
		return journey.Cause{Kind: journey.LeavesInVLAN, Link: link, Node: at.node.Name, Bridge: at.bridge, MAC: mac, Address: hop, Detail: strconv.Itoa(vlan), Service: strconv.Itoa(own)}, true
	}
	if len(seen) > 0 {
		o.assume(journey.Assumption{Kind: journey.NextHopAnswers, Nodes: []string{at.node.Name}, Objects: []string{fmt.Sprintf("%s in VLAN %d", hop, vlan)}})
	}
	return journey.Cause{}, false
}

// seenInVLANs returns the VLANs in which a bridge has learned a MAC address on the port that the packet leaves by.
func (r *run) seenInVLANs(ctx context.Context, at location, mac string) ([]int, error) {
	text, err := at.node.Host.Control(ctx, "ovs-vswitchd", "fdb/show", at.bridge)
	if err != nil {
		return nil, err
	}
	var vlans []int
	for _, e := range openflow.ParseFDB(text) {
		if strings.EqualFold(e.MAC, mac) && e.Port.Number == at.port.Number {
			vlans = append(vlans, int(e.VLAN))
		}
	}
	return vlans, nil
}

// neighbourInVLAN returns the VLAN in which the host has an address as its neighbour, with that MAC address, on the
// bridge's own interface.
func (r *run) neighbourInVLAN(ctx context.Context, at location, hop netip.Addr, mac string) (int, bool) {
	net, err := at.node.net(ctx)
	local, _ := r.bridgePort(at.node.Name, at.bridge, packet.PortLocal)
	if err != nil || local == nil {
		return 0, false
	}
	return local.Tag, slices.ContainsFunc(net.Neighbours, func(n node.Neighbour) bool {
		return n.Link == at.bridge && n.Addr == hop && strings.EqualFold(n.MAC, mac) && n.State != "failed"
	})
}

// managementDown reports whether a host's packet leaves for the network outside because the host's port on the overlay
// is down.
func (r *run) managementDown(ctx context.Context, v *nodeView, dst netip.Addr) (journey.Cause, bool) {
	h := r.hosts.byChassis[v.SystemID]
	net, err := v.net(ctx)
	if h == nil || h.port == nil || err != nil || !r.onOverlay(dst) {
		return journey.Cause{}, false
	}
	for link, port := range v.ports {
		if l := net.Link(link); port.Name == h.port.Name && (l == nil || !l.Up) {
			return journey.Cause{Kind: journey.ManagementDown, Link: link, Node: v.Name, Address: dst}, true
		}
	}
	return journey.Cause{}, false
}

// routedOut explains why a packet for a pod is on the network outside: the host's port on the overlay is down, or a
// router has no route to the pod.
func (r *run) routedOut(ctx context.Context, v *nodeView, hops []journey.Hop, c journey.Cause) journey.Cause {
	router := lastRouter(hops)
	if router == "" {
		if why, ok := r.managementDown(ctx, v, c.Address); ok {
			return why
		}
		return c
	}
	if c.Kind == journey.Isolated && r.replying {
		return journey.Cause{Kind: journey.RoutedOutside, Place: journey.Outside, Datapath: router, Address: c.Address}
	}
	return c
}

// unmapped explains that a switch's physical network has no bridge on a node.
func (r *run) unmapped(v *nodeView, datapath uint64) (journey.Cause, bool) {
	d := v.names.Datapath(datapath)
	n := r.graph.NodeByName(v.Name)
	if d == nil || n == nil {
		return journey.Cause{}, false
	}
	port := r.localnet(&topology.Ref{UUID: string(d.NB)})
	if port == nil {
		return journey.Cause{}, false
	}
	name := port.Options["network_name"]
	if slices.ContainsFunc(n.BridgeMappings, func(m topology.BridgeMapping) bool { return m.Network == name }) {
		return journey.Cause{}, false
	}
	return journey.Cause{Kind: journey.NoMapping, Node: v.Name, Port: port.Name, Detail: name}, true
}

// metered looks at the QoS rules on a path. A packet larger than a rule's burst never passes; others do as long as the
// traffic keeps within the rate.
func (r *run) metered(o *outcome) {
	for _, h := range o.hops {
		for _, s := range h.Steps {
			if s.Object == nil || s.Object.Kind != "QoS" {
				continue
			}
			row, ok := s.Object.Row.(nb.QoS)
			rate, burst := row.Bandwidth["rate"], row.Bandwidth["burst"]
			if !ok || rate == 0 {
				continue
			}
			if burst > 0 && r.length*8 > burst*1000 {
				c := journey.Cause{Kind: journey.OverRate, Object: s.Object, Detail: fmt.Sprintf("burst %d kilobits", burst)}
				o.next, o.end = nil, &ending{verdict: journey.Verdict{Outcome: journey.Dropped, Node: h.Node, Datapath: h.Datapath, Stage: s.Stage, Object: s.Object, Because: c}}
				return
			}
			o.assume(journey.Assumption{Kind: journey.WithinRate, Nodes: []string{h.Node}, Objects: []string{fmt.Sprintf("%d kbps of %s %s", rate, s.Object.Kind, s.Object.Name)}})
		}
	}
}

// meteredBy assumes that the traffic keeps within the meters of flows that OVN did not write. Those of its own come with
// QoS rules.
func (r *run) meteredBy(p location, leaf ovs.Leaf, o *outcome) {
	for _, s := range leaf.Steps {
		for _, action := range s.Parsed {
			if m, ok := action.(openflow.Meter); ok && s.Bridge != p.node.names.Bridge {
				o.assume(journey.Assumption{Kind: journey.WithinRate, Nodes: []string{p.node.Name}, Objects: []string{fmt.Sprintf("meter %d of %s on %s", m.ID, s.Bridge, p.node.Name)}})
			}
		}
	}
}

// zoneFull reports whether a conntrack zone of a node, or its whole table, takes no new connections. Where that cannot be read,
// it does.
func (t *tracer) zoneFull(ctx context.Context, z ovs.Zone) bool {
	for n, v := range t.views {
		if n.Name != z.Node {
			continue
		}
		if v.tableFull(ctx, t.netdev(z.Node)) {
			return true
		}
		return slices.ContainsFunc(v.zoneLimits(ctx, int(z.ID)), func(l openflow.ZoneLimit) bool { return l.Zone == int(z.ID) && l.Reached() })
	}
	return false
}

// zoneLimits returns the limits of a node's conntrack zones. All that have one of their own are read once, those under the
// default each when they are asked for.
func (v *nodeView) zoneLimits(ctx context.Context, zone int) []openflow.ZoneLimit {
	if !v.limitsRead {
		v.limitsRead = true
		v.limits = v.askLimits(ctx)
	}
	underDefault := len(v.limits) > 0 && v.limits[0].Zone < 0 && v.limits[0].Limit > 0
	if underDefault && !slices.ContainsFunc(v.limits, func(l openflow.ZoneLimit) bool { return l.Zone == zone }) {
		v.limits = append(v.limits, v.askLimits(ctx, fmt.Sprintf("zone=%d", zone))...)
	}
	return v.limits
}

// userspaceDatapath is how dpctl commands name the datapath in userspace; captures name it so, too.
const userspaceDatapath = "netdev@ovs-netdev"

// tableFull reports whether the conntrack table of a node's datapath has reached its limit: dpctl/ct-set-maxconns in
// userspace, net.netfilter.nf_conntrack_max in the kernel.
func (v *nodeView) tableFull(ctx context.Context, userspace bool) bool {
	if v.table != nil {
		return *v.table
	}
	var now, most string
	if userspace {
		most, _ = v.reads.control(ctx, v.Node, "dpctl/ct-get-maxconns", userspaceDatapath)
		now, _ = v.reads.control(ctx, v.Node, "dpctl/ct-get-nconns", userspaceDatapath)
	} else if net, err := v.net(ctx); err == nil {
		now, most = net.Sysctl["net/netfilter/nf_conntrack_count"], net.Sysctl["net/netfilter/nf_conntrack_max"]
	}
	count, err := strconv.Atoi(strings.TrimSpace(now))
	limit, err2 := strconv.Atoi(strings.TrimSpace(most))
	full := err == nil && err2 == nil && limit > 0 && count >= limit
	v.table = &full
	return full
}

// askLimits asks ovs-vswitchd for limits of zones.
func (v *nodeView) askLimits(ctx context.Context, which ...string) []openflow.ZoneLimit {
	text, err := v.reads.control(ctx, v.Node, "dpctl/ct-get-limits", which...)
	if err != nil {
		return nil
	}
	return openflow.ParseZoneLimits(text)
}

// uncommitted notes a connection that a zone did not take. The kernel drops its packet; in userspace it goes on without,
// and its reply belongs to none.
func (r *run) uncommitted(p location, leaf ovs.Leaf, o *outcome) {
	for _, s := range leaf.Steps {
		for _, t := range s.Tracked {
			if !t.Full {
				continue
			}
			c := journey.Cause{Kind: journey.TableFull, Node: p.node.Name}
			if p.node.table == nil || !*p.node.table {
				c.Kind, c.Detail = journey.ZoneFull, fmt.Sprintf("ct zone %d", t.Zone.ID)
				for _, z := range p.node.names.Zones(int(t.Zone.ID)) {
					c.Detail += ", the " + z.String() + ","
				}
			}
			r.untaken = &c
			if !r.netdev(p.node.Name) {
				o.next, o.end = nil, &ending{verdict: r.stopped(p, o, journey.Dropped, c)}
			}
			return
		}
	}
}

// blameZone makes a full zone the cause for a packet that was lost, or not translated, for want of a connection.
func (r *run) blameZone(e *ending) {
	lost := e.verdict.Outcome != journey.Delivered && e.verdict.Outcome != journey.Unknown
	if r.untaken == nil || !lost || e.verdict.Because.Place == journey.InWorkload {
		return
	}
	e.verdict.Outcome, e.verdict.Object, e.verdict.Because = journey.Dropped, nil, *r.untaken
}

// plainQdiscs are queueing disciplines that drop nothing but what exceeds the link's own rate.
var plainQdiscs = []string{"", "noqueue", "noop", "pfifo", "bfifo", "pfifo_fast", "fq", "fq_codel", "fq_pie", "codel", "sfq", "mq", "mqprio", "multiq"}

// shaped returns what is assumed of the traffic control of a node's link. Open vSwitch's own filters, by which it has hardware
// switch packets, are followed as its flows.
func (v *nodeView) shaped(ctx context.Context, link string) []journey.Assumption {
	net, err := v.net(ctx)
	if err != nil {
		return nil
	}
	l := net.Link(link)
	if l == nil {
		return nil
	}
	by := l.Attached
	if slices.Contains(by, "ingress") && v.configured(ctx, "hw-offload") { // Open vSwitch writes filters of tc(8) on its ports
		by = slices.DeleteFunc(slices.Clone(by), func(kind string) bool { return kind == "ingress" })
	}
	return shapedBy(l, by, v.Name)
}

// configured reports whether a setting of Open vSwitch, in other_config, is true.
func (v *nodeView) configured(ctx context.Context, setting string) bool {
	rows, err := ovsdb.Find[vswitch.OpenvSwitch](ctx, v.Vswitch())
	return err == nil && len(rows) > 0 && rows[0].OtherConfig[setting] == "true"
}

// shapedBy returns what is assumed of the queueing discipline of a link, and of what else is attached to it.
func shapedBy(l *node.Link, attached []string, of string) []journey.Assumption {
	by := attached
	if !slices.Contains(plainQdiscs, l.Qdisc) {
		by = append([]string{l.Qdisc}, by...)
	}
	if len(by) == 0 {
		return nil
	}
	return []journey.Assumption{{Kind: journey.TrafficControl, Objects: []string{fmt.Sprintf("%s of %s (%s)", l.Name, of, strings.Join(by, ", "))}}}
}

// overhead is the bytes that a tunnel adds to the IP packets on its way, with the Ethernet header inside: Geneve with
// the one option of OVN, over IPv4 and IPv6.
func overhead(kind string, v6 bool) int {
	n := 20 + 8 + 8 + 14
	if v6 {
		n += 20
	}
	if kind == "geneve" {
		n += 8
	}
	return n
}

// tooSmall reports whether a packet of the requested length is larger than the MTU of a link that it leaves or arrives
// by.
func (r *run) tooSmall(ctx context.Context, at location, v *nodeView, link string) (journey.Cause, bool) {
	net, err := v.net(ctx)
	if err != nil || r.length == 0 {
		return journey.Cause{}, false
	}
	need := r.length - ethernetHeader
	if c := at.carries; c != nil {
		need += overhead(c.to.tunnel.Type, at.packet.Meets(packet.NeedsIPv6))
	}
	l := net.Link(link)
	if l == nil || need <= l.MTU {
		return journey.Cause{}, false
	}
	return journey.Cause{Kind: journey.LinkTooSmall, Link: link, Node: v.Name, Detail: fmt.Sprintf("%d of %d", need, l.MTU)}, true
}

const ethernetHeader = 14
