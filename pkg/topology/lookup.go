package topology

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// PortByName returns the logical port with that name, nil if not found. If several zones have it, it is the one that
// is not remote.
func (g *Graph) PortByName(name string) *Port {
	if ports := g.portsByName[name]; len(ports) > 0 {
		return ports[0]
	}
	return nil
}

// PortsAt returns the ports that have an address, remote ones last.
func (g *Graph) PortsAt(addr netip.Addr) []*Port { return g.portsByAddr[addr.Unmap()] }

// PortByKeys returns the port with these tunnel keys in a zone, as in metadata and reg14 or reg15; nil if not found.
func (g *Graph) PortByKeys(zone string, datapath, port int) *Port {
	return g.portKeys[portKey{g.datapaths[datapathKey{zone, datapath}], port}]
}

// DatapathByKey returns the switch or router with this tunnel key in a zone; both nil if not found.
func (g *Graph) DatapathByKey(zone string, key int) (*Switch, *Router) {
	uuid := g.datapaths[datapathKey{zone, key}]
	return g.switches[uuid], g.routers[uuid]
}

// ChassisByName returns the chassis with that name, nil if not found.
func (g *Graph) ChassisByName(name string) *Chassis { return g.chassis[name] }

// Labels returns the display name of each chassis, its hostname, by chassis name.
func (g *Graph) Labels() map[string]string {
	out := make(map[string]string, len(g.chassis))
	for name, c := range g.chassis {
		out[name] = chassisLabel(c)
	}
	return out
}

// NodeByName returns the node with that name, nil if it was not read.
func (g *Graph) NodeByName(name string) *Node { return g.nodes[name] }

// NodeOf returns the node that a port is bound to, nil if it is not bound or the node was not read.
func (g *Graph) NodeOf(p *Port) *Node {
	if c := g.chassis[p.Chassis]; c != nil {
		return g.nodes[c.Node]
	}
	return nil
}

// SwitchOf returns the switch that a port is on, nil for a router port.
func (g *Graph) SwitchOf(p *Port) *Switch {
	if p.Switch == nil {
		return nil
	}
	return g.switches[p.Switch.UUID]
}

// RouterOf returns the router that a port is on, nil for a switch port.
func (g *Graph) RouterOf(p *Port) *Router {
	if p.Router == nil {
		return nil
	}
	return g.routers[p.Router.UUID]
}

// PeerOf returns the port at the other end of a patch, nil if none.
func (g *Graph) PeerOf(p *Port) *Port {
	if p.Peer == nil {
		return nil
	}
	peer, _ := g.byUUID[p.Peer.UUID].(*Port)
	return peer
}

// PortsOn returns the ports of a switch or a router, by its UUID, in order.
func (g *Graph) PortsOn(uuid string) []*Port {
	if ports := g.onSwitch[uuid]; ports != nil {
		return ports
	}
	return g.onRouter[uuid]
}

// Object returns the switch, router, port, load balancer, chassis or bridge with this UUID, nil if not found.
func (g *Graph) Object(uuid string) any { return g.byUUID[uuid] }

// RouterPortFor returns the router port on the switch whose networks contain an address; nil if none.
func (g *Graph) RouterPortFor(s *Switch, addr netip.Addr) *Port {
	ports := g.routerPortsFor(s, addr)
	if len(ports) == 0 {
		return nil
	}
	return ports[0]
}

// routerPortsFor returns all such ports, narrowest network first.
func (g *Graph) routerPortsFor(s *Switch, addr netip.Addr) []*Port {
	bits := map[*Port]int{}
	var out []*Port
	for _, r := range g.routersOn[s.UUID] {
		if r.Type == "chassisredirect" {
			continue
		}
		for _, n := range r.Prefixes() {
			if !n.Contains(addr) || bits[r] > n.Bits() {
				continue
			}
			if bits[r] == 0 {
				out = append(out, r)
			}
			bits[r] = n.Bits()
		}
	}
	slices.SortStableFunc(out, func(a, b *Port) int { return cmp.Compare(bits[b], bits[a]) })
	return out
}

// A NextHop is where a port's owner sends a packet first: an address on its link.
type NextHop struct {
	Addr   netip.Addr
	OnLink bool  // the packet's own destination
	Port   *Port // that has the address; a router port unless OnLink; nil if unknown
	MAC    string
	// Outside: no known port has the address, and the switch is on a physical network.
	Outside bool
}

// NextHops returns where a packet from src to dst may go first when sent by port's owner: to dst itself if a network
// of the port's switch contains both, else to the gateway announced by DHCP, or to each router port whose network
// contains src, narrowest first. Where nothing in OVN tells the network of src, as on a switch without a router, what is on
// the switch is on the link. It is empty if nothing leads to dst.
func (g *Graph) NextHops(port *Port, src, dst netip.Addr) []NextHop {
	s := g.SwitchOf(port)
	if s == nil {
		return nil
	}
	known, both := false, false
	for _, n := range g.NetworksOf(port) {
		known = known || n.Contains(src)
		both = both || n.Contains(src) && n.Contains(dst)
	}
	if both || !known {
		hop := g.neighbour(s, dst)
		hop.OnLink = true
		if both || hop.Port != nil || hop.Outside {
			return []NextHop{hop}
		}
	}
	var hops []NextHop
	if hop, ok := g.DHCPGateway(port, dst); ok {
		hops = append(hops, hop)
	}
	for _, r := range g.routerPortsFor(s, src) {
		for _, n := range r.Prefixes() {
			hop := NextHop{Addr: n.Addr(), Port: r, MAC: firstMAC(r)}
			if n.Contains(src) && !slices.Contains(hops, hop) {
				hops = append(hops, hop)
			}
		}
	}
	return hops
}

// AnswersAt returns the MAC addresses at which the owner of a port's addresses is found: its own, but for a virtual port
// those of the port that claims it, if any.
func (g *Graph) AnswersAt(p *Port) []string {
	if p.Type != "virtual" {
		return p.MACs
	}
	if parent := g.PortByName(p.VirtualParent); parent != nil {
		return parent.MACs
	}
	return nil
}

// neighbour returns who replies for an address on a switch: a port that has it, or a router there that translates or
// balances it.
func (g *Graph) neighbour(s *Switch, a netip.Addr) NextHop {
	hop := NextHop{Addr: a}
	on := func(p *Port) bool {
		peer := g.PeerOf(p)
		return p.Switch != nil && p.Switch.UUID == s.UUID || peer != nil && peer.Switch != nil && peer.Switch.UUID == s.UUID
	}
	for _, p := range g.PortsAt(a) {
		if !on(p) || p.Type == "chassisredirect" {
			continue
		}
		hop.Port = p
		if macs := g.AnswersAt(p); len(macs) > 0 {
			hop.MAC = macs[0]
		}
		return hop
	}
	for _, r := range g.routersOn[s.UUID] {
		if mac := g.answersFor(r, a); mac != "" {
			hop.Port, hop.MAC = r, mac
			return hop
		}
	}
	hop.Outside = slices.ContainsFunc(g.onSwitch[s.UUID], func(p *Port) bool { return p.Type == "localnet" })
	return hop
}

// answersFor returns the MAC address with which a port's router replies for an address that it translates or
// balances; empty if it does not.
func (g *Graph) answersFor(port *Port, a netip.Addr) string {
	if port.Router == nil || port.Type == "chassisredirect" {
		return ""
	}
	for _, n := range g.NAT {
		if n.Router.UUID == port.Router.UUID && sameAddr(n.ExternalIP, a) {
			return cmp.Or(n.ExternalMAC, firstMAC(port))
		}
	}
	for _, lb := range g.LoadBalancers {
		if slices.ContainsFunc(lb.Routers, func(r Ref) bool { return r.UUID == port.Router.UUID }) &&
			slices.ContainsFunc(lb.VIPs, func(v *VIP) bool { return sameAddr(v.Address, a) }) {
			return firstMAC(port)
		}
	}
	return ""
}

// NetworksOf returns the networks that OVN tells of a port's switch: configured, of the routers on it, and announced to the port by DHCP.
func (g *Graph) NetworksOf(port *Port) []netip.Prefix {
	s := g.SwitchOf(port)
	if s == nil {
		return nil
	}
	all := slices.Clone(g.subnets[s.UUID])
	for _, r := range g.routersOn[s.UUID] {
		all = append(all, r.Prefixes()...)
	}
	for _, d := range []*DHCP{port.DHCPv4, port.DHCPv6} {
		if d != nil {
			all = append(all, prefixesOf([]string{d.CIDR})...)
		}
	}
	return all
}

// DHCPGateway returns where a port's DHCP options make its owner send a packet for another link; ok is false if they
// set no gateway or nobody is there.
func (g *Graph) DHCPGateway(port *Port, dst netip.Addr) (hop NextHop, ok bool) {
	s := g.SwitchOf(port)
	if s == nil || port.DHCPv4 == nil || !dst.Is4() {
		return NextHop{}, false
	}
	gw, err := netip.ParseAddr(port.DHCPv4.Options["router"])
	if routes := port.DHCPv4.Options["classless_static_route"]; routes != "" { // RFC 3442: replaces the router option
		gw, ok = classlessRoute(routes, dst)
	} else {
		ok = err == nil
	}
	if !ok {
		return NextHop{}, false
	}
	hop = g.neighbour(s, gw)
	return hop, hop.MAC != "" || hop.Outside
}

// classlessRoute returns the gateway of the narrowest route to an address in "{PREFIX,GATEWAY, …}".
func classlessRoute(routes string, dst netip.Addr) (gateway netip.Addr, ok bool) {
	bits := -1
	words := strings.FieldsFunc(routes, func(r rune) bool { return strings.ContainsRune("{}, ", r) })
	for pair := range slices.Chunk(words, 2) {
		prefix, err := netip.ParsePrefix(pair[0])
		if err != nil || len(pair) < 2 || !prefix.Contains(dst) || prefix.Bits() <= bits {
			continue
		}
		if a, err := netip.ParseAddr(pair[1]); err == nil {
			gateway, ok, bits = a, true, prefix.Bits()
		}
	}
	return gateway, ok
}

func firstMAC(p *Port) string {
	if len(p.MACs) == 0 {
		return ""
	}
	return p.MACs[0]
}

// A Backend is an address that a virtual address is translated to.
type Backend struct {
	Addr         netip.Addr
	Port         int   // 0 if the virtual address has none
	Target       *Port // that has the address, nil if it is outside OVN
	LoadBalancer *LoadBalancer
	VIP          *VIP
}

// Backends returns the backends of a virtual address and port for a protocol (tcp, udp, sctp); ok is false if no load
// balancer has them. A virtual address without backends is ok. One without port stands for all ports and protocols.
func (g *Graph) Backends(vip netip.Addr, port int, proto string) (backends []Backend, ok bool) {
	vip = vip.Unmap()
	for _, lb := range g.LoadBalancers {
		for _, v := range lb.VIPs {
			if !sameAddr(v.Address, vip) || v.Port != 0 && (v.Port != port || lb.Protocol != proto) {
				continue
			}
			ok = true
			backends = append(backends, slices.DeleteFunc(g.backendsOf(lb, v), func(b Backend) bool {
				return slices.ContainsFunc(backends, func(o Backend) bool { return o.Addr == b.Addr && o.Port == b.Port })
			})...)
		}
	}
	return backends, ok
}

func (g *Graph) backendsOf(lb *LoadBalancer, v *VIP) (backends []Backend) {
	for _, text := range v.Backends {
		host, port := splitVIP(text)
		addr, err := netip.ParseAddr(host)
		if err != nil {
			continue
		}
		b := Backend{Addr: addr.Unmap(), Port: port, LoadBalancer: lb, VIP: v}
		if ports := g.PortsAt(b.Addr); len(ports) > 0 {
			b.Target = ports[0]
		}
		backends = append(backends, b)
	}
	return backends
}

// balancersOf returns the load balancers of a service, NAMESPACE/NAME.
func (g *Graph) balancersOf(service string) []*LoadBalancer {
	var out []*LoadBalancer
	for _, lb := range g.LoadBalancers {
		if lb.Service == service {
			out = append(out, lb)
		}
	}
	return out
}

// hasPrefix reports whether a UUID begins with prefix.
func hasPrefix(uuid, prefix string) bool {
	return len(prefix) >= 4 && strings.HasPrefix(uuid, strings.ToLower(prefix))
}
