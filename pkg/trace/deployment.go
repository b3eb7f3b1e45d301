package trace

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// A deployment is what the databases know about where packets can come from and go to.
type deployment struct {
	cluster *cluster.Cluster
	graph   *topology.Graph
	hosts   *hosts
	// underlay holds the networks of router ports that lead outside.
	underlay []netip.Prefix
	// balancers holds the load balancers by virtual IP.
	balancers map[netip.Addr][]*topology.LoadBalancer
	// objects holds what flows were made for, by zone: what was read of a zone is read once.
	objects map[string]*decode.Objects
}

func newDeployment(c *cluster.Cluster, g *topology.Graph) deployment {
	d := deployment{cluster: c, graph: g, hosts: hostsOf(g), objects: map[string]*decode.Objects{}}
	for _, z := range c.Zones {
		d.objects[z.Name] = decode.NewObjects(z.NB)
	}
	for _, p := range g.Ports {
		if p.Kind == topology.RouterPort && d.leadsOut(p) {
			d.underlay = append(d.underlay, p.Prefixes()...)
		}
	}
	d.balancers = map[netip.Addr][]*topology.LoadBalancer{}
	for _, lb := range g.LoadBalancers {
		for _, v := range lb.VIPs {
			if a, err := netip.ParseAddr(v.Address); err == nil && !slices.Contains(d.balancers[a], lb) {
				d.balancers[a] = append(d.balancers[a], lb)
			}
		}
	}
	return d
}

// nodeOf returns the node of a match; nil if it is not a node.
func (d *deployment) nodeOf(m topology.Match) *cluster.Node {
	switch {
	case m.Chassis != nil:
		return d.cluster.Node(m.Chassis.Name)
	case m.Node != nil:
		return d.cluster.Node(m.Node.Name)
	}
	return nil
}

// nodeName returns the name of a chassis' node.
func (d *deployment) nodeName(chassis string) string {
	if n := d.cluster.Node(chassis); n != nil && chassis != "" {
		return n.Name
	}
	return d.chassisName(chassis)
}

// chassisName returns the hostname of a chassis.
func (d *deployment) chassisName(chassis string) string {
	if c := d.graph.ChassisByName(chassis); c != nil && c.Hostname != "" {
		return c.Hostname
	}
	return chassis
}

// KindNames names the kinds of ends in documents.
var KindNames = lazy.Value[map[topology.Kind]string]{Make: func() map[topology.Kind]string {
	return map[topology.Kind]string{
		topology.KindPod: "pod", topology.KindVM: "vm", topology.KindPort: "port", topology.KindRPort: "router port",
		topology.KindNode: "node", topology.KindService: "service", topology.KindExternal: "external",
		topology.KindNAT: "nat",
	}
}}

func (d *deployment) endpoint(text string, m topology.Match, a netip.Addr) journey.Endpoint {
	e := journey.Endpoint{Text: text, Name: text, Address: a.String()}
	e.Kind = KindNames.Get()[m.Kind]
	_, e.Name, _ = strings.Cut(m.Name, ":")
	if m.Kind == topology.KindNode {
		if n := d.nodeOf(m); n != nil {
			e.Node = n.Name
		}
		return e
	}
	if m.Port != nil {
		e.Port = m.Port.Name
		if m.Kind == topology.KindVM && m.Port.DisplayName != "" {
			e.Name = m.Port.DisplayName // the port's name is a UUID
		}
		if len(m.Port.MACs) > 0 {
			e.MAC = m.Port.MACs[0]
		}
		if m.Port.Switch != nil {
			e.Datapath = m.Port.Switch.Name
		}
		switch n := d.cluster.Node(m.Port.Chassis); {
		case n != nil && m.Port.Chassis != "":
			e.Node = n.Name
		case len(m.Port.Interfaces) == 1: // that no ovn-controller has claimed
			e.Node = m.Port.Interfaces[0].Node
		}
	}
	return e
}

// southbound returns a zone's Southbound; nil if it was not read.
func (d *deployment) southbound(zone string) ovsdb.Reader {
	for _, z := range d.cluster.Zones {
		if z.Name == zone && z.SB != nil {
			return z.SB
		}
	}
	return nil
}

// droppedAt returns the verdict for a packet that cannot enter a port.
func droppedAt(port *topology.Port, c journey.Cause) *journey.Verdict {
	v := &journey.Verdict{Outcome: journey.Dropped, Port: port.Name, Because: c}
	if port.Switch != nil {
		v.Datapath = port.Switch.Name
	}
	return v
}

// carrier returns the port whose chassis holds a port: itself or its parent. A port that accepts no packets or whose
// location is unknown gets a verdict instead.
func (d *deployment) carrier(port *topology.Port) (*topology.Port, *journey.Verdict) {
	carrier := port
	if port.Parent != "" {
		if carrier = d.graph.PortByName(port.Parent); carrier == nil {
			return nil, unknown(journey.Cause{Kind: journey.ParentNotFound, Detail: port.Parent, Port: port.Name})
		}
	}
	switch {
	case !port.Enabled:
		return nil, droppedAt(port, journey.Cause{Kind: journey.PortDisabled, Port: port.Name})
	case carrier.Chassis != "":
		return carrier, nil
	case d.southbound(carrier.Zone) == nil:
		return nil, unknown(journey.Cause{Kind: journey.ChassisUnread, Port: carrier.Name})
	case carrier.State == topology.StateUnknown:
		return nil, unknown(journey.Cause{Kind: journey.ChassisUnknown, Port: carrier.Name, Detail: carrier.Why})
	}
	return nil, droppedAt(port, journey.Cause{Kind: journey.Unbound, Port: carrier.Name, Detail: carrier.Why})
}

// frame returns the packet as a port's owner sends it, or a verdict if the owner cannot send it.
func (d *deployment) frame(port *topology.Port, p Packet) (packet.Flow, *journey.Verdict) {
	if len(port.MACs) == 0 {
		return packet.Flow{}, unknown(journey.Cause{Kind: journey.MACUnread, Port: port.Name})
	}
	for _, hop := range d.graph.NextHops(port, p.Src, p.Dst) {
		switch {
		case hop.MAC != "":
			return p.frame(port.MACs[0], hop.MAC), nil
		case hop.Outside:
			return p.frame(port.MACs[0], anyMAC), nil
		}
	}
	return packet.Flow{}, droppedAt(port, journey.Cause{Kind: journey.NoGateway, Port: port.Name, Address: p.Dst, Other: p.Src})
}

// byGateway addresses a reply to the gateway that a port's owner got by DHCP, which need not be the router that the
// packet came from. On-link, the owner replies directly to the sender.
func (d *deployment) byGateway(port *topology.Port, reply *packet.Flow) {
	t, ok := reply.Tuple()
	if !ok || port == nil {
		return
	}
	if hops := d.graph.NextHops(port, t.Src, t.Dst); len(hops) == 0 || hops[0].OnLink {
		return
	}
	if hop, ok := d.graph.DHCPGateway(port, t.Dst); ok {
		setMAC(reply, "eth_dst", cmp.Or(hop.MAC, anyMAC))
	}
}

func unknown(c journey.Cause) *journey.Verdict {
	return &journey.Verdict{Outcome: journey.Unknown, Because: c}
}

func dropped(c journey.Cause) *journey.Verdict {
	return &journey.Verdict{Outcome: journey.Dropped, Because: c}
}

// An entry is where packets for an address come in from a physical network.
type entry struct {
	localnet *topology.Port
	chassis  string // that accepts them; empty if any may
	mac      string // that they are addressed to
}

// entryOf finds what accepts packets for an address on a physical network: a router port there, a router that
// translates or load-balances it, or a port of a switch attached to the network.
func (d *deployment) entryOf(a netip.Addr) (entry, bool) {
	for _, p := range d.graph.PortsAt(a) {
		if p.Kind == topology.RouterPort {
			if e, ok := d.entryBy(p); ok {
				return e, true
			}
			continue
		}
		if out := d.localnet(p.Switch); out != nil && len(p.MACs) > 0 {
			return entry{out, p.Chassis, p.MACs[0]}, true
		}
	}
	for _, n := range d.graph.NAT {
		if e, ok := d.entryByNAT(n, a); ok {
			return e, true
		}
	}
	if e, ok := d.entryByRoute(a); ok {
		return e, true
	}
	for _, lb := range d.balancers[a] {
		for _, r := range lb.Routers {
			if e, ok := d.entryFor(r, a); ok && d.onUnderlay(a) {
				return e, true
			}
		}
	}
	return entry{}, false
}

// entryByNAT returns the entry of a router for an address that one of its NAT rules translates.
func (d *deployment) entryByNAT(n *topology.NAT, a netip.Addr) (entry, bool) {
	ip, err := netip.ParseAddr(n.ExternalIP)
	if err != nil || ip != a {
		return entry{}, false
	}
	e, ok := d.entryFor(n.Router, a)
	if port := d.graph.PortByName(n.LogicalPort); ok && n.ExternalMAC != "" && port != nil {
		e.mac, e.chassis = n.ExternalMAC, port.Chassis
	}
	return e, ok
}

// entryByRoute returns the entry for an untranslated address: the network outside is assumed to route it to the router
// of its network, unless it is IPv4 and not routable there.
func (d *deployment) entryByRoute(a netip.Addr) (entry, bool) {
	if !d.routedOutside(a) {
		return entry{}, false
	}
	for _, p := range d.graph.PortsAt(a) {
		s := d.graph.SwitchOf(p)
		if s == nil {
			continue
		}
		if gateway := d.graph.RouterPortFor(s, a); gateway != nil && gateway.Router != nil {
			return d.entryFor(*gateway.Router, a)
		}
	}
	return entry{}, false
}

// entryFor returns a router's entry for an address: the port whose network contains it, else any that leads outside.
func (d *deployment) entryFor(r topology.Ref, a netip.Addr) (entry, bool) {
	var found entry
	ok := false
	for _, p := range d.graph.PortsOn(r.UUID) {
		e, leads := d.entryBy(p)
		if !leads {
			continue
		}
		if slices.ContainsFunc(p.Prefixes(), func(n netip.Prefix) bool { return n.Contains(a) }) {
			return e, true
		}
		if !ok {
			found, ok = e, true
		}
	}
	return found, ok
}

// entryBy returns the entry of a router port, if it leads outside.
func (d *deployment) entryBy(p *topology.Port) (entry, bool) {
	peer := d.graph.PeerOf(p)
	if peer == nil || p.Type == "chassisredirect" || len(p.MACs) == 0 {
		return entry{}, false
	}
	out := d.localnet(peer.Switch)
	if out == nil {
		return entry{}, false
	}
	e := entry{localnet: out, mac: p.MACs[0]}
	if r := d.graph.RouterOf(p); r != nil {
		e.chassis = r.Chassis
	}
	if cr := d.graph.PortByName("cr-" + p.Name); cr != nil && cr.Type == "chassisredirect" {
		e.chassis = cr.Chassis
	}
	return e, true
}

// localnet returns the port that connects a switch to a physical network; nil if it has none.
func (d *deployment) localnet(s *topology.Ref) *topology.Port {
	if s == nil {
		return nil
	}
	ports := d.graph.PortsOn(s.UUID)
	if i := slices.IndexFunc(ports, func(x *topology.Port) bool { return x.Type == "localnet" }); i >= 0 {
		return ports[i]
	}
	return nil
}

// leadsOut reports whether a router port is on a switch with a physical network.
func (d *deployment) leadsOut(p *topology.Port) bool {
	peer := d.graph.PeerOf(p)
	return peer != nil && d.localnet(peer.Switch) != nil
}

// routerHas reports whether a router owns an address: on one of its ports or as one that it translates.
func (d *deployment) routerHas(r *topology.Router, a netip.Addr) bool {
	for _, p := range d.graph.PortsAt(a) {
		if p.Router != nil && p.Router.UUID == r.UUID {
			return true
		}
	}
	return slices.ContainsFunc(d.graph.NAT, func(n *topology.NAT) bool {
		ip, err := netip.ParseAddr(n.ExternalIP)
		return n.Router.UUID == r.UUID && err == nil && ip == a
	})
}

// onUnderlay reports whether an address is in an underlay network: of a host, of a router port that leads outside, or
// of a switch with a physical network.
func (d *deployment) onUnderlay(a netip.Addr) bool {
	if d.hosts.byAddress[a] != nil {
		return true
	}
	if slices.ContainsFunc(d.underlay, func(n netip.Prefix) bool { return n.Contains(a) }) {
		return true
	}
	return slices.ContainsFunc(d.graph.PortsAt(a), func(p *topology.Port) bool { return d.localnet(p.Switch) != nil })
}

// onOverlay reports whether a port or a load balancer has an address.
func (d *deployment) onOverlay(a netip.Addr) bool {
	return len(d.graph.PortsAt(a)) > 0 || d.virtual(a)
}

// virtual reports whether an address is a virtual IP of a load balancer.
func (d *deployment) virtual(a netip.Addr) bool { return len(d.balancers[a]) > 0 }

// notOutside returns the verdict for a packet that leaves for the network outside although only something inside has
// its destination: a load balancer, or a pod on an isolated network. It is nil if a host outside may have it.
func (d *deployment) notOutside(dst netip.Addr, protocol string, port uint16) *journey.Verdict {
	if d.onUnderlay(dst) {
		return nil
	}
	for _, p := range d.graph.PortsAt(dst) {
		if p.Pod != "" {
			v := dropped(journey.Cause{Kind: journey.Isolated, Place: journey.Outside, Address: dst, Port: p.Name, Detail: p.Network()})
			v.Port = p.Name
			return v
		}
	}
	if !d.amongServices(dst) {
		return nil
	}
	asked := protocol
	if port != 0 {
		asked += fmt.Sprintf(" %d", port)
	}
	c := journey.Cause{Kind: journey.NotBalanced, Place: journey.Outside, Service: asked, Address: dst}
	if taken := d.taken(dst); !slices.Contains(taken, asked) {
		c.Detail = strings.Join(taken, ", ")
	}
	if all := d.balancers[dst]; len(all) > 0 && all[0].Owner != (decode.Owner{}) {
		c.Object = &decode.Object{Kind: "load balancer", UUID: ovsdb.UUID(all[0].UUID), Text: all[0].Owner.String(), Owner: all[0].Owner}
	}
	return dropped(c)
}

// taken returns the services that load balancers have at a virtual IP: "tcp 80".
func (d *deployment) taken(a netip.Addr) []string {
	var all []string
	for _, lb := range d.balancers[a] {
		for _, v := range lb.VIPs {
			if vip, err := netip.ParseAddr(v.Address); err == nil && vip == a && v.Port != 0 {
				all = append(all, fmt.Sprintf("%s %d", lb.Protocol, v.Port))
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// amongServices reports whether a private address is a load balancer's or close to those of services: a service without
// endpoints may have no load balancer.
func (d *deployment) amongServices(a netip.Addr) bool {
	if !private(a) || d.virtual(a) {
		return private(a)
	}
	bits := 24
	if a.Is6() {
		bits = 112
	}
	beside, _ := a.Prefix(bits)
	for vip := range d.balancers {
		if beside.Contains(vip) && len(d.graph.PortsAt(a)) == 0 && !d.onUnderlay(vip) {
			return true
		}
	}
	return false
}

// sharedSpace is the shared address space of carrier-grade NAT (RFC 6598).
var sharedSpace = netip.MustParsePrefix("100.64.0.0/10")

// private reports whether an address is not routable on the Internet.
func private(a netip.Addr) bool { return a.IsPrivate() || sharedSpace.Contains(a) }

// routedOutside reports whether the network outside is assumed to route an untranslated address: any that is routable
// there, and Neutron's IPv6, which Neutron cannot translate.
func (d *deployment) routedOutside(a netip.Addr) bool {
	return !private(a) || a.Is6() && slices.ContainsFunc(d.graph.PortsAt(a), func(p *topology.Port) bool { return decode.CMSOf(p.ExternalIDs) == decode.Neutron })
}

// noRouteBack explains why no reply comes from outside to a packet that left with a source address not on the underlay;
// nil if one does. A private address needs routes outside that are unknown here.
func (d *deployment) noRouteBack(src, dst netip.Addr) *journey.Verdict {
	if d.routedOutside(src) {
		return nil
	}
	if private(dst) {
		return unknown(journey.Cause{Kind: journey.RouteBackUnsure, Place: journey.Outside, Address: src})
	}
	return dropped(journey.Cause{Kind: journey.NoRouteBack, Place: journey.Outside, Address: src})
}

// noRouteIn explains what happens to a packet from outside for an address that nothing on the underlay owns.
func (d *deployment) noRouteIn(src, dst netip.Addr) *journey.Verdict {
	if d.onUnderlay(dst) {
		return dropped(journey.Cause{Kind: journey.NobodyAnswers, Place: journey.Outside, Address: dst})
	}
	if private(dst) && !private(src) {
		return dropped(journey.Cause{Kind: journey.NoRouteIn, Place: journey.Outside, Address: dst})
	}
	return unknown(journey.Cause{Kind: journey.UplinkUnknown, Address: dst})
}
